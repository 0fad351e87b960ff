/**
 * How the rest of podloop sees a node through CRI: client, observed pods, event generator and its report.
 *
 * Users of the package have `podloop/cri`, `podloop/runtime` and `podloop/pleg`, which change less often.
 *
 * @module
 */
export {
  type CallOptions,
  cri,
  CRI_METHODS,
  CriClient,
  type CriMethodName,
  findEndpoint,
  GrpcStatusError,
  GrpcTransport,
  parseEndpoint,
  measurePart,
  probeEndpoint,
  type ProbeOptions,
  readContainerEvents,
  type StreamCall,
  type StreamHandlers,
  type Transport,
  type UnaryCall,
} from './cri/index.js';
export { AdaptiveBound, type AdaptiveBoundOptions } from './observed/adaptive-bound.js';
export { composePodStatus } from './observed/compose-pod-status.js';
export { toContainerLimits } from './observed/convert.js';
export { CriPodUsage, type ImageFilesystems } from './observed/cri-pod-usage.js';
export { describeRuntimeError, quoteRuntimeError } from './observed/describe-runtime-error.js';
export { formatRuntimeVersion } from './observed/format-runtime-version.js';
export { CriRuntime } from './observed/index.js';
export { ANNOTATIONS, LABELS, type Labels, ownerOf } from './observed/labels.js';
export { type IsOurs, ownedBy } from './observed/ownership.js';
export { containerLogPath, PodPaths } from './observed/pod-paths.js';
export {
  type ContainerUsage,
  type CpuUsage,
  type FilesystemUsage,
  type InterfaceUsage,
  type IoUsage,
  type MemoryUsage,
  type PodUsage,
  type Pressure,
  type PressureShare,
  type RuntimeMetrics,
  type RuntimeSample,
  type SwapUsage,
} from './observed/pod-usage.js';
export {
  type IdRange,
  type ContainerLimits,
  type ContainerStatus,
  type ContainerUser,
  emptyPodStatus,
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type Runtime,
  type RuntimeEventHandlers,
  type SandboxStatus,
} from './observed/runtime.js';
export { TerminationMessages } from './observed/termination-messages.js';
export { meansNoEvents } from './pleg/announced/event-hints.js';
export { callWithDeadline } from './pleg/call-with-deadline.js';
export { type PodLifecycleEvent } from './pleg/pod-lifecycle-event.js';
export {
  type ContainerLifecycleEvent,
  isFirstRelistPending,
  Pleg,
  PLEG_MODES,
  type PlegHealth,
  type PlegMode,
  type Subscription,
} from './pleg/index.js';
export { PodCache } from './pleg/pod-cache.js';
export { EventLoopDelay } from './report/event-loop-delay.js';
export { plegReportJson } from './report/pleg-report-json.js';
export { PlegReporter, type PlegReporterOptions } from './report/pleg-reporter.js';
