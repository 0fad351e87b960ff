import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { findAllowlistProblem } from '../images/verification-policy.js';
import { checkIp, checkSubdomain } from '#kube/validation/name-rules.js';
import { checkSysctlPattern } from '#kube/validation/sysctl-names.js';
import { CIPHER_SUITES } from '../api/tls/cipher-suites.js';
import { checkCgroupRoot } from '../runtime/config/pod-cgroup-names.js';
import { messageOf } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { splitNodeIps } from '#base/wire/node-ip.js';
import { findNetworksProblem } from './kubelet-config/config-rules.js';
import { type AgentOptions } from './agent-options.js';
import { findPolicyProblem } from './read-node-policy.js';
import { findReserveProblem } from './reserve-options.js';
import { findShutdownProblem } from './shutdown-options.js';

/**
 * Returns the first problem of options that have the right types, as `--flag: what and why`, or undefined.
 *
 * The check runs before anything starts, as an option that fails later would leave a folder and a runtime behind.
 */
export function findOptionProblem(options: AgentOptions): string | undefined {
  const problems = [
    ...findUselessPeriods(options),
    findWrongQuotaPeriod(options),
    atLeast('nodeLeaseDurationSeconds', options.nodeLeaseDurationSeconds, 1),
    atLeast('--event-burst', options.eventBurst, 1),
    atLeast('kubeAPIBurst', options.kubeApiBurst, 1),
    atLeast('--container-log-max-files', options.containerLogMaxFiles, 2),
    atLeast('--max-parallel-image-pulls', options.maxParallelImagePulls, 1),
    findWrongAllowlist(options),
    findWrongThresholds(options),
    findSmallJournal(options),
    findWrongAddress(options),
    options.address === undefined ? undefined : findWrongListener('--address', options.address),
    findHalfAPair(options),
    findWrongCertFolder(options),
    findLonelyBootstrap(options),
    findTwoServingPairs(options),
    findSharedPort(options),
    findWrongSuite(options),
    findWrongListener('--healthz-bind-address', options.healthzBindAddress),
    findWrongUrl(options),
    findWrongPodCidr(options),
    findWrongOomScore(options),
    atLeast('--max-open-files', options.maxOpenFiles ?? 1, 1),
    findWrongSocket(options),
    findWrongHeaders(options),
    findWrongCgroupRoot(options),
    findReserveProblem(options),
    findShutdownProblem(options),
    findEndlessBatch(options),
    findPolicyProblem(options),
    findWrongNameServer(options),
    findWrongDomain(options),
    findWrongSysctl(options),
  ];
  return problems.find((problem) => problem !== undefined);
}

function findUselessPeriods(options: AgentOptions): (string | undefined)[] {
  const periods = {
    '--sync-frequency': options.syncFrequencyMs,
    '--file-check-frequency': options.fileCheckFrequencyMs,
    '--http-check-frequency': options.httpCheckFrequencyMs,
    '--runtime-request-timeout': options.runtimeRequestTimeoutMs,
    '--journal-max-age': options.journalMaxAgeMs,
    nodeStatusUpdateFrequency: options.nodeStatusUpdateFrequencyMs,
    nodeStatusReportFrequency: options.nodeStatusReportFrequencyMs,
    containerLogMonitorInterval: options.containerLogMonitorIntervalMs,
    'crashLoopBackOff.maxContainerRestartPeriod': options.maxContainerRestartPeriodMs,
  };
  return Object.entries(periods).map(([flag, ms]) =>
    ms > 0 ? undefined : `${flag}: ${formatGoDuration(ms)} is not longer than no time at all`,
  );
}

/** The limits of Linux for cpu.cfs_period_us. */
function findWrongQuotaPeriod({ cpuCfsQuotaPeriodMs: ms }: AgentOptions): string | undefined {
  return ms >= 1 && ms <= 1_000
    ? undefined
    : `--cpu-cfs-quota-period: ${formatGoDuration(ms)} is not from 1ms to 1s`;
}

function findWrongSocket({ socket }: AgentOptions): string | undefined {
  return socket === '' || isAbsolute(socket)
    ? undefined
    : `--socket: ${JSON.stringify(socket)} is not an absolute path`;
}

function atLeast(flag: string, value: number, least: number): string | undefined {
  return value >= least ? undefined : `${flag}: ${value} is not at least ${least}`;
}

function findWrongAllowlist({
  imagePullCredentialsVerificationPolicy: policy,
  preloadedImagesVerificationAllowlist: allowlist,
}: AgentOptions): string | undefined {
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    return 'preloadedImagesVerificationAllowlist: imagePullCredentialsVerificationPolicy has to be NeverVerifyAllowlistedImages';
  }
  for (const entry of allowlist) {
    const rule = findAllowlistProblem(entry);
    if (rule !== undefined) return `preloadedImagesVerificationAllowlist: ${JSON.stringify(entry)}: ${rule}`;
  }
  return undefined;
}

function findWrongThresholds({
  imageGcHighThreshold: high,
  imageGcLowThreshold: low,
}: AgentOptions): string | undefined {
  if (low < high) return undefined;
  return `--image-gc-low-threshold: ${low} is not less than --image-gc-high-threshold, ${high}`;
}

/** A smaller store would consist of overhead alone. */
function findSmallJournal({ journalMaxSizeBytes: bytes }: AgentOptions): string | undefined {
  return bytes >= 4 * 2 ** 20 ? undefined : `--journal-max-size: ${bytes / 2 ** 20}Mi is not at least 4Mi`;
}

function findWrongAddress({ nodeIp }: AgentOptions): string | undefined {
  if (nodeIp === '') return undefined;
  const ips = splitNodeIps(nodeIp);
  const wrong = ips.length === 0 ? nodeIp : ips.find((ip) => checkIp(ip) !== undefined);
  if (wrong !== undefined) {
    return `--node-ip: ${JSON.stringify(wrong)} is not an address, such as 192.0.2.7 or 2001:db8::7`;
  }
  const families = new Set(ips.map((ip) => isIP(ip)));
  if (families.size === ips.length) return undefined;
  return `--node-ip: ${JSON.stringify(nodeIp)} is neither one address nor one of IPv4 and one of IPv6`;
}

function findWrongOomScore({ oomScoreAdj: score = 0 }: AgentOptions): string | undefined {
  return score >= -1_000 && score <= 1_000
    ? undefined
    : `--oom-score-adj: ${score} is not from -1000 to 1000`;
}

function findWrongPodCidr({ podCidr }: AgentOptions): string | undefined {
  const problem = findNetworksProblem(podCidr);
  return problem === undefined ? undefined : `--pod-cidr: ${JSON.stringify(podCidr)}: ${problem}`;
}

function findWrongListener(flag: string, address: string): string | undefined {
  if (checkIp(address) === undefined) return undefined;
  return `${flag}: ${JSON.stringify(address)} is not an address, such as 127.0.0.1 or ::1`;
}

function findHalfAPair({ tlsCertFile: cert, tlsPrivateKeyFile: key }: AgentOptions): string | undefined {
  if ((cert === '') === (key === '')) return undefined;
  return cert === ''
    ? '--tls-private-key-file: needs --tls-cert-file, too'
    : '--tls-cert-file: needs --tls-private-key-file, too';
}

function findWrongCertFolder({ certDir }: AgentOptions): string | undefined {
  return certDir === '' || isAbsolute(certDir)
    ? undefined
    : `--cert-dir: ${JSON.stringify(certDir)} is not an absolute path`;
}

function findLonelyBootstrap({ bootstrapKubeconfig, kubeconfig }: AgentOptions): string | undefined {
  return bootstrapKubeconfig !== '' && kubeconfig === ''
    ? '--bootstrap-kubeconfig: needs --kubeconfig, too: the file that is written once there is a certificate'
    : undefined;
}

function findTwoServingPairs({ serverTlsBootstrap, tlsCertFile }: AgentOptions): string | undefined {
  return serverTlsBootstrap && tlsCertFile !== ''
    ? '--rotate-server-certificates (serverTLSBootstrap): does not go with --tls-cert-file: either the cluster signs the certificate of --port, or it is there'
    : undefined;
}

function findSharedPort({ port, readOnlyPort, healthzPort }: AgentOptions): string | undefined {
  const ports = { '--port': port, '--read-only-port': readOnlyPort ?? 0, '--healthz-port': healthzPort };
  const taken = new Map<number, string>();
  for (const [flag, each] of Object.entries(ports)) {
    const other = taken.get(each);
    if (each !== 0 && other !== undefined) return `${flag}: ${each} is the port of ${other}, too`;
    taken.set(each, flag);
  }
  return undefined;
}

function findWrongSuite({ tlsCipherSuites }: AgentOptions): string | undefined {
  const wrong = tlsCipherSuites.find((suite) => !CIPHER_SUITES.includes(suite));
  if (wrong === undefined) return undefined;
  return `--tls-cipher-suites: ${JSON.stringify(wrong)} is not one of ${CIPHER_SUITES.join(', ')}`;
}

function findWrongNameServer({ clusterDns }: AgentOptions): string | undefined {
  const wrong = clusterDns.find((address) => checkIp(address) !== undefined);
  return wrong === undefined
    ? undefined
    : `--cluster-dns: ${JSON.stringify(wrong)} is not an address, such as 10.96.0.10`;
}

function findWrongDomain({ clusterDomain }: AgentOptions): string | undefined {
  const rule = clusterDomain === '' ? undefined : checkSubdomain(clusterDomain);
  return rule && `--cluster-domain: ${JSON.stringify(clusterDomain)}: ${rule}`;
}

function findWrongSysctl({ allowedUnsafeSysctls }: AgentOptions): string | undefined {
  for (const pattern of allowedUnsafeSysctls) {
    const rule = checkSysctlPattern(pattern);
    if (rule !== undefined) return `--allowed-unsafe-sysctls: ${JSON.stringify(pattern)}: ${rule}`;
  }
  return undefined;
}

function findWrongUrl({ manifestUrl }: AgentOptions): string | undefined {
  if (manifestUrl === '') return undefined;
  const protocol = URL.canParse(manifestUrl) ? new URL(manifestUrl).protocol : '';
  if (protocol === 'http:' || protocol === 'https:') return undefined;
  return `--manifest-url: ${JSON.stringify(manifestUrl)} is no http:// or https:// URL`;
}

/** The message leaves values out, as they may be secrets. */
function findWrongHeaders({ manifestUrlHeader }: AgentOptions): string | undefined {
  for (const [name, values] of Object.entries(manifestUrlHeader)) {
    try {
      const headers = new Headers([[name, '']]);
      for (const value of values) headers.append(name, value);
    } catch (error) {
      const isName = messageOf(error).includes('header name');
      return `--manifest-url-header: ${JSON.stringify(name)} ${isName ? 'is no name of a header' : 'has a value that no header can have'}`;
    }
  }
  return undefined;
}

function findEndlessBatch({ kubeconfig, exitWhenDone }: AgentOptions): string | undefined {
  return kubeconfig !== '' && exitWhenDone
    ? '--exit-when-done: does not go with --kubeconfig: a cluster may bind further pods to the node at any time'
    : undefined;
}

function findWrongCgroupRoot({ cgroupRoot }: AgentOptions): string | undefined {
  const rule = checkCgroupRoot(cgroupRoot);
  return rule === undefined ? undefined : `--cgroup-root: ${JSON.stringify(cgroupRoot)} ${rule}`;
}
