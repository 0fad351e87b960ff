import {
  type Container,
  type ContainerPort,
  type ContainerResizePolicy,
  type ContainerRestartExitCodes,
  type ContainerRestartRule,
  type EphemeralContainer,
  type ExecAction,
  type GrpcAction,
  type HttpGetAction,
  type Lifecycle,
  type LifecycleHandler,
  type Probe,
  type ResourceRequirements,
  type SecurityContext,
  type SecurityProfile,
  type SeLinuxOptions,
  type TcpSocketAction,
  type VolumeMount,
} from './container.js';
import {
  type EnvFromSource,
  type EnvVar,
  type EnvVarSource,
  type FileKeySelector,
  type KeySelector,
  type ObjectFieldSelector,
  type ResourceFieldSelector,
} from '../objects/env-source.js';
import {
  clustered,
  type FieldTable,
  ignored,
  refused,
  supported,
  type TableOf,
} from '../fields/field-facts.js';
import { STOP_SIGNALS } from './stop-signals.js';

const NO_DEVICES = 'mount what the node has with hostPath; devices need a privileged container';

const CONTAINER = {
  name: supported('string', { required: true }),
  image: supported('string', { required: true }),
  command: supported('[]string'),
  args: supported('[]string'),
  workingDir: supported('string'),
  ports: supported('[]ContainerPort'),
  envFrom: supported('[]EnvFromSource'),
  env: supported('[]EnvVar'),
  resources: supported('ResourceRequirements'),
  resizePolicy: supported('[]ContainerResizePolicy'),
  restartPolicy: supported('Always|OnFailure|Never', { emptyIsValue: true }),
  restartPolicyRules: supported('[]ContainerRestartRule'),
  volumeMounts: supported('[]VolumeMount'),
  volumeDevices: refused(NO_DEVICES, '[]any'),
  livenessProbe: supported('Probe'),
  readinessProbe: supported('Probe'),
  startupProbe: supported('Probe'),
  lifecycle: supported('Lifecycle'),
  terminationMessagePath: supported('string', { default: '/dev/termination-log' }),
  terminationMessagePolicy: supported('File|FallbackToLogsOnError', { default: 'File' }),
  imagePullPolicy: supported('Always|IfNotPresent|Never'),
  securityContext: supported('SecurityContext'),
  stdin: supported('boolean'),
  stdinOnce: supported('boolean'),
  tty: supported('boolean'),
} satisfies TableOf<Container>;

/** The fields of containers, their probes and hooks. */
export const CONTAINER_TABLES = {
  Container: CONTAINER,
  EphemeralContainer: {
    ...CONTAINER,
    targetContainerName: supported('string'),
  } satisfies TableOf<EphemeralContainer>,
  ContainerPort: {
    name: supported('string'),
    hostPort: supported('int32', { zeroIsAbsent: true }),
    containerPort: supported('int32', { required: true }),
    protocol: supported('TCP|UDP|SCTP', { default: 'TCP' }),
    hostIP: supported('string'),
  } satisfies TableOf<ContainerPort>,
  EnvVar: {
    name: supported('string', { required: true }),
    value: supported('string'),
    valueFrom: supported('EnvVarSource'),
  } satisfies TableOf<EnvVar>,
  EnvVarSource: {
    fieldRef: supported('ObjectFieldSelector'),
    resourceFieldRef: supported('ResourceFieldSelector'),
    configMapKeyRef: supported('KeySelector'),
    secretKeyRef: supported('KeySelector'),
    fileKeyRef: supported('FileKeySelector'),
  } satisfies TableOf<EnvVarSource>,
  ObjectFieldSelector: {
    apiVersion: supported('string', { default: 'v1' }),
    fieldPath: supported('string', { required: true }),
  } satisfies TableOf<ObjectFieldSelector>,
  ResourceFieldSelector: {
    containerName: supported('string'),
    resource: supported('string', { required: true }),
    divisor: supported('quantity'),
  } satisfies TableOf<ResourceFieldSelector>,
  KeySelector: {
    name: supported('string', { required: true }),
    key: supported('string', { required: true }),
    optional: supported('boolean'),
  } satisfies TableOf<KeySelector>,
  FileKeySelector: {
    volumeName: supported('string', { required: true }),
    path: supported('string', { required: true }),
    key: supported('string', { required: true }),
    optional: supported('boolean', { default: false }),
  } satisfies TableOf<FileKeySelector>,
  EnvFromSource: {
    prefix: supported('string'),
    configMapRef: supported('ObjectReference'),
    secretRef: supported('ObjectReference'),
  } satisfies TableOf<EnvFromSource>,
  ObjectReference: {
    name: supported('string', { required: true }),
    optional: supported('boolean'),
  } satisfies TableOf<NonNullable<EnvFromSource['configMapRef']>>,
  ResourceRequirements: {
    limits: supported('map[string]quantity'),
    requests: supported('map[string]quantity'),
    claims: refused(NO_DEVICES, '[]any'),
  } satisfies TableOf<ResourceRequirements>,
  ContainerResizePolicy: {
    resourceName: supported('cpu|memory', { required: true }),
    restartPolicy: supported('NotRequired|RestartContainer', { required: true }),
  } satisfies TableOf<ContainerResizePolicy>,
  ContainerRestartRule: {
    action: supported('Restart|RestartAllContainers', { required: true }),
    exitCodes: supported('ContainerRestartRuleOnExitCodes', { required: true }),
  } satisfies TableOf<ContainerRestartRule>,
  ContainerRestartRuleOnExitCodes: {
    operator: supported('In|NotIn', { required: true }),
    values: supported('[]int32'),
  } satisfies TableOf<ContainerRestartExitCodes>,
  VolumeMount: {
    name: supported('string', { required: true }),
    readOnly: supported('boolean'),
    recursiveReadOnly: supported('Disabled|IfPossible|Enabled', { emptyIsValue: true }),
    mountPath: supported('string', { required: true }),
    subPath: supported('string'),
    mountPropagation: supported('None|HostToContainer|Bidirectional', { emptyIsValue: true }),
    subPathExpr: supported('string'),
    bindMountOptions: refused('mount it with these options on the node and use hostPath'),
  } satisfies TableOf<VolumeMount>,
  Probe: {
    exec: supported('ExecAction'),
    httpGet: supported('HTTPGetAction'),
    tcpSocket: supported('TCPSocketAction'),
    grpc: supported('GRPCAction'),
    initialDelaySeconds: supported('int32'),
    timeoutSeconds: supported('int32', { default: 1, zeroIsAbsent: true }),
    periodSeconds: supported('int32', { default: 10, zeroIsAbsent: true }),
    successThreshold: supported('int32', { default: 1, zeroIsAbsent: true }),
    failureThreshold: supported('int32', { default: 3, zeroIsAbsent: true }),
    terminationGracePeriodSeconds: supported('int64'),
  } satisfies TableOf<Probe>,
  ExecAction: {
    command: supported('[]string', { required: true }),
  } satisfies TableOf<ExecAction>,
  HTTPGetAction: {
    path: supported('string', { default: '/' }),
    port: supported('intOrString', { required: true }),
    host: supported('string'),
    scheme: supported('HTTP|HTTPS', { default: 'HTTP' }),
    httpHeaders: supported('[]HTTPHeader'),
    protocol: ignored('HTTP1|HTTP2', 'probes speak HTTP/1.1', {
      only: ['HTTP1'],
      otherwise: 'leave it out: probes speak HTTP/1.1',
    }),
  } satisfies TableOf<HttpGetAction>,
  HTTPHeader: {
    name: supported('string', { required: true }),
    value: supported('string'),
  } satisfies FieldTable,
  TCPSocketAction: {
    port: supported('intOrString', { required: true }),
    host: supported('string'),
  } satisfies TableOf<TcpSocketAction>,
  GRPCAction: {
    port: supported('int32', { required: true }),
    service: supported('string', { default: '' }),
    mode: ignored('Plaintext|TLS', 'probes use no TLS', {
      only: ['Plaintext'],
      otherwise: 'leave it out: probes use no TLS',
    }),
  } satisfies TableOf<GrpcAction>,
  Lifecycle: {
    postStart: supported('LifecycleHandler'),
    preStop: supported('LifecycleHandler'),
    stopSignal: supported(STOP_SIGNALS.join('|')),
  } satisfies TableOf<Lifecycle>,
  LifecycleHandler: {
    exec: supported('ExecAction'),
    httpGet: supported('HTTPGetAction'),
    tcpSocket: supported('TCPSocketAction'),
    sleep: supported('SleepAction'),
  } satisfies TableOf<LifecycleHandler>,
  SleepAction: {
    seconds: supported('int64', { required: true }),
  } satisfies FieldTable,
  SecurityContext: {
    capabilities: supported('Capabilities'),
    privileged: supported('boolean'),
    seLinuxOptions: supported('SELinuxOptions'),
    windowsOptions: clustered(
      refused('leave it out: podloop runs Linux containers'),
      ignored('any', 'podloop runs Linux containers'),
    ),
    runAsUser: supported('int64'),
    runAsGroup: supported('int64'),
    runAsNonRoot: supported('boolean'),
    readOnlyRootFilesystem: supported('boolean'),
    allowPrivilegeEscalation: supported('boolean'),
    procMount: supported('Default|Unmasked', { emptyIsValue: true, default: 'Default' }),
    seccompProfile: supported('SecurityProfile'),
    appArmorProfile: supported('SecurityProfile'),
  } satisfies TableOf<SecurityContext>,
  Capabilities: {
    add: supported('[]string'),
    drop: supported('[]string'),
  } satisfies TableOf<NonNullable<SecurityContext['capabilities']>>,
  SELinuxOptions: {
    user: supported('string'),
    role: supported('string'),
    type: supported('string'),
    level: supported('string'),
  } satisfies TableOf<SeLinuxOptions>,
  SecurityProfile: {
    type: supported('RuntimeDefault|Unconfined|Localhost', { required: true }),
    localhostProfile: supported('string', { emptyIsValue: true }),
  } satisfies TableOf<SecurityProfile>,
} as const satisfies Record<string, FieldTable>;
