/**
 * Every field of the workloads of Kubernetes 1.37, as data, in the form of pod-fields.ts.
 *
 * Pod templates are read by the tables of Pod.
 *
 * @module
 */
import { type FieldFacts, type FieldTable, ignored, refused, supported } from '../fields/field-facts.js';
import { DEFAULT_NAMESPACE } from '../objects/default-namespace.js';
import { WORKLOAD_VERSIONS, type Workload } from './workload.js';

const API_SERVER = 'an API server writes it';
const OF_CONTROLLERS = 'a control plane writes it';
const JOIN = 'for that, join a cluster with --kubeconfig';
const ONE_NODE = 'there is only this node';
const NO_REVISIONS = 'only the present version is stored';

const META: FieldTable = {
  name: supported('string', { required: true }),
  generateName: refused(
    'use name: a manifest is read again and again, and is the same object each time; podloop create -f makes a name',
    'string',
  ),
  namespace: supported('string', { default: DEFAULT_NAMESPACE }),
  selfLink: ignored('string', API_SERVER),
  uid: ignored('string', API_SERVER),
  resourceVersion: ignored('string', API_SERVER),
  generation: ignored('int64', API_SERVER),
  creationTimestamp: ignored('string', API_SERVER, { emptyIsValue: true }),
  deletionTimestamp: refused('remove the object from the manifest to delete it', 'string'),
  deletionGracePeriodSeconds: refused('remove the object from the manifest to delete it', 'int64'),
  labels: supported('map[string]string'),
  annotations: supported('map[string]string'),
  ownerReferences: ignored('any', 'the objects that own it are of an API server'),
  finalizers: ignored('[]string', API_SERVER),
  managedFields: ignored('any', API_SERVER),
};

const REPLICAS = supported('int32', { default: 1 });
const SELECTOR = supported('PodSelector', { required: true });
const TEMPLATE = supported('any', { required: true });
const MIN_READY = supported('int32', { default: 0 });
const HISTORY = ignored('int32', NO_REVISIONS);

const ROLLING: FieldTable = {
  maxUnavailable: supported('intOrString'),
  maxSurge: supported('intOrString'),
};

const JOB_SPEC: FieldTable = {
  parallelism: supported('int32'),
  completions: supported('int32'),
  activeDeadlineSeconds: supported('int64'),
  podFailurePolicy: supported('PodFailurePolicy'),
  successPolicy: supported('SuccessPolicy'),
  backoffLimit: supported('int32', { default: 6 }),
  backoffLimitPerIndex: supported('int32'),
  maxFailedIndexes: supported('int32'),
  selector: refused('leave it out: each Job has a selector of its own'),
  manualSelector: refused('leave it out: each Job has a selector of its own', 'boolean'),
  template: TEMPLATE,
  ttlSecondsAfterFinished: supported('int32'),
  completionMode: supported('NonIndexed|Indexed', { default: 'NonIndexed' }),
  suspend: supported('boolean', { default: false }),
  podReplacementPolicy: supported('TerminatingOrFailed|Failed'),
  managedBy: supported('string', {
    only: ['kubernetes.io/job-controller'],
    otherwise: 'leave it out: Jobs are run by the agent',
  }),
  scheduling: ignored('any', ONE_NODE),
};

const CLAIM_SPEC: FieldTable = {
  accessModes: supported('[]string'),
  selector: refused('leave it out: a claim gets a folder of its own, and there are no PersistentVolumes'),
  resources: supported('ClaimResources'),
  volumeName: refused(
    'leave it out: a claim gets a folder of its own; mount an existing one with hostPath',
    'string',
  ),
  storageClassName: ignored('string', 'every claim is a folder of this node', { emptyIsValue: true }),
  volumeMode: supported('Filesystem|Block', {
    default: 'Filesystem',
    only: ['Filesystem'],
    otherwise: 'a claim is a folder; mount a device with hostPath into a privileged container',
  }),
  dataSource: refused('copy the files with an init container'),
  dataSourceRef: refused('copy the files with an init container'),
  volumeAttributesClassName: ignored('string', 'every claim is a folder of this node'),
};

/** Of a kind: what stands at the top of it. */
function top(kind: Workload['kind'], spec: FieldFacts): FieldTable {
  const apiVersion = WORKLOAD_VERSIONS[kind];
  return {
    apiVersion: supported('string', {
      ...{ required: true, only: [apiVersion], otherwise: `use ${apiVersion}` },
    }),
    kind: supported('string', { required: true, only: [kind], otherwise: `use ${kind}` }),
    metadata: supported('WorkloadMeta', { required: true }),
    spec,
    status: ignored('any', OF_CONTROLLERS),
  };
}

const written = (type: string): FieldFacts => supported(type, { required: true });

/** The tables of all of them, by type name. */
export const WORKLOAD_TABLES: Readonly<Record<string, FieldTable>> = {
  WorkloadMeta: META,
  ClaimMeta: { ...META, namespace: ignored('string', 'a claim is in the namespace of its StatefulSet') },
  JobMeta: {
    ...META,
    name: ignored('string', 'a Job is named after its CronJob'),
    namespace: ignored('string', 'a Job is in the namespace of its CronJob'),
  },
  NamedJobMeta: {
    ...META,
    generateName: supported('string'),
  },
  Deployment: top('Deployment', written('DeploymentSpec')),
  DeploymentSpec: {
    replicas: REPLICAS,
    selector: SELECTOR,
    template: TEMPLATE,
    strategy: supported('DeploymentStrategy'),
    minReadySeconds: MIN_READY,
    revisionHistoryLimit: supported('int32', { default: 10 }),
    paused: supported('boolean', { default: false }),
    progressDeadlineSeconds: ignored('int32', 'a rollout takes as long as it takes'),
  },
  DeploymentStrategy: {
    type: supported('Recreate|RollingUpdate', { default: 'RollingUpdate' }),
    rollingUpdate: supported('RollingUpdate'),
  },
  RollingUpdate: ROLLING,
  ReplicaSet: top('ReplicaSet', written('ReplicaSetSpec')),
  ReplicaSetSpec: {
    replicas: REPLICAS,
    minReadySeconds: MIN_READY,
    selector: SELECTOR,
    template: TEMPLATE,
  },
  ReplicationController: top('ReplicationController', written('ReplicationControllerSpec')),
  ReplicationControllerSpec: {
    replicas: REPLICAS,
    minReadySeconds: MIN_READY,
    selector: supported('map[string]string'),
    template: TEMPLATE,
  },
  StatefulSet: top('StatefulSet', written('StatefulSetSpec')),
  StatefulSetSpec: {
    replicas: REPLICAS,
    selector: SELECTOR,
    template: TEMPLATE,
    volumeClaimTemplates: supported('[]ClaimTemplate'),
    serviceName: supported('string'),
    podManagementPolicy: supported('OrderedReady|Parallel', { default: 'OrderedReady' }),
    updateStrategy: supported('StatefulSetStrategy'),
    revisionHistoryLimit: HISTORY,
    minReadySeconds: MIN_READY,
    persistentVolumeClaimRetentionPolicy: supported('ClaimRetention'),
    ordinals: supported('Ordinals'),
  },
  StatefulSetStrategy: {
    type: supported('RollingUpdate|OnDelete', { default: 'RollingUpdate' }),
    rollingUpdate: supported('StatefulSetRollingUpdate'),
  },
  StatefulSetRollingUpdate: {
    partition: supported('int32', { default: 0 }),
    maxUnavailable: supported('intOrString'),
  },
  ClaimRetention: {
    whenDeleted: supported('Retain|Delete', {
      ...{ default: 'Retain', only: ['Retain'] },
      otherwise: 'claims stay until podloop volumes rm removes them',
    }),
    whenScaled: supported('Retain|Delete', {
      ...{ default: 'Retain', only: ['Retain'] },
      otherwise: 'claims stay until podloop volumes rm removes them',
    }),
  },
  Ordinals: { start: supported('int32', { default: 0 }) },
  ClaimTemplate: {
    apiVersion: ignored('string', 'it is a claim'),
    kind: ignored('string', 'it is a claim'),
    metadata: supported('ClaimMeta', { required: true }),
    spec: supported('ClaimSpec', { required: true }),
    status: ignored('any', OF_CONTROLLERS),
  },
  DaemonSet: top('DaemonSet', written('DaemonSetSpec')),
  DaemonSetSpec: {
    selector: SELECTOR,
    template: TEMPLATE,
    updateStrategy: supported('DaemonSetStrategy'),
    minReadySeconds: MIN_READY,
    revisionHistoryLimit: HISTORY,
  },
  DaemonSetStrategy: {
    type: supported('RollingUpdate|OnDelete', { default: 'RollingUpdate' }),
    rollingUpdate: supported('RollingUpdate'),
  },
  Job: { ...top('Job', written('JobSpec')), metadata: supported('NamedJobMeta', { required: true }) },
  JobSpec: JOB_SPEC,
  SuccessPolicy: { rules: supported('[]SuccessRule', { required: true }) },
  SuccessRule: {
    succeededIndexes: supported('string', { emptyIsValue: true }),
    succeededCount: supported('int32'),
  },
  PodFailurePolicy: { rules: supported('[]PodFailureRule', { required: true }) },
  PodFailureRule: {
    action: supported('FailJob|FailIndex|Ignore|Count', { required: true }),
    onExitCodes: supported('ExitCodes'),
    onPodConditions: supported('[]PodConditionPattern'),
  },
  ExitCodes: {
    containerName: supported('string'),
    operator: supported('In|NotIn', { required: true }),
    values: supported('[]int32', { required: true }),
  },
  PodConditionPattern: {
    type: supported('string', { required: true }),
    status: supported('string', { default: 'True' }),
  },
  CronJob: top('CronJob', written('CronJobSpec')),
  CronJobSpec: {
    schedule: supported('string', { required: true }),
    timeZone: supported('string'),
    startingDeadlineSeconds: supported('int64'),
    concurrencyPolicy: supported('Allow|Forbid|Replace', { default: 'Allow' }),
    suspend: supported('boolean', { default: false }),
    jobTemplate: supported('JobTemplate', { required: true }),
    successfulJobsHistoryLimit: supported('int32', { default: 3 }),
    failedJobsHistoryLimit: supported('int32', { default: 1 }),
  },
  JobTemplate: {
    metadata: supported('JobMeta'),
    spec: supported('JobSpec', { required: true }),
  },
  PersistentVolumeClaim: top('PersistentVolumeClaim', written('ClaimSpec')),
  ClaimSpec: CLAIM_SPEC,
  ClaimResources: {
    limits: supported('map[string]quantity'),
    requests: supported('map[string]quantity'),
  },
  PodSelector: {
    matchLabels: supported('map[string]string'),
    matchExpressions: supported('[]PodSelectorExpression'),
  },
  PodSelectorExpression: {
    key: supported('string', { required: true }),
    operator: supported('In|NotIn|Exists|DoesNotExist', { required: true }),
    values: supported('[]string'),
  },
  Namespace: top('Namespace', ignored('any', 'a namespace exists as soon as something is in it')),
  ServiceAccount: {
    ...top('ServiceAccount', ignored('any', OF_CONTROLLERS)),
    secrets: ignored('any', 'no API server issues tokens for it'),
    imagePullSecrets: ignored('any', 'pods name their own imagePullSecrets'),
    automountServiceAccountToken: ignored('boolean', 'no API server issues tokens for it'),
  },
  Service: top('Service', written('ServiceSpec')),
  ServiceSpec: {
    type: supported('ClusterIP|NodePort|LoadBalancer|ExternalName', { default: 'ClusterIP' }),
    selector: supported('map[string]string'),
    ports: supported('[]ServicePort'),
    clusterIP: supported('string'),
    clusterIPs: ignored('[]string', 'clusterIP says the same'),
    externalName: supported('string'),
    publishNotReadyAddresses: supported('boolean', { default: false }),
    sessionAffinity: supported('None|ClientIP', { default: 'None' }),
    sessionAffinityConfig: ignored('any', 'a client stays with its pod as long as the pods stay the same'),
    externalIPs: ignored('[]string', 'this machine has only its own addresses'),
    loadBalancerIP: ignored('string', 'there is no load balancer: its ports are those of the node'),
    loadBalancerClass: ignored('string', 'there is no load balancer: its ports are those of the node'),
    loadBalancerSourceRanges: ignored(
      '[]string',
      'there is no load balancer: its ports are those of the node',
    ),
    allocateLoadBalancerNodePorts: ignored(
      'boolean',
      'there is no load balancer: its ports are those of the node',
    ),
    externalTrafficPolicy: ignored('string', ONE_NODE),
    internalTrafficPolicy: ignored('string', ONE_NODE),
    healthCheckNodePort: ignored('int32', 'there is no load balancer that would ask'),
    trafficDistribution: ignored('string', ONE_NODE),
    ipFamilies: ignored('[]string', 'a Service has an IPv4 address'),
    ipFamilyPolicy: ignored('string', 'a Service has an IPv4 address'),
  },
  ServicePort: {
    name: supported('string'),
    protocol: supported('TCP|UDP|SCTP', {
      ...{ default: 'TCP', only: ['TCP', 'UDP'] },
      otherwise: `use TCP or UDP; ${JOIN}`,
    }),
    appProtocol: ignored('string', 'bytes are passed on as they are'),
    port: supported('int32', { required: true }),
    targetPort: supported('intOrString'),
    nodePort: supported('int32', { zeroIsAbsent: true }),
  },
};
