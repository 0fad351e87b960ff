/**
 * What joins a Kubernetes cluster. Outside of this area it is imported for its types alone, and loaded by `import('#cluster')`
 * once an agent is to join one.
 *
 * @module
 */
export { ClusterAuth, type ClusterAuthOptions } from './auth/cluster-auth.js';
export { type CertificateManager } from './certificates/certificate-manager.js';
export { type ClientEnrollment, openClientEnrollment } from './certificates/client-enrollment.js';
export { openServingCertificate } from './certificates/serving-certificate.js';
export { type KubeClient } from './client/kube-client.js';
export { type KubeClients, openKubeClients } from './client/open-kube-clients.js';
export { serviceAccountConfig } from './client/service-account-config.js';
export { ClusterEvents, type ClusterEventsStats } from './events/cluster-events.js';
export { ClusterNode } from './node/cluster-node.js';
export { computeInitialLabels } from './node/compute-initial-node.js';
export { type ResourceFacts } from './node/compute-resources.js';
export { declaredFeaturesOf } from './node/declared-features.js';
export { parseNodeLabels, parseTaint } from './node/node-labels.js';
export { type NodeObject, type NodeTaint } from './node/node-object.js';
export {
  type MachineInfo,
  type NodeEvent,
  type NodeFactsPort,
  type NodeHealth,
  type NodeHealthPort,
  type RuntimeInfo,
} from './node/node-ports.js';
export { DEFAULT_NODE_SETTINGS, kubeletVersionOf, type NodeSettings } from './node/node-settings.js';
export { findTypeProblem, ProblemCondition, type ProblemState } from './node/problem-condition.js';
export { type SupplyReaders } from './node/pressure-watch.js';
export {
  ClusterObjects,
  type ClusterObjectsListener,
  type ClusterObjectsOptions,
} from './objects/cluster-objects.js';
export { type AgentPods } from './pods/agent-pods.js';
export { ClusterPods } from './pods/cluster-pods.js';
