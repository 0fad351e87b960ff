import { type PodStatus } from '#watch';

/** The observed state of every pod, such as the cache of the event generator. */
export interface ObservedPods {
  uids(): Iterable<string>;
  /** Empty with an error: the state of that pod is unknown. */
  get(uid: string): { readonly status: PodStatus; readonly error: Error | undefined };
}

/** The last known state, for callers that remove nothing from a pod. */
export interface LastKnownPods {
  uids(): Iterable<string>;
  /** As of the last time that its status was available. */
  getLastKnown(uid: string): PodStatus;
}
