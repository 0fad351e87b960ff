import { dirname, isAbsolute, resolve } from 'node:path';
import { decodeObject } from '#kube/fields/decode-object.js';
import { type FieldFacts } from '#kube/fields/field-facts.js';
import { type FieldPath, formatFieldPath, toPlainPath } from '#kube/fields/field-path.js';
import { type FieldProblem, invalid } from '#kube/fields/field-problem.js';
import { findQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { PodloopError } from '#base/errors/errors.js';
import { parseYamlDocuments, type TextPlace } from '#base/text/yaml/yaml-document.js';
import { checkKubeletConfig } from './check-kubelet-config.js';
import { CLUSTER_FIELDS, KUBELET_CONFIG_TABLES } from './kubelet-config-fields.js';
import { type KubeletConfig } from './kubelet-config.js';
import { readDuration } from './read-duration.js';

/** The content of a configuration file. */
export interface KubeletConfigReading {
  readonly config: KubeletConfig;
  /** One sentence for each field that is valid and without effect, with its place. */
  readonly warnings: readonly string[];
}

/** Larger than any real configuration. */
const LARGEST_CONFIG_BYTES = 256 * 1024;
/** Maximum number of problems that an error lists; it only counts the rest. */
const NAMED_PROBLEMS = 20;

/**
 * Reads the text of a KubeletConfiguration file. Paths in it are relative to the folder of `file`, as in a kubelet.
 * Throws CONFIG_INVALID with every problem, each with line, column and field. What only a node of a cluster honours has
 * no effect unless `isInCluster`.
 */
export function readKubeletConfig(text: string, file: string, isInCluster = false): KubeletConfigReading {
  if (Buffer.byteLength(text) > LARGEST_CONFIG_BYTES) {
    throw new PodloopError('CONFIG_INVALID', `${file}: has more than ${LARGEST_CONFIG_BYTES} bytes`);
  }
  const documents = parseYamlDocuments(text);
  const [document] = documents;
  if (document === undefined || documents.length > 1) {
    const why = document === undefined ? 'there is nothing in it' : 'there is more than one document in it';
    throw new PodloopError('CONFIG_INVALID', `${file}: ${why}; write one KubeletConfiguration`);
  }
  if (document.problems.length > 0) {
    throw invalidFile(document.problems.map(({ path, place, message }) => at(file, place, path, message)));
  }
  const placed = (path: FieldPath, message: string, of: 'key' | 'value'): string =>
    at(file, document.placeOf(toPlainPath(path), of), path, message);
  const decoded = decodeObject(document.value, 'KubeletConfiguration', KUBELET_CONFIG_TABLES, () => true);
  const problems = decoded.problems.map(asDuration);
  const config = convert((decoded.value ?? {}) as Readonly<Record<string, unknown>>, file, problems);
  problems.push(...checkKubeletConfig(config));
  if (problems.length > 0) {
    throw invalidFile(
      problems.map(({ kind, path, message }) => placed(path, message, kind === 'unknown' ? 'key' : 'value')),
    );
  }
  const idle = fieldsWithoutEffect(document.value as Written, 'KubeletConfiguration', isInCluster);
  return { config, warnings: idle.map(({ path, why }) => placed(path, `has no effect: ${why}`, 'key')) };
}

/** Quotes alone would not turn a number into a duration. */
function asDuration(problem: FieldProblem): FieldProblem {
  const field = problem.path.at(-1);
  const isDuration = [...DURATIONS, ...Object.keys(INNER_DURATIONS)].some(
    (each) => each.split('.').at(-1) === field,
  );
  if (problem.kind !== 'type' || !isDuration) return problem;
  const message = problem.message.replace(
    'must be a string,',
    'must be a duration such as 500ms, 20s or 1m30s,',
  );
  return { ...problem, message: message.replace('; put it in quotes', '') };
}

interface IdleField {
  readonly path: readonly string[];
  readonly why: string;
}

function fieldsWithoutEffect(
  value: Written,
  table: keyof typeof KUBELET_CONFIG_TABLES,
  isInCluster: boolean,
  above: readonly string[] = [],
): IdleField[] {
  const fields: [string, FieldFacts][] = Object.entries(KUBELET_CONFIG_TABLES[table]);
  return fields.flatMap(([field, { support, neutral, note, type }]): IdleField[] => {
    const written = value[field] ?? null;
    const path = [...above, field];
    if (written === null || neutral.includes(written as string)) return [];
    const whyNotHere = isInCluster ? undefined : CLUSTER_FIELDS[path.join('.')];
    const why = whyNotHere ?? (support === 'ignored' ? note : undefined);
    if (why !== undefined) return saysNothing(written) ? [] : [{ path, why }];
    if (type.kind !== 'object') return [];
    const inner = type.name as keyof typeof KUBELET_CONFIG_TABLES;
    return fieldsWithoutEffect(written as Written, inner, isInCluster, path);
  });
}

/** Generated files, such as kubeadm's, contain zeros and empty objects, which mean the default to a kubelet. */
function saysNothing(written: unknown): boolean {
  if (typeof written !== 'object' || written === null) return ZEROS.has(written);
  return Object.values(written).every((each) => saysNothing(each));
}

const ZEROS: ReadonlySet<unknown> = new Set([null, '', '0', '0s']);

type Written = Readonly<Record<string, unknown>>;

const DURATIONS = [
  'syncFrequency',
  'fileCheckFrequency',
  'httpCheckFrequency',
  'runtimeRequestTimeout',
  'cpuCFSQuotaPeriod',
  'imageMinimumGCAge',
  'containerLogMonitorInterval',
  'nodeStatusUpdateFrequency',
  'nodeStatusReportFrequency',
  'evictionPressureTransitionPeriod',
] as const;

/** Durations in nested fields, with the option that each sets. */
const INNER_DURATIONS = {
  'crashLoopBackOff.maxContainerRestartPeriod': 'maxContainerRestartPeriodMs',
  'authentication.webhook.cacheTTL': 'authenticationTokenWebhookCacheTtlMs',
  'authorization.webhook.cacheAuthorizedTTL': 'authorizationWebhookCacheAuthorizedTtlMs',
  'authorization.webhook.cacheUnauthorizedTTL': 'authorizationWebhookCacheUnauthorizedTtlMs',
} as const satisfies Readonly<Record<string, keyof KubeletConfig>>;

const AS_WRITTEN = [
  'tlsMinVersion',
  'tlsCipherSuites',
  'enableDebuggingHandlers',
  'enableSystemLogHandler',
  'enableServer',
  'address',
  'readOnlyPort',
  'healthzPort',
  'healthzBindAddress',
  'staticPodURL',
  'staticPodURLHeader',
  'containerRuntimeEndpoint',
  'cgroupDriver',
  'cgroupRoot',
  'cgroupsPerQOS',
  'podPidsLimit',
  'cpuCFSQuota',
  'clusterDNS',
  'clusterDomain',
  'seccompDefault',
  'allowedUnsafeSysctls',
  'podsPerCore',
  'serializeImagePulls',
  'maxParallelImagePulls',
  'imagePullCredentialsVerificationPolicy',
  'preloadedImagesVerificationAllowlist',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'containerLogMaxFiles',
  'systemReserved',
  'kubeReserved',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMaxPodGracePeriod',
  'evictionMinimumReclaim',
  'mergeDefaultEvictionSettings',
  'eventRecordQPS',
  'rotateCertificates',
  'serverTLSBootstrap',
  'registerNode',
  'providerID',
  'nodeStatusMaxImages',
] as const satisfies readonly (keyof KubeletConfig)[];

/** Zero means the default, as in a kubelet. */
const NUMBERS_WITH_DEFAULTS = [
  'port',
  'maxPods',
  'kubeAPIQPS',
  'kubeAPIBurst',
  'eventBurst',
  'nodeLeaseDurationSeconds',
] as const satisfies readonly (keyof KubeletConfig)[];

const PATHS = [
  'staticPodPath',
  'resolvConf',
  'podLogsDir',
  'tlsCertFile',
  'tlsPrivateKeyFile',
] as const satisfies readonly (keyof KubeletConfig)[];

interface WrittenTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

function convert(written: Written, file: string, problems: FieldProblem[]): KubeletConfig {
  const config: Record<string, unknown> = {};
  for (const field of AS_WRITTEN) if (written[field] !== undefined) config[field] = written[field];
  for (const field of NUMBERS_WITH_DEFAULTS) {
    if (written[field] !== undefined && written[field] !== 0) config[field] = written[field];
  }
  const taints = written['registerWithTaints'] as readonly WrittenTaint[] | undefined;
  if (taints !== undefined) {
    config['registerWithTaints'] = taints.map(({ key, value = '', effect }) => `${key}=${value}:${effect}`);
  }
  for (const field of PATHS) {
    const path = written[field] as string | undefined;
    // An empty resolvConf says that there is none to read.
    if (path !== undefined) config[field] = besides(file, path);
  }
  if (written['logging'] !== undefined) config['logging'] = logging(written['logging'] as Written);
  Object.assign(config, whoMayAsk(written, file));
  const read = (path: readonly string[], to: string): void => {
    const text = path.reduce<unknown>((value, field) => (value as Written | undefined)?.[field], written);
    if (text === undefined) return;
    const duration = readDuration(text as string);
    if ('problem' in duration) problems.push(invalid(path, text, duration.problem));
    // Zero means the default, as in a kubelet.
    else if (duration.ms !== 0) config[to] = duration.ms;
  };
  for (const field of DURATIONS) read([field], `${field}Ms`);
  for (const [path, to] of Object.entries(INNER_DURATIONS)) read(path.split('.'), to);
  const logSize = findQuantity((written['containerLogMaxSize'] as string | undefined) ?? '');
  if (logSize !== undefined) config['containerLogMaxSizeBytes'] = Number(toWholeUnits(logSize));
  return config;
}

/** The log settings that podloop supports. A rule without a verbosity has the verbosity 0, as in a kubelet. */
function logging({ format, verbosity, vmodule = [] }: Written): KubeletConfig['logging'] {
  const rules = vmodule as readonly { readonly filePattern: string; readonly verbosity?: number }[];
  return {
    ...(format === undefined ? {} : { format: format as 'text' | 'json' }),
    ...(verbosity === undefined ? {} : { verbosity: verbosity as number }),
    vmodule: rules.map((rule) => ({ verbosity: 0, ...rule })),
  };
}

/** Paths in a file are relative to the folder of that file. */
function besides(file: string, path: string): string {
  return path === '' || isAbsolute(path) ? path : resolve(dirname(file), path);
}

interface WhoMayAsk {
  readonly authentication?: {
    readonly x509?: { readonly clientCAFile?: string };
    readonly anonymous?: { readonly enabled?: boolean };
    readonly webhook?: { readonly enabled?: boolean };
  };
  readonly authorization?: { readonly mode?: KubeletConfig['authorizationMode'] };
}

function whoMayAsk({ authentication, authorization }: WhoMayAsk, file: string): Partial<KubeletConfig> {
  const { clientCAFile } = authentication?.x509 ?? {};
  const { enabled: anonymousAuth } = authentication?.anonymous ?? {};
  const { enabled: tokens } = authentication?.webhook ?? {};
  // As a kubelet with a file: the authority of a cluster vouches for many who may not do everything.
  const { mode = clientCAFile === undefined ? undefined : 'Webhook' } = authorization ?? {};
  return {
    ...(clientCAFile === undefined ? {} : { clientCAFile: besides(file, clientCAFile) }),
    ...(anonymousAuth === undefined ? {} : { anonymousAuth }),
    ...(tokens === undefined ? {} : { authenticationTokenWebhook: tokens }),
    ...(mode === undefined ? {} : { authorizationMode: mode }),
  };
}

function at(file: string, { line, column }: TextPlace, path: FieldPath, message: string): string {
  const field = formatFieldPath(path);
  return `${file}:${line}:${column}: ${field === '' ? '' : `${field}: `}${message}`;
}

function invalidFile(problems: readonly string[]): PodloopError {
  const named = problems.slice(0, NAMED_PROBLEMS);
  const more = problems.length - named.length;
  return new PodloopError(
    'CONFIG_INVALID',
    [...named, ...(more > 0 ? [`and ${more} more problems`] : [])].join('; '),
  );
}
