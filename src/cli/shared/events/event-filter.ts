import { type PodLifecycleEvent } from '#node';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';

/** Which events are of interest; undefined takes all. */
export interface EventFilter {
  readonly namespace: string | undefined;
  /** A pod's name, its `namespace/name`, or its uid. The node's name, which static pods have behind theirs, may be left out. */
  readonly pod: string | undefined;
  readonly nodeName: string;
}

/** Whether an event passes. One that stands for every pod always does. */
export function matchesFilter(event: PodLifecycleEvent, filter: EventFilter): boolean {
  return event.type === 'Resync' || matchesPod(event.pod, filter);
}

/** Whether a pod is of interest. */
export function matchesPod({ uid, namespace, name }: PodRef, filter: EventFilter): boolean {
  if (filter.namespace !== undefined && filter.namespace !== namespace) return false;
  if (filter.pod === undefined) return true;
  const ending = `-${filter.nodeName}`;
  const names = [name, ...(name.endsWith(ending) ? [name.slice(0, -ending.length)] : [])];
  return filter.pod === uid || names.some((each) => [each, `${namespace}/${each}`].includes(filter.pod!));
}

const MAX_NAMED_PODS = 5;

/** What to say of a filter that no pod of now passes: nothing would be printed, for ever; undefined when one does. */
export function describeNoMatch(pods: readonly PodRef[], filter: EventFilter): string | undefined {
  if (filter.pod === undefined || pods.some((pod) => matchesPod(pod, filter))) return undefined;
  const names = pods.map((pod) => formatPod(pod)).sort();
  const shown = names.slice(0, MAX_NAMED_PODS).join(', ');
  const more = names.length > MAX_NAMED_PODS ? ` and ${names.length - MAX_NAMED_PODS} more` : '';
  return `There is no pod ${filter.pod} yet; there ${names.length === 0 ? 'is none at all' : `is ${shown}${more}`}`;
}
