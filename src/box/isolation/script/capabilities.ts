import { findCapabilities, hasCapability } from '#base/proc/proc-text.js';
import { readFile } from 'node:fs/promises';
import { type Capability } from '#watch/messages';
import { invalidArgument, unimplemented } from '../../rpc-error.js';

/** All that Linux has, by their numbers; see capabilities(7). */
const NAMES = [
  ...['chown', 'dac_override', 'dac_read_search', 'fowner', 'fsetid', 'kill', 'setgid', 'setuid', 'setpcap'],
  ...[
    'linux_immutable',
    'net_bind_service',
    'net_broadcast',
    'net_admin',
    'net_raw',
    'ipc_lock',
    'ipc_owner',
  ],
  ...[
    'sys_module',
    'sys_rawio',
    'sys_chroot',
    'sys_ptrace',
    'sys_pacct',
    'sys_admin',
    'sys_boot',
    'sys_nice',
  ],
  ...[
    'sys_resource',
    'sys_time',
    'sys_tty_config',
    'mknod',
    'lease',
    'audit_write',
    'audit_control',
    'setfcap',
  ],
  ...['mac_override', 'mac_admin', 'syslog', 'wake_alarm', 'block_suspend', 'audit_read', 'perfmon', 'bpf'],
  'checkpoint_restore',
];

/**
 * What a container has that asks for nothing: what other runtimes give, but not `mknod`: nobody needs it, as a
 * device that a container makes cannot be opened.
 */
export const DEFAULT_CAPABILITIES: readonly string[] = [
  ...['chown', 'dac_override', 'fsetid', 'fowner', 'net_raw', 'setgid', 'setuid', 'setfcap', 'setpcap'],
  ...['net_bind_service', 'sys_chroot', 'kill', 'audit_write'],
];

/** What a container's program may do as root (`bounding`), and what it keeps as anybody (`ambient`). */
export interface ContainerCapabilities {
  readonly bounding: readonly string[];
  readonly ambient: readonly string[];
}

/**
 * Adds and drops as CRI's Capability says, names with or without `CAP_`, `ALL` for all. Throws INVALID_ARGUMENT for
 * a name that does not exist, and UNIMPLEMENTED for one that the runtime does not have itself.
 *
 * @param available what the runtime has.
 */
export function computeCapabilities(
  wanted: Capability | undefined,
  privileged: boolean,
  available: readonly string[],
): ContainerCapabilities {
  if (privileged) return { bounding: available, ambient: [] };
  const { addCapabilities = [], dropCapabilities = [], addAmbientCapabilities = [] } = wanted ?? {};
  const add = addCapabilities.map(toName);
  const drop = dropCapabilities.map(toName);
  const ambient = addAmbientCapabilities.flatMap((name) =>
    toName(name) === ALL ? available : [toName(name)],
  );
  const named = [...add, ...ambient].filter((name) => name !== ALL);
  const missing = named.find((name) => !available.includes(name));
  if (missing !== undefined) {
    throw unimplemented(`capability CAP_${missing.toUpperCase()}: the runtime does not have it itself`);
  }
  const base = new Set(drop.includes(ALL) ? [] : add.includes(ALL) ? available : DEFAULT_CAPABILITIES);
  for (const name of named) base.add(name);
  for (const name of drop) if (!ambient.includes(name)) base.delete(name);
  return { bounding: available.filter((name) => base.has(name)), ambient };
}

/** The capabilities that this process can hand on. */
export async function readOwnCapabilities(): Promise<readonly string[]> {
  const status = await readFile('/proc/self/status', 'latin1');
  const mask = findCapabilities(status, 'CapBnd') & findCapabilities(status, 'CapPrm');
  return NAMES.filter((_, number) => hasCapability(mask, BigInt(number)));
}

const ALL = 'all';

function toName(text: string): string {
  const name = text.toLowerCase().replace(/^cap_/, '');
  if (name !== ALL && !NAMES.includes(name)) throw invalidArgument(`unknown capability "${text}"`);
  return name;
}
