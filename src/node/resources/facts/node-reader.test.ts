import { expect, it } from 'vitest';
import { type ServedNode } from '../../api/node/serve-node.js';
import { type CapacityFacts } from './node-capacity.js';
import { nodeReader } from './node-reader.js';
import { AllocatableResources } from './allocatable-resources.js';

const MI = 1024n ** 2n;

async function scene() {
  const state = {
    facts: {
      ...{ cores: 2, memoryBytes: 4096n * MI, maxPods: 110, podsPerCore: 10 },
      reserved: [{ cpu: '500m', memory: '1Gi' }],
    } as CapacityFacts,
    told: undefined as Readonly<Record<string, string>> | undefined,
    ips: ['192.0.2.7'],
  };
  const room = await AllocatableResources.open({
    ...{ read: async () => state.facts, readStorage: async () => undefined, ofNode: () => state.told },
  });
  const read = nodeReader({
    ...{ room, identity: { name: 'here', ips: () => state.ips }, problems: () => [], createdAtMs: 0 },
    runtime: { name: 'containerd', version: 'v2.1.0' },
  });
  return { room, state, read };
}
const amounts = ({ capacity, allocatable }: ServedNode) => ({ capacity, allocatable });

it('the node shows what it is and has', async () => {
  const { read } = await scene();
  expect(read()).toMatchObject({
    ...{ name: 'here', ips: ['192.0.2.7'], problems: [] },
    containerRuntimeVersion: 'containerd://2.1.0',
    capacity: { cpu: '2', memory: `${4096 * 1024}Ki`, pods: '20' },
    allocatable: { cpu: '1500m', memory: `${3072 * 1024}Ki`, pods: '20' },
  });
});

it('capacity and allocatable follow the machine together, by the same reading', async () => {
  const { room, state, read } = await scene();
  const before = amounts(read());
  state.facts = { ...state.facts, cores: 8, memoryBytes: 16384n * MI };
  expect(amounts(read())).toEqual(before);
  await room.refresh();
  expect(amounts(read())).toEqual({
    capacity: { cpu: '8', memory: `${16384 * 1024}Ki`, pods: '80' },
    allocatable: { cpu: '7500m', memory: `${15360 * 1024}Ki`, pods: '80' },
  });
});

it('memory in huge pages counts as capacity, and no less is there than the Node says pods may have', async () => {
  const { room, state, read } = await scene();
  state.facts = { ...state.facts, hugePages: new Map([[2n * MI, 1024n * MI]]) };
  await room.refresh();
  expect(amounts(read())).toMatchObject({
    capacity: { memory: `${4096 * 1024}Ki` },
    allocatable: { memory: `${2048 * 1024}Ki` },
  });
  state.told = { cpu: '4', memory: '8Gi', pods: '30' };
  const told = { cpu: '4', memory: `${8192 * 1024}Ki`, pods: '30' };
  expect(amounts(read())).toEqual({ capacity: told, allocatable: told });
});
