import { availableParallelism, totalmem } from 'node:os';
import type { ResourceFacts } from '../../cluster/node/compute-resources.js';
import { parseThresholds } from '../../model/eviction-thresholds.js';
import { type AgentOptions } from '../agent-options.js';
import { findDiskBytes } from './downward-facts.js';
import { type CapacityFacts } from './node-capacity.js';
import { readHugePages } from './read-huge-pages.js';

/** What was said of what pods may have. */
export type CapacityOptions = Pick<
  AgentOptions,
  'rootDir' | 'maxPods' | 'podsPerCore' | 'systemReserved' | 'kubeReserved' | 'evictionHard'
>;

/** What the machine has now and what is kept back from pods, for the agent itself and for its Node alike. */
export async function readCapacityFacts(options: CapacityOptions): Promise<CapacityFacts & ResourceFacts> {
  const { rootDir, maxPods, podsPerCore, systemReserved, kubeReserved, evictionHard } = options;
  return {
    cores: availableParallelism(),
    memoryBytes: BigInt(totalmem()),
    storageBytes: await findDiskBytes(rootDir),
    hugePages: await readHugePages(),
    ...{ maxPods, podsPerCore, reserved: [systemReserved, kubeReserved] },
    thresholds: parseThresholds(evictionHard),
  };
}
