/**
 * `podloop/pleg`: the event generator, its cache and its events.
 *
 * ```ts
 * import { CriClient } from 'podloop/cri';
 * import { Pleg } from 'podloop/pleg';
 * import { CriRuntime } from 'podloop/runtime';
 *
 * const client = new CriClient({ endpoint: 'unix:///run/containerd/containerd.sock' });
 * const pleg = new Pleg({ runtime: new CriRuntime({ client }) });
 * const stop = new AbortController();
 * const events = pleg.subscribe();
 * const running = pleg.run(stop.signal);
 * for await (const event of events) {
 *   console.log(event.type, 'pod' in event ? event.pod.name : '');
 *   if (event.type === 'ContainerDied') break;
 * }
 * stop.abort();
 * await running;
 * client.close();
 * ```
 *
 * @module
 */
export { type ContainerChange, diffPods } from './diff.js';
export { type StreamInfo, type StreamState } from './announced/event-hints.js';
export {
  type ConditionMetEvent,
  type ContainerLifecycleEvent,
  type PodLifecycleEvent,
  type PodSyncEvent,
  type ResyncEvent,
  type Trigger,
} from './pod-lifecycle-event.js';
export { type InspectionInFlight } from './inspection/inspection-pool.js';
export { type StuckPod } from './stuck-pods.js';
export { Pleg } from './pleg.js';
export { isFirstRelistPending, type PlegHealth, type UnhealthyReason } from './pleg-health.js';
export { type PlegOptions } from './pleg-options.js';
export { type PlegState } from './pleg-state.js';
export { type CachedPod, PodCache } from './pod-cache.js';
export { PLEG_MODES, type PlegMode } from './relist/relist-cadence.js';
export { Subscription, type SubscriptionStats } from './subscription.js';
export { type PodCondition, runningContainerCondition } from './watch-conditions.js';
