import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { type Family, type Labels } from './prom-text.js';
import { type NodeMemory } from './node-usage.js';

/** Facts about a machine that do not change while it runs. */
export interface MachineFacts {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  /** Logical ones. */
  readonly cores: number;
  /** Undefined where the kernel does not report it, as on some virtual machines. */
  readonly physicalCores: number | undefined;
  readonly sockets: number | undefined;
}

/** Reads them. Never rejects: unreadable values are empty or undefined. */
export async function readMachineFacts(): Promise<MachineFacts> {
  const read = async (path: string): Promise<string> => (await readFile(path, 'utf8').catch(() => '')).trim();
  const [machineId, oldMachineId, systemUuid, bootId, cpuinfo] = await Promise.all(
    [
      '/etc/machine-id',
      '/var/lib/dbus/machine-id',
      '/sys/class/dmi/id/product_uuid',
      '/proc/sys/kernel/random/boot_id',
      '/proc/cpuinfo',
    ].map(read),
  );
  return {
    machineId: machineId === '' ? oldMachineId! : machineId!,
    systemUuid: systemUuid!,
    bootId: bootId!,
    cores: countProcessors(cpuinfo!) ?? cpus().length,
    ...countSockets(cpuinfo!),
  };
}

/** The metrics of the machine, with cAdvisor's names. */
export function machineMetrics(
  facts: MachineFacts,
  memory: NodeMemory | undefined,
): { readonly family: Family; readonly labels: Labels; readonly value: number | undefined }[] {
  const labels = { boot_id: facts.bootId, machine_id: facts.machineId, system_uuid: facts.systemUuid };
  const rows: readonly [name: string, help: string, value: number | undefined][] = [
    ['machine_cpu_cores', 'Logical CPU cores.', facts.cores],
    ['machine_cpu_physical_cores', 'Physical CPU cores.', facts.physicalCores],
    ['machine_cpu_sockets', 'CPU sockets.', facts.sockets],
    ['machine_memory_bytes', 'Memory that is installed, in bytes.', memory?.capacityBytes],
    ['machine_swap_bytes', 'Swap that there is, in bytes.', memory?.swapBytes],
  ];
  return rows.map(([name, help, value]) => ({ family: { name, help, type: 'gauge' }, labels, value }));
}

/**
 * The machine's processors, even if this process may use only some of them. Undefined if the text lists none.
 */
export function countProcessors(cpuinfo: string): number | undefined {
  return cpuinfo.match(/^processor\s*: \d+$/gm)?.length;
}

/** Cores are counted per socket. */
export function countSockets(cpuinfo: string): Pick<MachineFacts, 'physicalCores' | 'sockets'> {
  const sockets = new Set<string>();
  const cores = new Set<string>();
  for (const block of cpuinfo.split('\n\n')) {
    const socket = /^physical id\s*: (\d+)$/m.exec(block)?.[1];
    const core = /^core id\s*: (\d+)$/m.exec(block)?.[1];
    if (socket === undefined || core === undefined) continue;
    sockets.add(socket);
    cores.add(`${socket} ${core}`);
  }
  return {
    physicalCores: cores.size === 0 ? undefined : cores.size,
    sockets: sockets.size === 0 ? undefined : sockets.size,
  };
}
