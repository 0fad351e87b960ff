import { availableParallelism, cpus, totalmem } from 'node:os';
import type { ResourceFacts } from '../../cluster/node/compute-resources.js';
import { parseThresholds } from '../../model/eviction-thresholds.js';
import { type AgentOptions } from '../agent-options.js';
import { findDiskBytes } from './downward-facts.js';
import { type CapacityFacts } from './node-capacity.js';
import { readHugePages } from './read-huge-pages.js';

/** The embedded runtime, which is this process' child, by its own word. */
const OWN_RUNTIME = 'podloop-embedded';

/** What was said of what pods may have, and by which runtime they have it. */
export interface CapacityOptions extends Pick<
  AgentOptions,
  'rootDir' | 'maxPods' | 'podsPerCore' | 'systemReserved' | 'kubeReserved' | 'evictionHard'
> {
  /** Of the runtime, by its own word. */
  readonly runtimeName: string;
}

/** What the machine has now and what is kept back from pods, for the agent itself and for its Node alike. */
export async function readCapacityFacts(options: CapacityOptions): Promise<CapacityFacts & ResourceFacts> {
  return { ...(await readKernelFacts(options)), storageBytes: await findDiskBytes(options.rootDir) };
}

/** As {@link readCapacityFacts}, but for the disk, which may not answer: the kernel tells the rest by itself. */
export async function readKernelFacts(
  options: Omit<CapacityOptions, 'rootDir'>,
): Promise<Omit<CapacityFacts & ResourceFacts, 'storageBytes'>> {
  const { maxPods, podsPerCore, systemReserved, kubeReserved, evictionHard, runtimeName } = options;
  return {
    // What keeps this process to some cores keeps its children to them, and nobody else's.
    cores: runtimeName === OWN_RUNTIME ? availableParallelism() : cpus().length,
    memoryBytes: BigInt(totalmem()),
    hugePages: await readHugePages(),
    ...{ maxPods, podsPerCore, reserved: [systemReserved, kubeReserved] },
    thresholds: parseThresholds(evictionHard),
  };
}
