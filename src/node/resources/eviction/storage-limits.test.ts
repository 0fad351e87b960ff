import { beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUse } from '#kube/pod/pod-use.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { StorageLimits } from './storage-limits.js';

const never = new AbortController().signal;

let clock: FakeClock;
let logger: LogRecorder;
let pods: NodePod[];
let uses: Map<string, PodUse>;
let evicted: string[];
let looks: number;
let problem: Error | undefined;
let hasImageDisk: boolean;
let limits: StorageLimits;

beforeEach(() => {
  clock = new FakeClock();
  logger = new LogRecorder();
  pods = [];
  uses = new Map();
  evicted = [];
  looks = 0;
  problem = undefined;
  hasImageDisk = false;
  limits = new StorageLimits({
    ...{ clock, logger, pods: () => pods, hasImageDisk: async () => Promise.resolve(hasImageDisk) },
    measurePods: async () => {
      looks++;
      if (problem !== undefined) throw problem;
      return Promise.resolve(uses);
    },
    evict: ({ metadata: { name } }, { signal, message }) => evicted.push(`${name} ${signal} ${message}`),
  });
});

/** A pod with one container for each limit; undefined for one without. */
function add(name: string, written: readonly (string | undefined)[], use: Partial<PodUse>): void {
  const containers = written.map((limit, index) => ({
    ...{ name: `c${index}`, image: 'i' },
    ...(limit !== undefined && { resources: { limits: { 'ephemeral-storage': limit } } }),
  }));
  pods.push(aNodePod({ name, spec: { containers } }));
  uses.set(`uid-${name}`, { volumeBytes: 0, containers: [], ...use });
}

describe('limits of ephemeral storage', () => {
  it('of all containers together hold for logs, layers and volumes of the pod', async () => {
    const containers = [{ name: 'c0', writtenBytes: 300, logBytes: 200 }];
    add('within', ['1k', undefined], { containers, volumeBytes: 500 });
    add('over', ['1k', undefined], { containers, volumeBytes: 501 });
    await limits.check(never);
    expect(evicted).toEqual([
      'over ephemeralpodfs.limit Pod ephemeral local storage usage exceeds the total limit of containers 1k. ',
    ]);
  });

  it('hold for other files of the pod and of its containers', async () => {
    const containers = [{ name: 'c0', writtenBytes: 300, fileBytes: 200 }];
    add('within', ['1k', undefined], { containers, fileBytes: 500 });
    add('over', ['1k', undefined], { containers, fileBytes: 501 });
    add('own', ['1k', '1k'], { containers: [{ name: 'c0', logBytes: 1, fileBytes: 1_000 }] });
    await limits.check(never);
    hasImageDisk = true;
    await limits.check(never);
    expect(evicted.map((each) => each.slice(0, 32))).toEqual([
      'over ephemeralpodfs.limit Pod ep',
      'own ephemeralcontainerfs.limit C',
      'over ephemeralpodfs.limit Pod ep',
      'own ephemeralcontainerfs.limit C',
    ]);
  });

  it('hold for each container by itself', async () => {
    const containers = [
      { name: 'c0', writtenBytes: 60, logBytes: 40 },
      { name: 'c1', writtenBytes: 61, logBytes: 40 },
    ];
    add('web', ['100', '100', '1Ki'], { containers });
    await limits.check(never);
    expect(evicted).toEqual([
      'web ephemeralcontainerfs.limit Container c1 exceeded its local ephemeral storage limit "100". ',
    ]);
    hasImageDisk = true;
    await limits.check(never);
    expect(evicted).toHaveLength(1);
  });

  it('come to what runs at the same time at most, and none is 0', async () => {
    const limited = (name: string, limit: string, more = {}) => ({
      ...{ name, image: 'i', resources: { limits: { 'ephemeral-storage': limit } } },
      ...more,
    });
    const containers = [limited('main', '100'), limited('none', '0')];
    const sidecar = limited('side', '50', { restartPolicy: 'Always' });
    const initContainers = [limited('first', '40'), sidecar];
    const used = (main: number, none: number, side: number, first = 0) =>
      Object.entries({ main, none, side, first }).map(([name, writtenBytes]) => ({ name, writtenBytes }));
    for (const [name, uses_] of [
      ['within', used(90, 10, 50)],
      ['over', used(100, 1, 50)],
      ['side', used(0, 0, 51)],
      ['early', used(0, 0, 0, 41)],
    ] as const) {
      pods.push(aNodePod({ name, spec: { containers, initContainers } }));
      uses.set(`uid-${name}`, { volumeBytes: 0, containers: uses_ });
    }
    await limits.check(never);
    expect(evicted).toEqual([
      'over ephemeralpodfs.limit Pod ephemeral local storage usage exceeds the total limit of containers 150. ',
      'side ephemeralcontainerfs.limit Container side exceeded its local ephemeral storage limit "50". ',
    ]);
  });

  it('hold for what is known to be written while volumes are being counted', async () => {
    add('within', ['100'], { volumeBytes: undefined, containers: [{ name: 'c0', logBytes: 100 }] });
    add('over', ['100'], { volumeBytes: undefined, containers: [{ name: 'other', logBytes: 101 }] });
    await limits.check(never);
    expect(evicted.map((each) => each.split(' ')[0])).toEqual(['over']);
  });

  it('are looked at every ten seconds, and not while nobody has any', async () => {
    const stop = new AbortController();
    const running = limits.run(stop.signal);
    await clock.advance(20_000);
    expect(looks).toBe(0);
    add('web', ['1k'], {});
    await clock.advance(20_000);
    expect(looks).toBe(2);
    stop.abort();
    await running;
  });

  it('do not hold while nobody knows what pods use, which is said once', async () => {
    add('web', ['1'], { volumeBytes: 2 });
    problem = new Error('no answer');
    await limits.check(never);
    await limits.check(never);
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'The storage use of pods cannot be measured: their limits are not enforced',
    ]);
    problem = undefined;
    await limits.check(never);
    expect(evicted).toHaveLength(1);
    uses.clear();
    await limits.check(never);
    expect(evicted).toHaveLength(1);
  });
});
