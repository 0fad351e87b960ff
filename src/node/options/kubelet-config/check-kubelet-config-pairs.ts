import { findAllowlistProblem } from '../../images/verification-policy.js';
import { type FieldProblem, invalid } from '#kube/fields/field-problem.js';
import { findQuantity } from '#kube/fields/quantity.js';
import { inRange, ProblemList, type Rule } from '#kube/validation/problem-list.js';
import {
  EVICTION_SIGNALS,
  isEvictionSignal,
  parseReclaims,
  parseThresholds,
  type WrittenThresholds,
} from '#kube/node/eviction-thresholds.js';
import { checkIp, checkSubdomain } from '#kube/validation/name-rules.js';
import { checkSysctlPattern } from '#kube/validation/sysctl-names.js';
import { messageOf } from '#base/errors/errors.js';
import { findPatternProblem } from '#base/log/log-settings.js';
import { checkCgroupRoot } from '../../runtime/config/pod-cgroup-names.js';
import { CIPHER_SUITES } from '../../api/tls/cipher-suites.js';
import { type KubeletConfig } from './kubelet-config.js';
import { readDuration } from './read-duration.js';

const SECOND_MS = 1_000;
const MAX_PORT = 65_535;
const NOT_NEGATIVE: Rule<number> = (value) => (value >= 0 ? undefined : 'must not be negative');

/** Checks the values of a configuration by the kubelet's own rules. Pure. */
export function checkKubeletConfig(config: KubeletConfig): readonly FieldProblem[] {
  const list = new ProblemList();
  const least = (ms: number, most: number, rule: string): Rule<number> => {
    return (value) => (value >= ms && value <= most ? undefined : rule);
  };
  const atLeastOneSecond = least(SECOND_MS, Infinity, 'must be at least 1s');
  list.check(['syncFrequency'], config.syncFrequencyMs, atLeastOneSecond);
  list.check(['fileCheckFrequency'], config.fileCheckFrequencyMs, atLeastOneSecond);
  list.check(['httpCheckFrequency'], config.httpCheckFrequencyMs, atLeastOneSecond);
  list.check(['runtimeRequestTimeout'], config.runtimeRequestTimeoutMs, atLeastOneSecond);
  for (const [path, ms] of [
    [['authentication', 'webhook', 'cacheTTL'], config.authenticationTokenWebhookCacheTtlMs],
    [['authorization', 'webhook', 'cacheAuthorizedTTL'], config.authorizationWebhookCacheAuthorizedTtlMs],
    [['authorization', 'webhook', 'cacheUnauthorizedTTL'], config.authorizationWebhookCacheUnauthorizedTtlMs],
  ] as const) {
    list.check(path, ms, NOT_NEGATIVE);
  }
  list.check(['imageMinimumGCAge'], config.imageMinimumGCAgeMs, NOT_NEGATIVE);
  list.check(
    ['containerLogMonitorInterval'],
    config.containerLogMonitorIntervalMs,
    least(3 * SECOND_MS, Infinity, 'must be at least 3s'),
  );
  list.check(
    ['cpuCFSQuotaPeriod'],
    config.cpuCFSQuotaPeriodMs,
    least(1, SECOND_MS, 'must be from 1ms to 1s'),
  );
  list.check(
    ['crashLoopBackOff', 'maxContainerRestartPeriod'],
    config.maxContainerRestartPeriodMs,
    least(SECOND_MS, 300 * SECOND_MS, 'must be from 1s to 300s'),
  );
  list.check(['maxPods'], config.maxPods, inRange(0));
  list.check(['podsPerCore'], config.podsPerCore, inRange(0));
  list.check(['imageGCHighThresholdPercent'], config.imageGCHighThresholdPercent, inRange(0, 100));
  list.check(['imageGCLowThresholdPercent'], config.imageGCLowThresholdPercent, inRange(0, 100));
  list.check(['containerLogMaxFiles'], config.containerLogMaxFiles, inRange(2));
  list.check(['containerLogMaxSize'], config.containerLogMaxSizeBytes, inRange(1));
  list.check(['eventRecordQPS'], config.eventRecordQPS, inRange(0));
  list.check(['eventBurst'], config.eventBurst, inRange(0));
  list.check(['kubeAPIBurst'], config.kubeAPIBurst, inRange(0));
  list.check(['nodeLeaseDurationSeconds'], config.nodeLeaseDurationSeconds, inRange(1));
  list.check(['nodeStatusMaxImages'], config.nodeStatusMaxImages, inRange(-1));
  list.check(['nodeStatusUpdateFrequency'], config.nodeStatusUpdateFrequencyMs, atLeastOneSecond);
  list.check(['nodeStatusReportFrequency'], config.nodeStatusReportFrequencyMs, atLeastOneSecond);
  list.check(['maxParallelImagePulls'], config.maxParallelImagePulls, inRange(1));
  for (const [index, entry] of (config.preloadedImagesVerificationAllowlist ?? []).entries()) {
    list.check(['preloadedImagesVerificationAllowlist', index], entry, findAllowlistProblem);
  }
  for (const field of ['readOnlyPort', 'healthzPort', 'port'] as const) {
    list.check([field], config[field], inRange(0, MAX_PORT));
  }
  for (const field of ['address', 'healthzBindAddress'] as const) list.check([field], config[field], checkIp);
  for (const [index, suite] of (config.tlsCipherSuites ?? []).entries()) {
    list.check(['tlsCipherSuites', index], suite, mustBeSuite);
  }
  list.check(['logging', 'verbosity'], config.logging?.verbosity, inRange(0));
  for (const [index, { filePattern, verbosity }] of (config.logging?.vmodule ?? []).entries()) {
    list.check(['logging', 'vmodule', index, 'filePattern'], filePattern, findPatternProblem);
    list.check(['logging', 'vmodule', index, 'verbosity'], verbosity, inRange(0));
  }
  list.check(['staticPodURL'], config.staticPodURL, mustBeHttp);
  list.check(['cgroupRoot'], config.cgroupRoot, checkCgroupRoot);
  for (const [index, address] of (config.clusterDNS ?? []).entries()) {
    list.check(['clusterDNS', index], address, checkIp);
  }
  list.check(['clusterDomain'], config.clusterDomain, (domain) =>
    domain === '' ? undefined : checkSubdomain(domain),
  );
  for (const [index, pattern] of (config.allowedUnsafeSysctls ?? []).entries()) {
    list.check(['allowedUnsafeSysctls', index], pattern, checkSysctlPattern);
  }
  for (const field of ['systemReserved', 'kubeReserved'] as const) {
    for (const [name, amount] of Object.entries(config[field] ?? {})) {
      list.check([field, { key: name }], amount, () => findReservationProblem(name, amount));
    }
  }
  for (const [field, parse] of [
    ['evictionHard', parseThresholds],
    ['evictionSoft', parseThresholds],
    ['evictionMinimumReclaim', parseReclaims],
  ] as const) {
    for (const [signal, text] of Object.entries(config[field] ?? {})) {
      list.check([field, { key: signal }], text, () => findThresholdProblem({ [signal]: text }, parse));
    }
  }
  for (const [signal, text] of Object.entries(config.evictionSoftGracePeriod ?? {})) {
    list.check(['evictionSoftGracePeriod', { key: signal }], text, () => findGraceProblem(signal, text));
  }
  list.check(['evictionMaxPodGracePeriod'], config.evictionMaxPodGracePeriod, inRange(0));
  list.add(...checkPairs(config));
  return list.problems;
}

const RESERVABLE = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

function findReservationProblem(name: string, amount: string): string | undefined {
  if (!RESERVABLE.includes(name))
    return `cannot reserve ${name} resource; use one of ${RESERVABLE.join(', ')}`;
  const isNegative = (findQuantity(amount)?.nanos ?? 0n) < 0n;
  return isNegative ? 'must not be negative' : undefined;
}

function findThresholdProblem(
  written: WrittenThresholds,
  parse: (written: WrittenThresholds) => unknown,
): string | undefined {
  try {
    parse(written);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function findGraceProblem(signal: string, text: string): string | undefined {
  if (!isEvictionSignal(signal)) return `use one of ${EVICTION_SIGNALS.join(', ')}`;
  const read = readDuration(text);
  return 'problem' in read ? read.problem : NOT_NEGATIVE(read.ms);
}

const mustBeSuite: Rule<string> = (value) =>
  CIPHER_SUITES.includes(value) ? undefined : `must be one of ${CIPHER_SUITES.join(', ')}`;

const mustBeHttp: Rule<string> = (value) => {
  const protocol = URL.canParse(value) ? new URL(value).protocol : '';
  return protocol === 'http:' || protocol === 'https:' ? undefined : 'must be an http:// or https:// URL';
};

function checkPairs(config: KubeletConfig): FieldProblem[] {
  const { imageGCHighThresholdPercent: high = 85, imageGCLowThresholdPercent: low = 80 } = config;
  const problems: FieldProblem[] = [];
  if (low >= high) {
    problems.push(
      invalid(['imageGCLowThresholdPercent'], low, `must be less than imageGCHighThresholdPercent, ${high}`),
    );
  }
  const { maxParallelImagePulls: pulls, serializeImagePulls: oneByOne } = config;
  if (pulls !== undefined && pulls > 1 && oneByOne === true) {
    problems.push(invalid(['maxParallelImagePulls'], pulls, 'must be 1 while serializeImagePulls is true'));
  }
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } =
    config;
  if (allowlist !== undefined && allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    const rule = 'imagePullCredentialsVerificationPolicy has to be NeverVerifyAllowlistedImages';
    problems.push(invalid(['preloadedImagesVerificationAllowlist'], allowlist, rule));
  }
  const { evictionSoft = {}, evictionSoftGracePeriod: graces = {} } = config;
  for (const [signal, text] of Object.entries(evictionSoft)) {
    if (Object.hasOwn(graces, signal)) continue;
    const rule = `evictionSoftGracePeriod has to say how long it may hold, such as {${signal}: 1m30s}`;
    problems.push(invalid(['evictionSoft', { key: signal }], text, rule));
  }
  return problems;
}
