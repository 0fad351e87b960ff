import { expect, it } from 'vitest';
import { type CapacityFacts } from './node-capacity.js';
import { AllocatableResources } from './allocatable-resources.js';

const MI = 1024n ** 2n;
const PAGES = 2n * MI;

async function scene() {
  const state = {
    facts: {
      ...{ cores: 2, memoryBytes: 4096n * MI, storageBytes: 1000n, maxPods: 110, podsPerCore: 0 },
      reserved: [],
    } as CapacityFacts,
    told: undefined as Readonly<Record<string, string>> | undefined,
    changes: 0,
  };
  const room = await AllocatableResources.open({
    read: async () => state.facts,
    readStorage: async () => state.facts.storageBytes,
    ofNode: () => state.told,
  });
  await room.refreshStorage();
  room.onChange(() => state.changes++);
  return { room, state };
}
const withPages = (facts: CapacityFacts): CapacityFacts => ({
  ...facts,
  hugePages: new Map([[PAGES, 512n * PAGES]]),
});

it('what pods may use is what the machine has now', async () => {
  const { room, state } = await scene();
  await room.refresh();
  expect(state.changes).toBe(0);
  state.facts = withPages(state.facts);
  await room.refresh();
  expect(room.current().others.get('hugepages-2Mi')).toBe(1024n * MI);
  expect(room.current().memoryBytes).toBe(3072n * MI);
  expect(state.changes).toBe(1);
});

it('what pods may use is all that the Node says, by which the scheduler goes', async () => {
  const { room, state } = await scene();
  const told = { cpu: '2', memory: '3Gi', pods: '110', 'ephemeral-storage': '1000', 'hugepages-2Mi': '1Gi' };
  state.told = { ...told, 'example.com/gpu': '2' };
  room.look();
  expect(state.changes).toBe(1);
  expect([...room.current().others]).toEqual([
    ...[
      ['ephemeral-storage', 1000n],
      ['hugepages-2Mi', 1024n * MI],
      ['example.com/gpu', 2n],
    ],
  ]);
  // What the machine has got since the last report counts as well.
  expect(room.current().memoryBytes).toBe(4096n * MI);
  state.told = { ...told, cpu: '2500m', pods: '200' };
  room.look();
  expect(room.current()).toMatchObject({ cpuMilli: 2500n, pods: 200 });
  expect(state.changes).toBe(2);
});

it('a disk that does not answer for a moment is not gone', async () => {
  const { room, state } = await scene();
  state.facts = { ...state.facts, storageBytes: undefined };
  await room.refreshStorage();
  expect(room.current().others.get('ephemeral-storage')).toBe(1000n);
});

it('a disk that does not answer holds up neither the start nor other readings, and is there once it does', async () => {
  let answer: (bytes: bigint) => void = () => undefined;
  let facts: CapacityFacts = {
    ...{ cores: 2, memoryBytes: 4096n * MI, maxPods: 110, podsPerCore: 0 },
    reserved: [],
  };
  const room = await AllocatableResources.open({
    read: async () => facts,
    readStorage: async () => new Promise((resolve) => (answer = resolve)),
    ofNode: () => undefined,
  });
  let changes = 0;
  room.onChange(() => changes++);
  const reading = room.refreshStorage();
  facts = withPages(facts);
  await room.refresh();
  expect([...room.current().others.keys()]).toEqual(['hugepages-2Mi']);
  expect(changes).toBe(1);
  answer(1000n);
  await reading;
  expect(room.current().others.get('ephemeral-storage')).toBe(1000n);
  expect(room.whole().others.get('ephemeral-storage')).toBe(1000n);
  expect(changes).toBe(2);
});
