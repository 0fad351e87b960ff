import { findBytes } from '#base/proc/proc-text.js';
import { readFile } from 'node:fs/promises';
import { arch, release } from 'node:os';
import type { MachineInfo } from '#cluster';
import { readMachineFacts } from '../../resources/stats/machine-stats.js';

/** The files to read, besides those that identify the machine. */
export interface MachineFiles {
  /** The first existing one describes the distribution; see os-release(5). */
  readonly osRelease: readonly string[];
  readonly meminfo: string;
  /** Maps the users of this process to those of the machine; see user_namespaces(7). */
  readonly uidMap: string;
}

const FILES: MachineFiles = {
  osRelease: ['/etc/os-release', '/usr/lib/os-release'],
  meminfo: '/proc/meminfo',
  uidMap: '/proc/self/uid_map',
};

/** Go's names of architectures that Node names differently; images and node selectors use Go's names. */
const GO_NAMES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  ppc64: 'ppc64le',
  mipsel: 'mipsle',
};

/** A Node's information about its machine. Never rejects: unreadable values are empty. */
export async function readMachineInfo(files: MachineFiles = FILES): Promise<MachineInfo> {
  const { osRelease, meminfo, uidMap } = files;
  const read = async (path: string): Promise<string> => await readFile(path, 'utf8').catch(() => '');
  const [facts, memory, users, ...releases] = await Promise.all([
    readMachineFacts(),
    read(meminfo),
    readFile(uidMap, 'utf8').catch(() => undefined),
    ...osRelease.map(read),
  ]);
  const swapBytes = findBytes(memory, 'SwapTotal') ?? 0;
  return {
    machineID: facts.machineId,
    // Like a kubelet when the firmware has none.
    systemUUID: facts.systemUuid === '' ? facts.machineId : facts.systemUuid,
    bootID: facts.bootId,
    kernelVersion: release(),
    osImage: findOsImage(releases.find((text) => text !== '') ?? ''),
    operatingSystem: 'linux',
    architecture: ownArchitecture(),
    runningInUserNamespace: users !== undefined && isUserNamespace(users),
    ...(swapBytes === 0 ? {} : { swap: { capacity: swapBytes } }),
  };
}

/**
 * Whether a uid_map belongs to a user namespace other than the machine's own, which maps each user to itself.
 * Pure.
 */
export function isUserNamespace(uidMap: string): boolean {
  const [first = ''] = uidMap.split('\n');
  // The map of a new namespace is not written yet.
  if (first === '') return true;
  const numbers = first.trim().split(/\s+/).map(Number);
  if (numbers.length !== 3 || numbers.some(Number.isNaN)) return false;
  const [inside, outside, count] = numbers;
  return inside !== 0 || outside !== 0 || count !== 0xff_ff_ff_ff;
}

/** This machine's architecture by Go's name. */
export function ownArchitecture(): string {
  return GO_NAMES[arch()] ?? arch();
}

/** PRETTY_NAME of an os-release file, without its quotes; `Linux` when it has none. Pure. */
export function findOsImage(osRelease: string): string {
  const written = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim() ?? '';
  const quoted = /^(["'])(.*)\1$/.exec(written)?.[2] ?? written;
  return quoted.replace(/\\(.)/g, '$1') || 'Linux';
}
