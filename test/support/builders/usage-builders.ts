import { type ContainerUsage, type PodUsage } from '#watch';
import { type NodeUsage } from '../../../src/node/resources/stats/node-usage.js';

const AT_MS = 1_700_000_000_000;

/** What a node uses: 100 s of CPU time, and 6 of its 16 GiB. */
export const NODE_USAGE: NodeUsage = {
  atMs: AT_MS,
  cpuTotalNs: 100e9,
  memory: {
    capacityBytes: 16 * 2 ** 30,
    usageBytes: 8 * 2 ** 30,
    workingSetBytes: 6 * 2 ** 30,
    availableBytes: 10 * 2 ** 30,
    rssBytes: 2 ** 30,
    cacheBytes: 2 ** 31,
    mappedBytes: 2 ** 20,
    pageFaults: 1000,
    majorPageFaults: 10,
    oomKills: 0,
    swapBytes: 2 ** 30,
    swapUsageBytes: 2 ** 20,
  },
  interfaces: [{ name: 'eth0', rxBytes: 10, rxErrors: 0, txBytes: 20, txErrors: 0 }],
  tasks: 300,
  taskLimit: 32_768,
  startedAtMs: AT_MS - 3_600_000,
  pressure: {},
};

/** The container `main`, which has used a second and a half of CPU time and uses a MiB. */
export function aContainerUsage(fields: Partial<ContainerUsage> = {}): ContainerUsage {
  const { name = 'main', attempt = 0 } = fields;
  return {
    id: `uid-web-${name}-${attempt}`,
    name,
    attempt,
    cpu: { atMs: AT_MS, totalNs: 1.5e9, nanoCores: 2e6, pressure: undefined },
    memory: {
      atMs: AT_MS,
      workingSetBytes: 2 ** 20,
      usageBytes: 2 ** 21,
      availableBytes: undefined,
      rssBytes: 2 ** 19,
      pageFaults: 12,
      majorPageFaults: 1,
      pressure: undefined,
    },
    swap: undefined,
    io: undefined,
    writableLayer: undefined,
    ...fields,
  };
}

/** The pod `default/web`, whose usage is that of its container `main`. */
export function aPodUsage(fields: Partial<PodUsage> = {}): PodUsage {
  const { name = 'web', containers = [aContainerUsage()] } = fields;
  const { cpu, memory } = aContainerUsage();
  const uid = fields.uid ?? `uid-${name}`;
  return {
    ...{ uid, name, namespace: 'default', sandboxId: `${uid}-sandbox-0`, attempt: 0 },
    ...{ cpu, memory, io: undefined, network: undefined, processes: 2 },
    ...fields,
    containers,
  };
}
