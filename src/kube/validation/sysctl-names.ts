/**
 * Which kernel settings a pod may change for itself, by Kubernetes' rules. Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/
 *
 * @module
 */

/** The namespace of a setting: each pod has its own, unless it shares the node's. */
export type SysctlNamespace = 'ipc' | 'net' | 'user';

/** Settings that cannot affect other pods. */
const SAFE: Readonly<Record<string, SysctlNamespace>> = {
  'kernel.shm_rmid_forced': 'ipc',
  'net.ipv4.ip_local_port_range': 'net',
  'net.ipv4.tcp_syncookies': 'net',
  'net.ipv4.ping_group_range': 'net',
  'net.ipv4.ip_unprivileged_port_start': 'net',
  'net.ipv4.ip_local_reserved_ports': 'net',
  'net.ipv4.tcp_keepalive_time': 'net',
  'net.ipv4.tcp_fin_timeout': 'net',
  'net.ipv4.tcp_keepalive_intvl': 'net',
  'net.ipv4.tcp_keepalive_probes': 'net',
  'net.ipv4.tcp_rmem': 'net',
  'net.ipv4.tcp_wmem': 'net',
};

const PREFIXES: readonly (readonly [string, SysctlNamespace])[] = [
  ['kernel.shm', 'ipc'],
  ['kernel.msg', 'ipc'],
  ['fs.mqueue.', 'ipc'],
  ['net.', 'net'],
  ['user.', 'user'],
];

const SEGMENT = '[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?';
const PATTERN = new RegExp(`^(?:${SEGMENT}[./])*(?:${SEGMENT}\\*?|\\*)$`);
const LONGEST = 253;

/** Converts the separator to dots: the first one of `.` and `/` in the name is its separator. */
export function normalizeSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (sign) => (sign === '/' ? '.' : '/'));
}

/** Why a pod may not set it, in the kubelet's words; undefined if it may. */
export function findSysctlProblem(
  name: string,
  pod: { readonly hostNetwork?: boolean; readonly hostIPC?: boolean; readonly hostUsers?: boolean },
  allowedUnsafe: readonly string[],
): string | undefined {
  const sysctl = normalizeSysctl(name);
  const namespace = findAllowed(sysctl, allowedUnsafe);
  if (namespace === undefined) return `${JSON.stringify(sysctl)} not allowlisted`;
  const isShared = {
    net: pod.hostNetwork === true,
    ipc: pod.hostIPC === true,
    // Pods have the users of the node by default.
    user: pod.hostUsers !== false,
  };
  return isShared[namespace]
    ? `${JSON.stringify(sysctl)} not allowed with host ${namespace} enabled`
    : undefined;
}

/**
 * Why a pod that shares a namespace with the node may not set this; undefined if it may, or if the setting
 * has no namespace.
 */
export function findSharedSysctl(
  name: string,
  pod: { readonly hostNetwork?: boolean | undefined; readonly hostIPC?: boolean | undefined },
): string | undefined {
  const namespace = findNamespace(normalizeSysctl(name));
  if (namespace === 'net' && pod.hostNetwork === true)
    return 'would be set for the node, as hostNetwork is true';
  if (namespace === 'ipc' && pod.hostIPC === true) return 'would be set for the node, as hostIPC is true';
  return undefined;
}

/** What is wrong with a pattern of allowed sysctls; undefined if it is valid. */
export function checkSysctlPattern(pattern: string): string | undefined {
  if (pattern.length > LONGEST || !PATTERN.test(pattern)) {
    return 'use a name such as net.core.somaxconn, or net.core.* for all that begin so';
  }
  const start = normalizeSysctl(pattern).replace(/\*$/, '');
  return findNamespace(start) === undefined
    ? 'is not known to be of a namespace, and would be the whole node’s'
    : undefined;
}

function findAllowed(sysctl: string, allowedUnsafe: readonly string[]): SysctlNamespace | undefined {
  const isMeant = allowedUnsafe.map(normalizeSysctl).some((pattern) => {
    return pattern.endsWith('*') ? sysctl.startsWith(pattern.slice(0, -1)) : sysctl === pattern;
  });
  if (Object.hasOwn(SAFE, sysctl)) return SAFE[sysctl];
  return isMeant ? findNamespace(sysctl) : undefined;
}

function findNamespace(sysctl: string): SysctlNamespace | undefined {
  if (sysctl === 'kernel.sem') return 'ipc';
  return PREFIXES.find(([prefix]) => sysctl.startsWith(prefix))?.[1];
}
