import { type FieldFacts, type FieldTable, ignored, supported } from '#kube/fields/field-facts.js';
import { inRange } from '#kube/validation/problem-list.js';
import { type ShutdownPeriod } from '#kube/node/shutdown-words.js';
import { checkIp } from '#kube/validation/name-rules.js';
import { checkSysctlPattern } from '#kube/validation/sysctl-names.js';
import { findAllowlistProblem, type VerificationPolicy } from '../../images/verification-policy.js';
import { checkCgroupRoot } from '../../runtime/config/pod-cgroup-names.js';
import {
  atLeastOneSecond,
  between,
  durationAtLeast,
  by,
  checkIdsPerPod,
  each,
  eachEntry,
  findCipherSuiteProblem,
  findDomainProblem,
  findGraceProblem,
  findNetworksProblem,
  findReclaimProblem,
  findClassReserveProblem,
  findReservationProblem,
  findThresholdProblem,
  findUrlProblem,
  MAX_PORT,
  notNegative,
  zeroOrOneSecond,
} from './config-rules.js';
import { duration, factor, honoured, number, path, size, type ValueCheck } from './honoured-field.js';
import { checkLogging, readLogging, type LoggingConfig } from './logging-config.js';

const NO_API_SERVER = 'it is about an API server, and there is none';
const NO_PINNING =
  'podloop pins nothing to cores, memory nodes or devices; to keep all pods to some, give them a slice with AllowedCPUs= and AllowedMemoryNodes= as cgroupRoot';
/** A manager that would pin resources, which podloop does not do. `policies` are those that pin nothing. */
const pinning = (policies: readonly [string, ...string[]]): FieldFacts =>
  ignored('string', NO_PINNING, {
    neutral: policies.slice(0, 1),
    only: policies,
    otherwise: `use ${policies[0]}: ${NO_PINNING}`,
  });
const NODE_SETTINGS = 'podloop leaves the machine’s own settings as they are';
const DEBUGGING = 'podloop has no such handlers';

type TextMap = Readonly<Record<string, string>>;

interface WrittenTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

const readShutdownPeriods = (written: readonly Partial<ShutdownPeriod>[]): ShutdownPeriod[] =>
  written.map((period) => ({ priority: 0, shutdownGracePeriodSeconds: 0, ...period }));

const eachShutdownPeriod: ValueCheck<readonly ShutdownPeriod[]> = (periods, path, list) => {
  for (const [index, { shutdownGracePeriodSeconds: seconds }] of periods.entries())
    list.check([...path, index, 'shutdownGracePeriodSeconds'], seconds, notNegative);
};

const readTaints = (taints: readonly WrittenTaint[]): string[] =>
  taints.map(({ key, value = '', effect }) => `${key}=${value}:${effect}`);

/**
 * Every field of KubeletConfiguration, in a row that says all about it: what it becomes in a configuration and the rule for it, or
 * why it is `ignored`, which a warning names. Values besides those of `only` are refused, and what stands in no table is a mistake.
 */
export const KUBELET_CONFIG_TABLES = {
  KubeletConfiguration: {
    apiVersion: supported('string', {
      required: true,
      only: ['kubelet.config.k8s.io/v1beta1'],
      otherwise: 'use kubelet.config.k8s.io/v1beta1',
    }),
    kind: supported('string', {
      required: true,
      only: ['KubeletConfiguration'],
      otherwise: 'use KubeletConfiguration',
    }),
    enableServer: honoured<boolean>('boolean'),
    staticPodPath: path(),
    podLogsDir: path(),
    syncFrequency: duration('syncFrequencyMs', by(atLeastOneSecond)),
    fileCheckFrequency: duration('fileCheckFrequencyMs', by(atLeastOneSecond)),
    httpCheckFrequency: duration('httpCheckFrequencyMs', by(atLeastOneSecond)),
    staticPodURL: honoured<string>('string', { check: by(findUrlProblem) }),
    staticPodURLHeader: honoured<Readonly<Record<string, readonly string[]>>>('map[string][]string'),
    address: honoured<string>('string', { check: by(checkIp) }),
    port: number({ check: by(inRange(0, MAX_PORT)), zeroIsDefault: true }),
    readOnlyPort: number({ check: by(inRange(0, MAX_PORT)) }),
    tlsCertFile: path(),
    tlsPrivateKeyFile: path(),
    tlsCipherSuites: honoured<readonly string[]>('[]string', { check: each(findCipherSuiteProblem) }),
    tlsCurvePreferences: ignored('[]int32', 'the curves are OpenSSL’s usual ones'),
    tlsMinVersion: honoured<'VersionTLS12' | 'VersionTLS13'>('VersionTLS12|VersionTLS13'),
    rotateCertificates: honoured<boolean>('boolean'),
    serverTLSBootstrap: honoured<boolean>('boolean'),
    authentication: supported('KubeletAuthentication'),
    authorization: supported('KubeletAuthorization'),
    registryPullQPS: ignored('int32', 'pulls are limited by maxParallelImagePulls'),
    registryBurst: ignored('int32', 'pulls are limited by maxParallelImagePulls'),
    imagePullCredentialsVerificationPolicy: honoured<VerificationPolicy>(
      'NeverVerify|NeverVerifyPreloadedImages|NeverVerifyAllowlistedImages|AlwaysVerify',
    ),
    preloadedImagesVerificationAllowlist: honoured<readonly string[]>('[]string', {
      check: each(findAllowlistProblem),
    }),
    eventRecordQPS: number({ check: by(inRange(0)) }),
    eventBurst: number({ check: by(inRange(0)), zeroIsDefault: true }),
    enableDebuggingHandlers: honoured<boolean>('boolean'),
    enableContentionProfiling: ignored('boolean', DEBUGGING),
    healthzPort: number({ check: by(inRange(0, MAX_PORT)) }),
    healthzBindAddress: honoured<string>('string', { check: by(checkIp) }),
    oomScoreAdj: number({ check: by(inRange(-1_000, 1_000)) }),
    clusterDomain: honoured<string>('string', { check: by(findDomainProblem) }),
    clusterDNS: honoured<readonly string[]>('[]string', { check: each(checkIp) }),
    streamingConnectionIdleTimeout: ignored('string', 'it has no effect in a kubelet either'),
    nodeStatusUpdateFrequency: duration('nodeStatusUpdateFrequencyMs', by(atLeastOneSecond)),
    nodeStatusReportFrequency: duration('nodeStatusReportFrequencyMs', by(atLeastOneSecond)),
    nodeLeaseDurationSeconds: number({ check: by(inRange(1)), zeroIsDefault: true }),
    imageMinimumGCAge: duration('imageMinimumGCAgeMs', by(notNegative)),
    imageMaximumGCAge: duration('imageMaximumGCAgeMs', by(notNegative)),
    imageGCHighThresholdPercent: number({ check: by(inRange(0, 100)) }),
    imageGCLowThresholdPercent: number({ check: by(inRange(0, 100)) }),
    volumeStatsAggPeriod: duration('volumeStatsAggPeriodMs'),
    kubeletCgroups: ignored('string', 'the service manager gives the agent its cgroup'),
    systemCgroups: ignored('string', NODE_SETTINGS),
    cgroupRoot: honoured<string>('string', { check: by(checkCgroupRoot) }),
    cgroupsPerQOS: honoured<boolean>('boolean'),
    cgroupDriver: honoured<'cgroupfs' | 'systemd'>('cgroupfs|systemd'),
    cpuManagerPolicy: pinning(['none']),
    singleProcessOOMKill: honoured<boolean>('boolean'),
    cpuManagerPolicyOptions: ignored('map[string]string', NO_PINNING),
    cpuManagerReconcilePeriod: ignored('string', NO_PINNING, { neutral: ['0s', '10s'] }),
    memoryManagerPolicy: pinning(['None']),
    topologyManagerPolicy: pinning(['none', 'best-effort']),
    topologyManagerScope: ignored('string', NO_PINNING, { neutral: ['container'] }),
    topologyManagerPolicyOptions: ignored('map[string]string', NO_PINNING),
    qosReserved: honoured<TextMap>('map[string]string', { check: eachEntry(findClassReserveProblem) }),
    runtimeRequestTimeout: duration('runtimeRequestTimeoutMs', by(atLeastOneSecond)),
    hairpinMode: ignored('string', 'the network of pods is the runtime’s'),
    maxPods: number({ check: by(inRange(0)), zeroIsDefault: true }),
    podCIDR: honoured<string>('string', { check: by(findNetworksProblem) }),
    podPidsLimit: number({ type: 'int64' }),
    resolvConf: path({ default: '' }),
    runOnce: ignored('boolean', 'use --exit-when-done'),
    cpuCFSQuota: honoured<boolean>('boolean'),
    cpuCFSQuotaPeriod: duration('cpuCFSQuotaPeriodMs', by(between('1ms', '1s'))),
    nodeStatusMaxImages: number({ check: by(inRange(-1)) }),
    maxOpenFiles: number({ type: 'int64', check: by(inRange(1)), zeroIsDefault: true }),
    contentType: ignored('string', 'API servers are sent JSON'),
    kubeAPIQPS: number({ zeroIsDefault: true }),
    kubeAPIBurst: number({ check: by(inRange(0)), zeroIsDefault: true }),
    serializeImagePulls: honoured<boolean>('boolean'),
    maxParallelImagePulls: number({ check: by(inRange(1)) }),
    evictionHard: honoured<TextMap>('map[string]string', { check: eachEntry(findThresholdProblem) }),
    evictionSoft: honoured<TextMap>('map[string]string', { check: eachEntry(findThresholdProblem) }),
    evictionSoftGracePeriod: honoured<TextMap>('map[string]string', { check: eachEntry(findGraceProblem) }),
    evictionPressureTransitionPeriod: duration('evictionPressureTransitionPeriodMs'),
    /** In seconds. */
    evictionMaxPodGracePeriod: number({ check: by(inRange(0)) }),
    evictionMinimumReclaim: honoured<TextMap>('map[string]string', { check: eachEntry(findReclaimProblem) }),
    mergeDefaultEvictionSettings: honoured<boolean>('boolean'),
    podsPerCore: number({ check: by(inRange(0)) }),
    enableControllerAttachDetach: ignored('boolean', 'podloop attaches no volumes', { neutral: [true] }),
    protectKernelDefaults: honoured<boolean>('boolean'),
    makeIPTablesUtilChains: honoured<boolean>('boolean'),
    iptablesMasqueradeBit: ignored('int32', NODE_SETTINGS),
    iptablesDropBit: ignored('int32', NODE_SETTINGS),
    featureGates: ignored('map[string]boolean', 'podloop has no feature gates'),
    failSwapOn: honoured<boolean>('boolean'),
    memorySwap: supported('MemorySwapConfiguration'),
    containerLogMaxSize: size('containerLogMaxSizeBytes', by(inRange(1))),
    containerLogMaxFiles: number({ check: by(inRange(2)) }),
    containerLogMaxWorkers: ignored(
      'int32',
      'logs are rotated one after another, and none waits for one that takes long',
    ),
    containerLogMonitorInterval: duration('containerLogMonitorIntervalMs', by(durationAtLeast('3s'))),
    configMapAndSecretChangeDetectionStrategy: ignored(
      'Get|Cache|Watch',
      'ConfigMaps and Secrets of an API server are always watched',
      { neutral: ['Watch'] },
    ),
    systemReserved: honoured<TextMap>('map[string]quantity', { check: eachEntry(findReservationProblem) }),
    kubeReserved: honoured<TextMap>('map[string]quantity', { check: eachEntry(findReservationProblem) }),
    reservedSystemCPUs: honoured<string>('string'),
    showHiddenMetricsForVersion: ignored('string', 'podloop hides no metrics'),
    systemReservedCgroup: honoured<string>('string'),
    kubeReservedCgroup: honoured<string>('string'),
    enforceNodeAllocatable: honoured<readonly string[]>('[]string'),
    allowedUnsafeSysctls: honoured<readonly string[]>('[]string', { check: each(checkSysctlPattern) }),
    defaultPodSysctls: ignored('map[string]string', 'write them into the securityContext of the pods'),
    volumePluginDir: ignored('string', 'podloop has no volume plugins'),
    providerID: honoured<string>('string'),
    kernelMemcgNotification: ignored('boolean', 'what is left is measured every second in any case'),
    logging: honoured<LoggingConfig>('LoggingConfiguration', { read: readLogging, check: checkLogging }),
    enableSystemLogHandler: honoured<boolean>('boolean'),
    enableSystemLogQuery: ignored('boolean', DEBUGGING),
    shutdownGracePeriod: duration('shutdownGracePeriodMs', by(zeroOrOneSecond)),
    shutdownGracePeriodCriticalPods: duration('shutdownGracePeriodCriticalPodsMs', by(zeroOrOneSecond)),
    shutdownGracePeriodByPodPriority: honoured<readonly ShutdownPeriod[]>(
      '[]ShutdownGracePeriodByPodPriority',
      { read: readShutdownPeriods, check: eachShutdownPeriod },
    ),
    crashLoopBackOff: supported('CrashLoopBackOffConfig'),
    reservedMemory: ignored('any', NO_PINNING),
    enableProfilingHandler: ignored('boolean', DEBUGGING),
    enableDebugFlagsHandler: ignored('boolean', DEBUGGING),
    seccompDefault: honoured<boolean>('boolean'),
    memoryThrottlingFactor: factor(),
    memoryReservationPolicy: honoured<'None' | 'TieredReservation'>('None|TieredReservation'),
    /** Each becomes `key=value:Effect`. */
    registerWithTaints: honoured<readonly string[]>('[]Taint', { read: readTaints }),
    registerNode: honoured<boolean>('boolean'),
    tracing: ignored('any', 'podloop sends no traces'),
    localStorageCapacityIsolation: ignored(
      'boolean',
      'sizeLimit of a volume and limits of ephemeral-storage always hold: it cannot be switched off',
    ),
    containerRuntimeEndpoint: honoured<string>('string'),
    imageServiceEndpoint: ignored('string', 'images are asked for at containerRuntimeEndpoint'),
    failCgroupV1: honoured<boolean>('boolean'),
    userNamespaces: supported('UserNamespaces'),
  },
  Taint: {
    key: supported('string', { required: true }),
    value: supported('string'),
    effect: supported('NoSchedule|PreferNoSchedule|NoExecute', { required: true }),
    timeAdded: ignored('string', 'it begins when the Node is made'),
  },
  LoggingConfiguration: {
    format: supported('text|json'),
    flushFrequency: ignored('any', 'each line is written at once', { neutral: ['5s', 5_000_000_000, 0] }),
    verbosity: supported('int32'),
    vmodule: supported('[]VModuleItem'),
    options: ignored('any', 'there is one stream, and it is not split', { neutral: [] }),
  },
  VModuleItem: { filePattern: supported('string', { required: true }), verbosity: supported('int32') },
  CrashLoopBackOffConfig: {
    maxContainerRestartPeriod: duration('maxContainerRestartPeriodMs', by(between('1s', '300s'))),
  },
  KubeletAuthentication: {
    x509: supported('KubeletX509Authentication'),
    webhook: supported('KubeletWebhookAuthentication'),
    anonymous: supported('KubeletAnonymousAuthentication'),
  },
  KubeletX509Authentication: { clientCAFile: path() },
  KubeletWebhookAuthentication: {
    enabled: honoured<boolean, 'authenticationTokenWebhook'>('boolean', {
      key: 'authenticationTokenWebhook',
    }),
    cacheTTL: duration('authenticationTokenWebhookCacheTtlMs', by(notNegative)),
  },
  KubeletAnonymousAuthentication: {
    enabled: honoured<boolean, 'anonymousAuth'>('boolean', { key: 'anonymousAuth' }),
  },
  KubeletAuthorization: {
    mode: honoured<'AlwaysAllow' | 'Webhook', 'authorizationMode'>('AlwaysAllow|Webhook', {
      key: 'authorizationMode',
    }),
    webhook: supported('KubeletWebhookAuthorization'),
  },
  KubeletWebhookAuthorization: {
    cacheAuthorizedTTL: duration('authorizationWebhookCacheAuthorizedTtlMs', by(notNegative)),
    cacheUnauthorizedTTL: duration('authorizationWebhookCacheUnauthorizedTtlMs', by(notNegative)),
  },
  MemorySwapConfiguration: { swapBehavior: honoured<'NoSwap' | 'LimitedSwap'>('NoSwap|LimitedSwap') },
  ShutdownGracePeriodByPodPriority: {
    priority: supported('int32'),
    shutdownGracePeriodSeconds: supported('int64'),
  },
  UserNamespaces: { idsPerPod: number({ type: 'int64', check: by(checkIdsPerPod) }) },
} as const satisfies Readonly<Record<string, FieldTable>>;

/** Fields that only have an effect in a cluster, by path, with the warning for an agent outside of one. */
export const CLUSTER_FIELDS: Readonly<Record<string, string>> = {
  eventRecordQPS: NO_API_SERVER,
  eventBurst: NO_API_SERVER,
  kubeAPIQPS: NO_API_SERVER,
  kubeAPIBurst: NO_API_SERVER,
  nodeStatusUpdateFrequency: NO_API_SERVER,
  nodeStatusReportFrequency: NO_API_SERVER,
  nodeStatusMaxImages: NO_API_SERVER,
  nodeLeaseDurationSeconds: NO_API_SERVER,
  registerNode: NO_API_SERVER,
  registerWithTaints: NO_API_SERVER,
  providerID: NO_API_SERVER,
  rotateCertificates: NO_API_SERVER,
  serverTLSBootstrap: NO_API_SERVER,
  'authentication.webhook': 'there is no API server to ask for permissions',
  'authorization.webhook': 'there is no API server to ask for permissions',
};
