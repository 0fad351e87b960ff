import { readFile } from 'node:fs/promises';
import { arch, release } from 'node:os';
import type { MachineInfo } from '../../cluster/node/node-ports.js';
import { readMachineFacts } from '../../stats/machine-facts.js';

/** Where it is read from, besides what names the machine. */
export interface MachineFiles {
  /** The first that is there says which distribution this is; see os-release(5). */
  readonly osRelease: readonly string[];
  readonly meminfo: string;
}

const FILES: MachineFiles = {
  osRelease: ['/etc/os-release', '/usr/lib/os-release'],
  meminfo: '/proc/meminfo',
};

/** What Go calls the architectures that Node names otherwise; images and node selectors go by Go's names. */
const GO_NAMES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  ppc64: 'ppc64le',
  mipsel: 'mipsle',
};

/** What a Node tells of its machine. Never rejects: what cannot be read is empty. */
export async function readMachineInfo({ osRelease, meminfo }: MachineFiles = FILES): Promise<MachineInfo> {
  const read = async (path: string): Promise<string> => await readFile(path, 'utf8').catch(() => '');
  const [facts, memory, ...releases] = await Promise.all([
    readMachineFacts(),
    read(meminfo),
    ...osRelease.map(read),
  ]);
  const swapKib = /^SwapTotal: +(\d+) kB$/m.exec(memory)?.[1] ?? '0';
  return {
    machineID: facts.machineId,
    // As a kubelet where the firmware has none.
    systemUUID: facts.systemUuid === '' ? facts.machineId : facts.systemUuid,
    bootID: facts.bootId,
    kernelVersion: release(),
    osImage: findOsImage(releases.find((text) => text !== '') ?? ''),
    operatingSystem: 'linux',
    architecture: ownArchitecture(),
    ...(swapKib === '0' ? {} : { swap: { capacity: Number(swapKib) * 1024 } }),
  };
}

/** This machine's, as Go calls it. */
export function ownArchitecture(): string {
  return GO_NAMES[arch()] ?? arch();
}

/** PRETTY_NAME of an os-release file, without its quotes; `Linux` when it has none. Pure. */
export function findOsImage(osRelease: string): string {
  const written = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim() ?? '';
  const quoted = /^(["'])(.*)\1$/.exec(written)?.[2] ?? written;
  return quoted.replace(/\\(.)/g, '$1') || 'Linux';
}
