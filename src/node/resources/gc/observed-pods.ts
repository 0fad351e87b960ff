import { type PodStatus } from '#watch';

/** What was observed of every pod; the cache of the event generator is one. */
export interface ObservedPods {
  uids(): Iterable<string>;
  /** Empty where an error is: nothing is known of that pod. */
  get(uid: string): { readonly status: PodStatus; readonly error: Error | undefined };
}

/** The same as it was known last, for those who take nothing away from a pod. */
export interface LastKnownPods {
  uids(): Iterable<string>;
  /** As of the last time that its status was to be had. */
  getLastKnown(uid: string): PodStatus;
}
