import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ObservedPod, type Runtime } from '../observed/runtime.js';
import { aPodStatus } from '#testing/builders.js';
import { podOf, setUpPleg } from '#support/harness/pleg-harness.js';
import { ITEMS_PER_SLICE } from './relist/pod-lists.js';

/** A node whose pods count accesses: in all, and between two turns of the event loop. */
function countingNode(podCount: number, containersEach: number) {
  let looksIntoPods = 0;
  let inSlice = new Set<string>();
  const slices: number[] = [];
  const endSlice = (): void => {
    if (inSlice.size > 0) slices.push(inSlice.size * containersEach);
    inSlice = new Set();
  };
  const counting = (plain: ObservedPod): ObservedPod => {
    return {
      ...plain,
      get containers() {
        looksIntoPods++;
        inSlice.add(plain.uid);
        return plain.containers;
      },
    };
  };
  const make = (i: number): ObservedPod =>
    podOf(
      `p${i}`,
      Object.fromEntries(
        Array.from({ length: containersEach }, (_, n) => [`p${i}-${n}`, 'running' as const]),
      ),
    );
  let pods = Array.from({ length: podCount }, (_, i) => counting(make(i)));
  const runtime: Runtime = {
    listPods: async () => pods,
    findPod: async (uid) => pods.find((pod) => pod.uid === uid),
    getPodStatus: async (pod) => aPodStatus(make(Number(pod.uid.slice(1)))),
  };
  const h = setUpPleg({
    runtime,
    queueCapacity: 100_000,
    yieldToLoop: nextTurn,
  });
  const relist = async (): Promise<{ readonly slices: number[]; readonly looks: number }> => {
    slices.length = 0;
    looksIntoPods = 0;
    inSlice.clear();
    let isOver = false;
    const endTurn = (): void => {
      endSlice();
      if (!isOver) setImmediate(endTurn);
    };
    setImmediate(endTurn);
    await h.pleg.relist();
    isOver = true;
    endSlice();
    return { slices: [...slices], looks: looksIntoPods };
  };
  return {
    ...h,
    relist,
    remake: () => (pods = pods.map((_, i) => counting(make(i)))),
    clear: () => (pods = []),
  };
}

describe('a relist over ten thousand containers', () => {
  it.each([
    ['of pods of three', 3_334, 3],
    ['of pods of one', 10_000, 1],
    ['of pods of a hundred', 100, 100],
  ])(
    'never works on more than a bounded number in one turn of the event loop, %s',
    async (_, count, each) => {
      const node = countingNode(count, each);
      // A pod is never split, and one that was inspected may come on top.
      const bound = ITEMS_PER_SLICE + 2 * each;
      const first = await node.relist();
      expect(first.slices.length).toBeGreaterThan(8);
      expect(Math.max(...first.slices)).toBeLessThanOrEqual(bound);
      node.remake();
      const changedObjects = await node.relist();
      expect(changedObjects.slices.length).toBeGreaterThan(8);
      expect(Math.max(...changedObjects.slices)).toBeLessThanOrEqual(bound);
      node.clear();
      const removal = await node.relist();
      expect(removal.slices.length).toBeGreaterThan(16);
      expect(Math.max(...removal.slices)).toBeLessThanOrEqual(bound / 2);
      expect(node.pleg.state().pods).toBe(0);
    },
  );

  it('does not read any pod that is the same object as before', async () => {
    const node = countingNode(3_334, 3);
    await node.relist();
    expect((await node.relist()).looks).toBe(0);
  });
});

describe('the work of a relist', () => {
  it('is linear in the number of pods: at the first relist, for changes, and for a mass removal', async () => {
    const looksEach = async (count: number): Promise<number[]> => {
      const node = countingNode(count, 1);
      const first = await node.relist();
      node.remake();
      const same = await node.relist();
      node.clear();
      const removal = await node.relist();
      return [first.looks / count, same.looks / count, removal.looks / count];
    };
    const small = await looksEach(100);
    const large = await looksEach(5_000);
    large.forEach((looks, i) => expect(looks).toBeLessThanOrEqual(small[i]! * 1.1));
    expect(Math.max(...large)).toBeLessThan(20);
  });

  it('leaves nothing waiting after a removal while every pod waits for inspection', async () => {
    const { runtime, pleg, clock } = setUpPleg();
    runtime.setPods(Array.from({ length: 5_000 }, (_, i) => podOf(`p${i}`, { [`c${i}`]: 'running' })));
    for (let i = 0; i < 5_000; i++) runtime.hangStatus(`p${i}`);
    const first = pleg.relist();
    await clock.settle();
    expect(pleg.state().inspections).toMatchObject({ due: 5_000, queued: 5_000 - 16 });
    runtime.setPods([]);
    await pleg.relist();
    await first;
    expect(pleg.state()).toMatchObject({
      pods: 0,
      inspections: { due: 0, queued: 0 },
      inspectionsInFlight: [],
    });
    expect(clock.pendingTimers).toBe(0);
  });
});
