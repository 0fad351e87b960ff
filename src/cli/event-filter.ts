import { type PodLifecycleEvent } from '../agent/observer.js';

/** Which events are of interest; undefined takes all. */
export interface EventFilter {
  readonly namespace: string | undefined;
  /** A pod's name, its `namespace/name`, or its uid. */
  readonly pod: string | undefined;
}

/** Whether an event passes. One that stands for every pod always does. */
export function matchesFilter(event: PodLifecycleEvent, filter: EventFilter): boolean {
  if (event.type === 'Resync') return true;
  const { uid, namespace, name } = event.pod;
  if (filter.namespace !== undefined && filter.namespace !== namespace) return false;
  return filter.pod === undefined || [name, uid, `${namespace}/${name}`].includes(filter.pod);
}
