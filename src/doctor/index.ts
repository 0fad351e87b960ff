/**
 * What is wrong with a node: facts of the runtime, the machine and a kubelet, and the rules that make findings of them.
 *
 * @module
 */
export { diagnose, EXIT_CODES, exitCodeOf } from './diagnose.js';
export { type KubeletAddresses } from './examine-kubelet.js';
export { examineNode, type ExamineNodeOptions, type NodeExamination, portOf } from './examine-node.js';
export { type EventReading, type RuntimeProgress } from './examine-runtime.js';
export { isWholeReport } from './facts/agent-report.js';
export { findStoppedDaemons } from './find-stopped-daemons.js';
export { HostFiles, type SilentPaths } from './facts/host-files.js';
export { httpGet, type HttpCredentials } from './facts/http-get.js';
export { type NodeFacts } from './facts/node-facts.js';
export { CERTIFICATE_FOLDERS } from './facts/read-certificates.js';
export { readPressure } from './facts/read-pressure.js';
export { FINDING_CODES, type FindingCode } from './finding-codes.js';
export { type Finding, type Severity } from './finding.js';
export { BundleCache } from './host/bundle-cache.js';
export { ShimGlancer } from './host/glance-at-shims.js';
export { type Looked } from './looked.js';
export { explainPod } from './pods/explain-pod.js';
export { pickPod, type PickedPod, type PodName } from './pods/pick-pod.js';
export { type PodCase, type PodDiagnosis, type RuntimeContainer } from './pods/pod-case.js';
export { type EventObject } from './pods/pod-object.js';
export { formatBytes, formatMs } from './rules/words.js';
export {
  type CallLimits,
  type ImageFilesystem,
  type ListAnswer,
  type ListedContainer,
  type ListedSandbox,
  type MeasuredPart,
  NOT_ASKED,
  type RuntimeCondition,
  type RuntimePort,
} from './runtime-port.js';
export { listUnseen, type Unseen } from './unseen.js';
