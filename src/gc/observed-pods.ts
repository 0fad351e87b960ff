import { LABELS, type Labels } from '../runtime/labels.js';
import { type PodStatus } from '../runtime/runtime.js';

/** What was observed of every pod; the cache of the event generator is one. */
export interface ObservedPods {
  uids(): Iterable<string>;
  /** Empty where an error is: nothing is known of that pod. */
  get(uid: string): { readonly status: PodStatus; readonly error: Error | undefined };
}

/** Whether a sandbox or container is of this agent's making, or was given to it: by its labels, and its pod. */
export type IsOurs = (labels: Labels, podUid: string) => boolean;

/** All that carries the mark of this node instance is ours, and nothing else. */
export function markedBy(nodeInstanceId: string): IsOurs {
  return (labels) => labels[LABELS.nodeInstance] === nodeInstanceId;
}
