import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EvictionSignal, withMemoryOfPods } from '#kube/node/eviction-thresholds.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Supplies } from '#kube/node/node-supplies.js';
import { type PodUse, type PodUseNeeds } from '#kube/pod/pod-use.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { EvictionManager, type EvictionManagerOptions } from './eviction-manager.js';
import { toEvictionRules } from './eviction-rules.js';

/** A node with 1000 bytes of each resource, some of them used by its pods; an ended pod uses nothing. */
class Node {
  readonly clock = new FakeClock();
  readonly logger = new LogRecorder();
  /** Bytes of memory by name of the pod, which lasts as long as it does. */
  readonly memory = new Map<string, number>();
  readonly disk = new Map<string, number>();
  /** On the disk, of nobody who runs. */
  garbage = 0;
  hasImageDisk = false;
  /** Pods that do not end. */
  readonly stubborn = new Set<string>();
  /** Those whose volumes are not counted yet. */
  readonly uncounted = new Set<string>();
  /** For what pods were measured. */
  readonly needs: PodUseNeeds[] = [];
  priorities: Readonly<Record<string, number>> = {};
  readonly done: string[] = [];
  /** Thrown when the node is cleared up, or pods are measured. */
  failure: { readonly clearUp?: Error; readonly measure?: Error } = {};
  readonly #abort = new AbortController();
  readonly #ending = new Set<string>();
  #manager: EvictionManager | undefined;
  #running: Promise<void> | undefined;

  start(options: Partial<EvictionManagerOptions> = {}): void {
    const { clock, logger } = this;
    this.#manager = new EvictionManager({
      ...{ clock, logger, maxPodGraceSeconds: 0 },
      rules: toEvictionRules({
        hard: { 'memory.available': '100', 'nodefs.available': '100', 'imagefs.available': '100' },
        ...{ soft: {}, softGraceMs: {}, minimumReclaim: {} },
      }),
      pods: () =>
        [...new Set([...this.memory.keys(), ...this.disk.keys()])]
          .filter((name) => !this.#ending.has(name))
          .map((name) => this.podOf(name)),
      measurePods: async (_, needs) => {
        this.needs.push(needs);
        if (this.failure.measure !== undefined) throw this.failure.measure;
        return new Map(
          [...this.memory.keys(), ...this.disk.keys()].map((name) => [`uid-${name}`, this.#useOf(name)]),
        );
      },
      // As if every measurement were reported: the manager's own is no reason to begin again.
      measureSupplies: async () => {
        const supplies = this.supplies();
        this.#manager!.noteSupplies(supplies);
        return Promise.resolve(supplies);
      },
      hasImageDisk: async () => Promise.resolve(this.hasImageDisk),
      clearUp: async () => {
        this.done.push('clear up');
        if (this.failure.clearUp !== undefined) throw this.failure.clearUp;
        this.garbage = 0;
      },
      evict: ({ metadata: { name } }, { signal, message, disruption, gracePeriodSeconds, statsAgeMs }) => {
        this.#ending.add(name);
        // No measurement is older than the time that a pod takes to end.
        expect(statsAgeMs).toBeLessThanOrEqual(2_000);
        expect(statsAgeMs).toBeGreaterThanOrEqual(0);
        expect(disruption).toBe(message);
        this.done.push(`evict ${name} for ${signal} within ${gracePeriodSeconds} s`);
      },
      whenGone: async ({ metadata: { name } }, signal) => {
        await clock.sleep(this.stubborn.has(name) ? 10 * 60_000 : 2_000, signal);
        this.memory.delete(name);
        this.disk.delete(name);
      },
      onShort: (resource) => this.done.push(`short of ${resource}`),
      ...options,
    });
    this.#running = this.#manager.run(this.#abort.signal);
  }

  supplies(): Supplies {
    const left = (used: ReadonlyMap<string, number>, more = 0): bigint =>
      BigInt(1_000 - [...used.values()].reduce((sum, bytes) => sum + bytes, more));
    const disk = { available: left(this.disk, this.garbage), capacity: 1_000n };
    return {
      'memory.available': { available: left(this.memory), capacity: 1_000n },
      'nodefs.available': this.hasImageDisk ? { available: 500n, capacity: 1_000n } : disk,
      'imagefs.available': disk,
    };
  }

  /** As every ten seconds. */
  async look(supplies: Supplies = this.supplies()): Promise<void> {
    this.#manager!.noteSupplies(supplies);
    await this.clock.settle();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  messages(): string[] {
    return this.logger.lines.map(({ message }) => message);
  }

  podOf(name: string): NodePod {
    const priority = this.priorities[name];
    return aNodePod({ name, source: 'api', ...(priority !== undefined && { spec: { priority } }) });
  }

  #useOf(name: string): PodUse {
    return {
      memoryBytes: this.memory.get(name) ?? 0,
      containers: [{ name: 'main', writtenBytes: this.disk.get(name) ?? 0 }],
      volumeBytes: this.uncounted.has(name) ? undefined : 0,
    };
  }
}

let node: Node;
beforeEach(() => (node = new Node()));
afterEach(async () => node.stop());

describe('a node that is short of memory', () => {
  it('ends one pod after the other, until there is enough', async () => {
    for (const [name, bytes] of [
      ['a', 100],
      ['b', 500],
      ['c', 390],
    ] as const)
      node.memory.set(name, bytes);
    node.start();
    await node.look();
    expect(node.done).toEqual(['short of memory', 'evict b for memory.available within 1 s']);
    await node.clock.advance(2_000);
    await node.look();
    expect(node.done).toHaveLength(2);
    node.memory.set('d', 450);
    await node.look();
    await node.clock.advance(2_000);
    expect(node.done.slice(2)).toEqual(['short of memory', 'evict d for memory.available within 1 s']);
  });

  it('looks again at once when a pod has gone, and ends the next', async () => {
    for (const name of ['a', 'b', 'c', 'd']) node.memory.set(name, 330);
    node.start();
    await node.look();
    await node.clock.advance(4_000);
    expect(node.done.filter((each) => each.startsWith('evict'))).toHaveLength(2);
    expect(node.messages()).toContain('Eviction manager: pod is cleaned up');
  });

  it('ends no critical pod, and says so', async () => {
    node.memory.set('critical', 950);
    node.memory.set('other', 1);
    node.priorities = { critical: 2_000_000_000, other: 5 };
    node.start();
    await node.look();
    expect(node.done).toEqual(['short of memory', 'evict other for memory.available within 1 s']);
    await node.clock.advance(2_000);
    expect(node.done).toEqual([...node.done.slice(0, 2), 'short of memory']);
    expect(node.messages().slice(-2)).toEqual([
      'Eviction manager: cannot evict a critical pod',
      'Eviction manager: unable to evict any pods from the node',
    ]);
  });

  it('does not leave a full disk as it is because nobody can go for its memory', async () => {
    node.memory.set('critical', 950);
    node.disk.set('other', 950);
    node.priorities = { critical: 2_000_000_000 };
    node.start({ pods: () => [node.podOf('critical')] });
    await node.look();
    expect(node.done).toEqual(['short of memory', 'short of ephemeral-storage', 'clear up']);
  });

  it('waits for one that does not end for half a minute, and then ends another', async () => {
    for (const [name, bytes] of [
      ['stuck', 500],
      ['next', 450],
    ] as const)
      node.memory.set(name, bytes);
    node.stubborn.add('stuck');
    node.start();
    await node.look();
    await node.clock.advance(30_999);
    expect(node.done).toHaveLength(2);
    await node.clock.advance(2);
    expect(node.messages()).toContain('Eviction manager: timed out waiting for a pod to be cleaned up');
    expect(node.done.slice(2)).toEqual(['short of memory', 'evict next for memory.available within 1 s']);
  });

  it('rests for ten seconds when nobody can go, however often it is notified', async () => {
    node.memory.set('critical', 950);
    node.priorities = { critical: 2_000_000_000 };
    node.start();
    await node.look();
    for (let seconds = 0; seconds < 9; seconds++) {
      await node.clock.advance(1_000);
      await node.look();
    }
    expect(node.done).toEqual(['short of memory']);
    await node.clock.advance(1_000);
    expect(node.done).toEqual(['short of memory', 'short of memory']);
  });

  it('uses the last measurement, not one reported while a pod was ending', async () => {
    for (const name of ['a', 'b']) node.memory.set(name, 480);
    node.start();
    await node.look();
    await node.look();
    await node.clock.advance(30_000);
    expect(node.done.filter((each) => each.startsWith('evict'))).toHaveLength(1);
  });

  it('ends no pod that came while the others were measured, nor one that ended', async () => {
    for (const [name, bytes] of [
      ['early', 500],
      ['rest', 450],
    ] as const)
      node.memory.set(name, bytes);
    const measurePods = async () => {
      node.memory.set('late', 1);
      node.memory.delete('early');
      return Promise.resolve(new Map([['uid-rest', { memoryBytes: 450, containers: [] }]]));
    };
    node.start({ measurePods });
    await node.look();
    expect(node.done).toEqual(['short of memory', 'evict rest for memory.available within 1 s']);
  });

  it('asks nobody to count files', async () => {
    node.memory.set('a', 950);
    node.start();
    await node.look();
    expect(node.needs).toEqual([{ logs: false, volumes: false }]);
  });

  it('says nothing of a pod that ends when the agent does', async () => {
    node.memory.set('a', 950);
    node.start();
    await node.look();
    await node.stop();
    expect(node.messages().at(-1)).toBe('Eviction manager: pod is evicted');
  });

  it('goes on after pods could not be measured', async () => {
    node.memory.set('a', 950);
    node.failure = { measure: new Error('no answer') };
    node.start();
    await node.look();
    expect(node.done).toEqual(['short of memory']);
    node.failure = {};
    await node.clock.advance(9_999);
    expect(node.done).toHaveLength(1);
    await node.clock.advance(1);
    expect(node.done).toContain('evict a for memory.available within 1 s');
  });
});

describe('a node that is short of disk', () => {
  it('clears up first, and ends nobody when that is enough', async () => {
    node.disk.set('a', 500);
    node.garbage = 450;
    node.start();
    await node.look();
    expect(node.done).toEqual(['short of ephemeral-storage', 'clear up']);
    expect(node.messages()).toContain(
      'Eviction manager: able to reduce resource pressure without evicting pods',
    );
  });

  it('ends who has written most when it is not, and also when it could not clear up', async () => {
    for (const [name, bytes] of [
      ['a', 300],
      ['b', 650],
    ] as const)
      node.disk.set(name, bytes);
    node.failure = { clearUp: new Error('the runtime hangs') };
    node.start();
    await node.look();
    expect(node.done).toEqual([
      'short of ephemeral-storage',
      'clear up',
      'evict b for nodefs.available within 1 s',
    ]);
  });

  it('does not clear up images for a disk on which there are none', async () => {
    node.hasImageDisk = true;
    node.start();
    await node.look({ 'nodefs.available': { available: 1n, capacity: 1_000n } });
    expect(node.done).toEqual(['short of ephemeral-storage']);
  });

  it('looks after each of two disks', async () => {
    node.hasImageDisk = true;
    node.disk.set('a', 950);
    node.priorities = { a: 2_000_000_000 };
    node.start();
    const short = { available: 1n, capacity: 1_000n };
    await node.look({ 'nodefs.available': short, 'imagefs.available': short, 'nodefs.inodesFree': short });
    expect(node.done).toEqual(['short of ephemeral-storage', 'short of ephemeral-storage', 'clear up']);
  });

  it('waits for volumes to be counted for a minute, and then ends a pod with unknown usage', async () => {
    node.disk.set('known', 900);
    node.disk.set('large', 50);
    node.uncounted.add('large');
    node.start();
    await node.look();
    await node.clock.advance(20_000);
    expect(node.done.filter((each) => each.startsWith('evict'))).toEqual([]);
    expect(node.messages()).toContain('Eviction manager: volumes are being counted');
    await node.clock.advance(10_000);
    expect(node.done).toContain('evict large for nodefs.available within 1 s');
    expect(node.needs.at(-1)).toEqual({ logs: true, volumes: 'bytes' });
  });

  it('has the files of volumes counted when it is short of inodes, and waits for that likewise', async () => {
    node.disk.set('small', 1);
    node.disk.set('large', 1);
    const inodes = new Map<string, number | undefined>([['uid-small', 3]]);
    const short = { 'nodefs.inodesFree': { available: 1n, capacity: 1_000n } };
    node.start({
      rules: toEvictionRules({
        ...{ hard: { 'nodefs.inodesFree': '100' }, soft: {}, softGraceMs: {}, minimumReclaim: {} },
      }),
      measureSupplies: async () => Promise.resolve(short),
      measurePods: async (pods, needs) => {
        expect(needs).toEqual({ logs: true, volumes: 'inodes' });
        return Promise.resolve(
          new Map(
            pods.map(({ metadata: { uid } }) => [uid, { containers: [], volumeInodes: inodes.get(uid) }]),
          ),
        );
      },
    });
    await node.look(short);
    expect(node.done).toEqual(['short of inodes', 'clear up']);
    inodes.set('uid-large', 900);
    await node.clock.advance(10_000);
    expect(node.done.at(-1)).toBe('evict large for nodefs.inodesFree within 1 s');
  });

  it('ends who has written most once volumes are counted', async () => {
    node.disk.set('known', 900);
    node.disk.set('large', 50);
    node.uncounted.add('large');
    node.start();
    await node.look();
    node.uncounted.clear();
    await node.clock.advance(10_000);
    expect(node.done).toContain('evict known for nodefs.available within 1 s');
  });
});

it('a pod goes before all pods together reach their limit, while the machine has memory left', async () => {
  for (const name of ['a', 'b']) node.memory.set(name, 200);
  const supplies = (): Supplies => {
    const used = [...node.memory.values()].reduce((sum, bytes) => sum + bytes, 0);
    const available = BigInt(450 - used);
    return { ...node.supplies(), 'allocatableMemory.available': { available, capacity: 450n } };
  };
  const hard = withMemoryOfPods({ 'memory.available': '100' }, { enforceNodeAllocatable: ['pods'] });
  node.start({
    rules: toEvictionRules({ ...{ hard, soft: {}, softGraceMs: {}, minimumReclaim: {} } }),
    measureSupplies: async () => Promise.resolve(supplies()),
  });
  await node.look(supplies());
  await node.clock.advance(60_000);
  expect(node.done).toEqual([...['short of memory', 'evict a for allocatableMemory.available within 1 s']]);
});

describe('a pod that is evicted for a soft threshold', () => {
  const soft = (signal: EvictionSignal) =>
    toEvictionRules({
      ...{ hard: {}, minimumReclaim: {}, soft: { [signal]: '100' }, softGraceMs: { [signal]: 20_000 } },
    });

  it.each([
    [5, 'within 5 s'],
    [90, 'within 30 s'],
  ])('has its own grace period, and %i s at most', async (maxPodGraceSeconds, within) => {
    node.memory.set('a', 950);
    node.start({ rules: soft('memory.available'), maxPodGraceSeconds });
    await node.look();
    await node.clock.advance(19_000);
    await node.look();
    expect(node.done).toEqual([]);
    await node.clock.advance(1_000);
    await node.look();
    expect(node.done).toEqual(['short of memory', `evict a for memory.available ${within}`]);
  });
  it('is not waited for while a hard threshold is met', async () => {
    for (const name of ['a', 'b']) node.memory.set(name, 470);
    node.stubborn.add('a');
    const rules = toEvictionRules({
      ...{ minimumReclaim: {}, softGraceMs: { 'memory.available': 0 } },
      ...{ hard: { 'memory.available': '50' }, soft: { 'memory.available': '100' } },
    });
    node.start({ rules, maxPodGraceSeconds: 600 });
    await node.look();
    expect(node.done).toEqual(['short of memory', 'evict a for memory.available within 30 s']);
    await node.clock.advance(10_000);
    await node.look();
    expect(node.done).toHaveLength(2);
    node.memory.set('a', 500);
    await node.look();
    expect(node.done.slice(2)).toEqual(['short of memory', 'evict b for memory.available within 1 s']);
    expect(node.messages()).toContain('Eviction manager: a hard threshold is met while a pod ends');
  });

  it('is the only one for as long as it takes its time, also while a hard threshold is met of something else', async () => {
    for (const name of ['a', 'b', 'c']) node.memory.set(name, 310);
    node.stubborn.add('a');
    const rules = toEvictionRules({
      ...{ minimumReclaim: {}, softGraceMs: { 'memory.available': 0 } },
      ...{ hard: { 'nodefs.available': '100' }, soft: { 'memory.available': '100' } },
    });
    node.start({ rules, maxPodGraceSeconds: 600 });
    await node.look();
    node.disk.set('writer', 950);
    await node.look();
    await node.clock.advance(20_000);
    expect(node.done.filter((each) => each.startsWith('evict'))).toEqual([
      'evict a for memory.available within 30 s',
      'evict writer for nodefs.available within 1 s',
    ]);
  });

  it('is followed by another once it is gone, or late, and too little is left still', async () => {
    for (const name of ['a', 'b']) node.memory.set(name, 470);
    node.stubborn.add('a');
    const rules = toEvictionRules({
      ...{ minimumReclaim: {}, softGraceMs: { 'memory.available': 0 } },
      ...{ hard: { 'pid.available': '100' }, soft: { 'memory.available': '100' } },
    });
    node.start({ rules, maxPodGraceSeconds: 600 });
    await node.look();
    await node.look({ ...node.supplies(), 'pid.available': { available: 1n, capacity: 1_000n } });
    await node.clock.advance(59_999);
    expect(node.done).toEqual(['short of memory', 'evict a for memory.available within 30 s']);
    await node.clock.advance(1);
    expect(node.done.slice(2)).toEqual(['short of memory', 'evict b for memory.available within 30 s']);
  });
});
