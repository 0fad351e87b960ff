/**
 * The agent, for the command line: it is built from options, runs, and reports on itself and its runtime.
 *
 * @module
 */
export { EMBEDDED_RUNTIME } from './agent-runtime.js';
export { Agent, type AgentEnd } from './agent.js';
export { HealthReport } from './api/agent/health-report.js';
export { containerIdOf } from './api/objects/choose-container.js';
export {
  formatManifestProblem,
  isAbsentFile,
  type ManifestProblem,
  validateManifests,
  type Validation,
} from './desired/changes/validate-manifests.js';
export { MANIFEST_ENDINGS, manifestNameKind } from './desired/manifests/manifest-names.js';
export { readManifests } from './desired/manifests/manifest-reader.js';
export { isConfigObject, objectName } from './desired/manifests/source-object.js';
export {
  CERTIFICATE_FOLDERS,
  type Diagnosis,
  type DoctorOptions,
  type EventObject,
  type EventReading,
  EXIT_CODES,
  exitCodeOf,
  exitCodeOfPod,
  type Finding,
  formatBytes,
  formatMs,
  type HttpCredentials,
  isWholeReport,
  listUnseen,
  type NodeFacts,
  type PodAnswer,
  runDoctor,
  runPodDoctor,
  type RuntimeProgress,
} from './doctor/doctor-run.js';
export { EmbeddedRuntimeKeeper } from './embedded-runtime-keeper.js';
export { findRuntime, findRuntimeFault, getRuntime } from './find-runtime.js';
export { JOURNAL_KINDS, type JournalEntry, readHistoryOnDisk } from './history/history-on-disk.js';
export {
  type ContainerLifecycleEvent,
  type ObservedEndpoint,
  Observer,
  type ObserverPorts,
  type PlegHealth,
  type PodLifecycleEvent,
  type PodStatus,
} from './observer.js';
export { AGENT_OPTIONS, type AgentOptions } from './options/agent-options.js';
export { type KubeletConfig } from './options/kubelet-config/kubelet-config.js';
export { readKubeletConfig } from './options/kubelet-config/read-kubelet-config.js';
export {
  type AgentOptionFacts,
  type AgentOptionType,
  FLAG_GROUPS,
  type FlagGroup,
} from './options/options-table.js';
export {
  OBSERVER_OPTIONS,
  type ObserverMode,
  type ObserverOptions,
  type OptionFacts,
} from './options/options.js';
export { readNodePolicy } from './options/read-node-policy.js';
export { type GivenAgentOptions, resolveAgentOptions } from './options/resolve-agent-options.js';
export { resolveNodeName } from './resources/facts/node-identity.js';
export { BATCHES_FOLDER, SOCKET_NAME, USUAL_ROOT_DIR } from './options/usual-places.js';
export {
  findMissingManifests,
  hasSameManifests,
  nameBatch,
  readManifestPlaces,
} from './parts/manifest-sources.js';
export { findImageUsers, type ImageUser, type RuntimeImage, RuntimeImages } from './runtime-images.js';
export { RuntimeProcess } from './runtime-process.js';
export { type PodStatusRecord } from './status/status-changes.js';
export { type RecordedPodEvent } from './telemetry/reports/pod-event-log.js';
export { type PodLine } from './telemetry/reports/pod-lines.js';
export { describeRuntimeError } from '#watch';
