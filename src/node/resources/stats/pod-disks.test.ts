import { beforeEach, describe, expect, it } from 'vitest';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aPodUsage } from '#support/builders/usage-builders.js';
import { type PodDiskUse, PodDisks } from './pod-disks.js';
import { type LookedPod } from './usage-looks.js';

const { signal } = new AbortController();
const aPod = (name: string): LookedPod => ({
  ...aPodUsage({ uid: name, name }),
  status: emptyPodStatus(name),
  containers: [],
});
const holding = (bytes: number): Omit<PodDiskUse, 'atMs'> => ({
  ...{ volumes: [], logs: new Map() },
  files: { pod: { bytes, inodes: 1 }, containers: new Map() },
});

describe('what pods have on disks', () => {
  let clock: FakeClock;
  /** Uids of pods that are measured, in order. */
  let begun: string[];
  /** What is measured of a pod at once; a measurement of another one waits for its turn. */
  let bytesOf: (uid: string) => number | undefined;
  let late: Map<string, (bytes: number) => void>;
  let disks: PodDisks;

  beforeEach(() => {
    clock = new FakeClock();
    begun = [];
    late = new Map();
    bytesOf = () => 1;
    disks = new PodDisks({
      clock,
      measure: async ({ uid }) => {
        begun.push(uid);
        const bytes = bytesOf(uid);
        if (bytes !== undefined) return Promise.resolve(holding(bytes));
        return new Promise((resolve) => late.set(uid, (each) => resolve(holding(each))));
      },
    });
  });

  /** The bytes and the age in seconds of each. */
  async function read(...names: string[]): Promise<Record<string, readonly [number, number]>> {
    const found = await disks.measure(names.map(aPod), signal);
    return Object.fromEntries(
      [...found].map(([uid, { files, atMs }]) => [uid, [files.pod.bytes, (clock.now() - atMs) / 1_000]]),
    );
  }

  it('is measured whenever somebody asks', async () => {
    expect(await read('a', 'b')).toEqual({ a: [1, 0], b: [1, 0] });
    bytesOf = () => 2;
    await clock.advance(5_000);
    expect(await read('b')).toEqual({ b: [2, 0] });
    expect(clock.pendingTimers).toBe(0);
  });

  it('has its last numbers with their time while a volume hangs, which costs the others two seconds once', async () => {
    await read('a', 'hung', 'c');
    await clock.advance(10_000);
    bytesOf = (uid) => (uid === 'hung' ? undefined : 2);
    const reading = read('a', 'hung', 'c', 'new');
    await clock.advance(2_000);
    expect(await reading).toEqual({ a: [2, 2], hung: [1, 12], c: [2, 2], new: [2, 2] });
    expect(await read('a', 'hung')).toEqual({ a: [2, 0], hung: [1, 12] });
    expect(begun.filter((uid) => uid === 'hung')).toHaveLength(2);
    late.get('hung')!(9);
    await clock.settle();
    bytesOf = () => 3;
    expect(await read('hung')).toEqual({ hung: [3, 0] });
  });

  it('waits ten seconds for all, and begins with what was not measured for the longest time', async () => {
    bytesOf = () => undefined;
    const names = Array.from({ length: 100 }, (_, at) => `p${at}`);
    const reading = read(...names);
    await clock.advance(10_000);
    expect(await reading).toEqual({});
    expect(begun).toEqual(names.slice(0, 40));
    bytesOf = () => 1;
    await read(...names);
    expect(begun.slice(40)).toEqual(names.slice(40));
  });

  it('counts a failed measurement as none', async () => {
    await read('a');
    bytesOf = () => {
      throw new Error('no such folder');
    };
    await clock.advance(1_000);
    expect(await read('a')).toEqual({ a: [1, 1] });
  });

  it('ends with the signal', async () => {
    bytesOf = () => undefined;
    const ending = new AbortController();
    const reading = disks.measure([aPod('a')], ending.signal);
    await clock.settle();
    ending.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });
});
