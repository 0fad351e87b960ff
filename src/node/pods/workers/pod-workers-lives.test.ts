import fc from 'fast-check';
import { expect, it } from 'vitest';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { aPod } from '#testing/builders.js';
import { type FakeSync } from '#support/fakes/fake-pod-syncer.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { workersHarness } from '#support/harness/workers-harness.js';

const UID = 'uid-web';
const grace = fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined });
const specGrace = fc.integer({ min: 0, max: 90 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constantFrom('create', 'update', 'sync'), specGrace }) },
  fc.record({ op: fc.constantFrom('kill', 'delete'), grace, specGrace }),
  fc.record({ op: fc.constant('runtimeKill'), grace }),
  { weight: 4, arbitrary: fc.record({ op: fc.constantFrom('look', 'succeed') }) },
  fc.record({ op: fc.constantFrom('fail', 'end by itself', 'due', 'wanted', 'unwanted') }),
);

interface Step {
  readonly op: string;
  readonly grace?: number | undefined;
  readonly specGrace?: number;
}

/** What happened to the uid since the workers got to know it. */
class Life {
  /** The newest version handed in. */
  newest = 0;
  /** Grace periods that somebody asked for, and those of manifests, in seconds. */
  readonly asked: number[] = [];
  readonly bySpec: number[] = [];
  readonly began: FakeSync[] = [];
}

/** One uid with workers; each manifest has a version of its own. */
class Bench {
  readonly harness = workersHarness({ random: () => 0 });
  life = new Life();
  isWanted = true;
  #version = 0;
  readonly #seen = new Set<FakeSync>();

  async play(given: Step): Promise<void> {
    const { workers, syncer, clock } = this.harness;
    const [sync] = syncer.underWay;
    switch (given.op) {
      case 'create':
      case 'update':
      case 'sync':
        workers.updatePod({ type: given.op, pod: this.#pod(given) });
        break;
      case 'kill':
        this.#ask(given.grace);
        workers.updatePod({
          ...{ type: 'kill', pod: this.#pod(given) },
          kill: given.grace === undefined ? {} : { gracePeriodSeconds: given.grace },
        });
        break;
      case 'delete': {
        this.#ask(given.grace ?? 30);
        workers.updatePod({ type: 'update', pod: this.#pod(given, given.grace ?? 30) });
        break;
      }
      case 'runtimeKill':
        this.#ask(given.grace);
        workers.updatePod({
          ...{ type: 'kill', runningPod: aPod({ uid: UID }) },
          kill: given.grace === undefined ? {} : { gracePeriodSeconds: given.grace },
        });
        break;
      case 'look':
        this.#look();
        break;
      case 'succeed':
        sync?.succeed();
        break;
      case 'end by itself':
        sync?.succeed({ isTerminal: true });
        break;
      case 'fail':
        sync?.fail(new Error('no'));
        break;
      case 'due':
        await clock.advance(20_000);
        for (const due of workers.takeDue()) workers.retry(due);
        break;
      default:
        this.isWanted = given.op === 'wanted';
        this.#housekeep();
    }
    await clock.settle();
    this.#noteBegun();
  }

  /** All goes well from now on. */
  async calmDown(): Promise<void> {
    for (let round = 0; round < 12; round++) {
      for (const op of ['look', 'succeed', 'due']) await this.play({ op });
    }
  }

  #ask(seconds: number | undefined): void {
    if (seconds !== undefined) this.life.asked.push(Math.max(1, seconds));
  }

  #pod({ specGrace: seconds = 30 }: Step, deletionGracePeriodSeconds?: number) {
    const version = String(++this.#version);
    this.life.newest = this.#version;
    this.life.bySpec.push(Math.max(1, seconds));
    const deletion =
      deletionGracePeriodSeconds === undefined
        ? {}
        : { deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds };
    const spec = { terminationGracePeriodSeconds: seconds };
    return aNodePod({ uid: UID, labels: { version }, spec, ...deletion });
  }

  #look(): void {
    const { cache, clock } = this.harness;
    const stamp = clock.stamp();
    cache.set(UID, emptyPodStatus(UID), undefined, stamp);
    cache.advance(stamp);
  }

  #housekeep(): void {
    const { workers, syncer } = this.harness;
    const before = workers.isKnown(UID);
    workers.syncKnownPods(this.isWanted ? [aNodePod({ uid: UID })] : []);
    if (!before || workers.isKnown(UID)) return;
    // Nothing of a life that is over is left to disturb the next one.
    expect(syncer.underWay).toEqual([]);
    this.life = new Life();
  }

  #noteBegun(): void {
    for (const sync of this.harness.syncer.syncs) {
      if (this.#seen.has(sync)) continue;
      this.#seen.add(sync);
      this.life.began.push(sync);
      this.#check(sync);
    }
    expect(this.harness.syncer.overlaps).toEqual([]);
    for (const { kind, work, signal } of this.harness.syncer.underWay) {
      // A pod that has less time left than before is notified at once.
      if (kind === 'TerminatingPod' && work.gracePeriodSeconds! > Math.min(...this.life.asked)) {
        expect(signal.aborted).toBe(true);
      }
    }
  }

  #check({ kind, work }: FakeSync): void {
    const { began, asked, bySpec } = this.life;
    const earlier = began.slice(0, -1);
    // No container of a life starts once its end has begun; the next life has workers that know nothing of it.
    if (kind === 'SyncPod') expect(earlier.filter((each) => each.kind !== 'SyncPod')).toEqual([]);
    if (kind === 'TerminatingPod') {
      const seconds = work.gracePeriodSeconds!;
      expect([...asked, ...bySpec, 30]).toContain(seconds);
      for (const wanted of asked) expect(seconds).toBeLessThanOrEqual(wanted);
    }
    if (kind === 'TerminatingRuntimePod') {
      // What nobody asked for is left to the annotations of the containers.
      expect(work.gracePeriodSeconds).toBe(asked.length === 0 ? undefined : Math.min(...asked));
    }
  }
}

it('pods that end and come again keep their lives apart, whatever happens in whatever order', async () => {
  let endings = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const bench = new Bench();
      const { workers } = bench.harness;
      for (const each of steps) await bench.play(each);
      await bench.calmDown();
      const wasEnding = workers.isTerminationRequested(UID);
      if (wasEnding) {
        endings++;
        expect(workers.isFinished(UID)).toBe(true);
      } else if (workers.isKnown(UID)) {
        // Whatever was folded on the way: the newest manifest is what the pod was brought nearer to last.
        const last = bench.life.began.at(-1);
        expect(last?.kind).toBe('SyncPod');
        expect(last?.work.pod?.metadata.labels).toEqual({ version: String(bench.life.newest) });
      }
      // Whatever it went through, it can live again: wanted again, forgotten, and started as never before.
      await bench.play({ op: 'create' });
      await bench.play({ op: 'wanted' });
      if (wasEnding) expect(workers.isKnown(UID)).toBe(false);
      await bench.play({ op: 'create' });
      await bench.calmDown();
      const { began, newest } = bench.life;
      expect(began.at(-1)).toMatchObject({ kind: 'SyncPod' });
      expect(began.at(-1)?.work.pod?.metadata.labels).toEqual({ version: String(newest) });
    }),
    { seed: 20261121, numRuns: 200 },
  );
  expect(endings, 'next to no pod ended').toBeGreaterThan(50);
});
