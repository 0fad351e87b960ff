import { type NodePod } from '#kube/pod/node-pod.js';
import { containerHash, sandboxHash } from '../actions/container-hash.js';

/**
 * Whether an edit lets a pod that has run to its end run again: it does if it recreates containers or the
 * sandbox.
 *
 * These are the edits that restart something in a running pod. A changed label or probe does not justify a
 * second run. Pure.
 */
export function asksForNewRun(before: NodePod, after: NodePod): boolean {
  return toRunDefinition(before) !== toRunDefinition(after);
}

/**
 * What a pod runs, as one string: the hashes of its sandbox and of its containers, independent of their
 * order. Pure.
 *
 * Like the hashes, it is the same for the same manifest in every version of podloop.
 */
export function toRunDefinition(pod: NodePod): string {
  const { initContainers = [], containers } = pod.spec;
  const hashes = new Set([...initContainers, ...containers].map((each) => containerHash(each, pod.spec)));
  return [sandboxHash(pod), ...[...hashes].sort()].join(' ');
}
