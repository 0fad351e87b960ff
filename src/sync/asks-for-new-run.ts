import { type NodePod } from '../model/node-pod.js';
import { containerHash, sandboxHash } from './container-hash.js';

/**
 * Whether an edit asks for containers or for a sandbox to be made anew, so that a pod that has run to its end is to run
 * again: the same edits that restart something in a pod that runs. A label or a probe is not worth a second run. Pure.
 */
export function asksForNewRun(before: NodePod, after: NodePod): boolean {
  if (sandboxHash(before) !== sandboxHash(after)) return true;
  const [known, wanted] = [definitionsOf(before), definitionsOf(after)];
  return known.size !== wanted.size || [...wanted].some((definition) => !known.has(definition));
}

function definitionsOf({ spec }: NodePod): Set<string> {
  const { initContainers = [], containers } = spec;
  return new Set([...initContainers, ...containers].map((each) => containerHash(each, spec)));
}
