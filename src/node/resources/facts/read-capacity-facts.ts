import { availableParallelism, cpus, totalmem } from 'node:os';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResourceFacts } from '#cluster';
import { parseThresholds } from '#kube/node/eviction-thresholds.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';
import { findDiskBytes } from './downward-facts.js';
import { type MachineAmounts } from '../cgroups/allocatable-limits.js';
import { type CapacityFacts } from './node-capacity.js';
import { computeReserved } from './reserved-amounts.js';
import { parseHugepageFolder } from '../../runtime/config/huge-pages.js';

/** The options about what pods may have. */
export type CapacityOptions = Pick<
  AgentOptions,
  | 'rootDir'
  | 'maxPods'
  | 'podsPerCore'
  | 'systemReserved'
  | 'kubeReserved'
  | 'reservedSystemCpus'
  | 'evictionHard'
>;

/**
 * What the machine has now and what is reserved, for the agent itself and for its Node.
 *
 * `runtimeName` is the runtime's name for itself.
 */
export async function readCapacityFacts(
  options: CapacityOptions,
  runtimeName: string,
): Promise<CapacityFacts & ResourceFacts> {
  return {
    ...(await readKernelFacts(options, runtimeName)),
    storageBytes: await findDiskBytes(options.rootDir),
  };
}

/**
 * Like {@link readCapacityFacts}, but without the disk, which may not answer: the rest comes from the kernel.
 */
export async function readKernelFacts(
  options: Omit<CapacityOptions, 'rootDir'>,
  runtimeName: string,
): Promise<Omit<CapacityFacts & ResourceFacts, 'storageBytes'>> {
  const { maxPods, podsPerCore, evictionHard } = options;
  const { system, kube } = computeReserved(options);
  return {
    cores: countCores(runtimeName),
    memoryBytes: BigInt(totalmem()),
    hugePages: await readHugePages(),
    ...{ maxPods, podsPerCore, reserved: [system, kube] },
    thresholds: parseThresholds(evictionHard),
  };
}

/** What the machine has of what groups can be limited to. */
export async function readMachineAmounts(runtimeName: string): Promise<MachineAmounts> {
  const files = await Promise.all(PID_LIMITS.map(async (file) => readFile(file, 'latin1').catch(() => '')));
  const limits = files.map((text) => Number(text.trim())).filter((limit) => limit > 0);
  return {
    cores: countCores(runtimeName),
    memoryBytes: BigInt(totalmem()),
    pids: BigInt(Math.min(MAX_PIDS, ...limits)),
  };
}

/** Limiting this process to some cores also limits its children, such as the embedded runtime, but nothing else. */
function countCores(runtimeName: string): number {
  return runtimeName === EMBEDDED_RUNTIME_NAME ? availableParallelism() : cpus().length;
}

/** Whichever is lower. Source: proc_sys_kernel(5). */
const PID_LIMITS = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'];
const MAX_PIDS = 4_194_304;
const HUGE_PAGES = '/sys/kernel/mm/hugepages';

/** Bytes in huge pages by their size in bytes; 0 for a size without pages now. */
async function readHugePages(): Promise<ReadonlyMap<bigint, bigint>> {
  const folders = await readdir(HUGE_PAGES).catch(() => []);
  const sizes = await Promise.all(
    folders.map(async (folder): Promise<readonly [bigint, bigint] | undefined> => {
      const size = parseHugepageFolder(folder);
      const count = (
        await readFile(join(HUGE_PAGES, folder, 'nr_hugepages'), 'latin1').catch(() => '')
      ).trim();
      return size === undefined || !/^\d+$/.test(count) ? undefined : [size, BigInt(count) * size];
    }),
  );
  return new Map(
    sizes
      .flatMap((each) => (each === undefined ? [] : [each]))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
