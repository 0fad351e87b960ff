import { type PodStatus } from '../runtime/runtime.js';

/** What was observed of every pod; the cache of the event generator is one. */
export interface ObservedPods {
  uids(): Iterable<string>;
  /** Empty where an error is: nothing is known of that pod. */
  get(uid: string): { readonly status: PodStatus; readonly error: Error | undefined };
}
