/**
 * podloop: sees every change of every pod of a container runtime.
 *
 * In: options, most with good defaults. Out: events as they happen, and the health of the runtime with the
 * pods that are stuck in it, by name. This entry is for those who want it all wired; the parts are in
 * `podloop/cri`, `podloop/runtime`, `podloop/pleg`, `podloop/embedded` and `podloop/testing`.
 *
 * @example
 * ```ts
 * import { Observer } from 'podloop';
 *
 * const stopping = new AbortController();
 * process.once('SIGINT', () => stopping.abort());
 *
 * await using observer = await Observer.connect({ runtimeEndpoint: 'unix:///run/containerd/containerd.sock' });
 * const events = observer.subscribe();
 * stopping.signal.addEventListener('abort', () => events.close());
 * const running = observer.run(stopping.signal);
 * for await (const event of events) {
 *   if (event.type !== 'ContainerDied') continue;
 *   console.log(`${event.pod.namespace}/${event.pod.name}: ${event.containerName} ended with ${event.exitCode}`);
 * }
 * await running;
 * ```
 *
 * @module
 */
export {
  type ContainerLifecycleEvent,
  Observer,
  type ObservedEndpoint,
  type ObserverPorts,
  type PlegHealth,
  type PodLifecycleEvent,
} from '#node';
export { OBSERVER_OPTIONS, type ObserverMode, type ObserverOptions, type OptionFacts } from '#node';
export { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
export { type Clock, type ClockTimer, type Stamp, SystemClock } from '#base/time/clock.js';
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorCodeFacts,
  hasCode,
  isNotFound,
  isUnimplemented,
  PodloopError,
} from '#base/errors/errors.js';
export { formatGoDuration, parseGoDuration } from '#base/time/go-duration.js';
export { KlogLogger, type KlogLoggerOptions } from '#base/log/klog.js';
export { type LogFields, type Logger, SILENT_LOGGER } from '#base/log/logger.js';
