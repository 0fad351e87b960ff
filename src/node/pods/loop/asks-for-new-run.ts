import { type NodePod } from '#kube/pod/node-pod.js';
import { containerHash, sandboxHash } from '../actions/container-hash.js';

/**
 * Whether an edit asks for containers or for a sandbox to be made anew, so that a pod that has run to its end is to run
 * again: the same edits that restart something in a pod that runs. A label or a probe is not worth a second run. Pure.
 */
export function asksForNewRun(before: NodePod, after: NodePod): boolean {
  return toRunDefinition(before) !== toRunDefinition(after);
}

/**
 * What a pod is to run, in one string: the hashes of its sandbox and of its containers, whatever their order. Pure.
 *
 * The same for the same manifest in every version of podloop, as the hashes are.
 */
export function toRunDefinition(pod: NodePod): string {
  const { initContainers = [], containers } = pod.spec;
  const hashes = new Set([...initContainers, ...containers].map((each) => containerHash(each, pod.spec)));
  return [sandboxHash(pod), ...[...hashes].sort()].join(' ');
}
