import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aPod } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { type FakeSync } from '#support/fakes/fake-pod-syncer.js';
import { workersHarness } from '#support/harness/workers-harness.js';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { WORKER_EDGES, type WorkerPhase } from './worker-state.js';

const UIDS = ['uid-1', 'uid-2'];

const uid = fc.constantFrom(...UIDS);
const grace = fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined });
const step = fc.oneof(
  fc.record({ op: fc.constantFrom('create', 'update', 'sync'), uid }),
  fc.record({ op: fc.constant('kill'), uid, grace, evict: fc.boolean() }),
  fc.record({ op: fc.constant('delete'), uid, grace }),
  fc.record({ op: fc.constant('runtimeKill'), uid, grace }),
  fc.record({
    ...{ op: fc.constant('succeed'), uid },
    result: fc.record({ isTerminal: fc.boolean(), unchanged: fc.boolean() }),
  }),
  // A way through a whole life that chance alone would seldom take.
  fc.record({ op: fc.constant('liveOut'), uid }),
  fc.record({ op: fc.constant('fail'), uid }),
  fc.record({ op: fc.constant('look') }),
  fc.record({ op: fc.constant('lookFails'), uid }),
  fc.record({ op: fc.constant('tick'), ms: fc.integer({ min: 0, max: 20_000 }) }),
  fc.record({ op: fc.constant('housekeeping'), desired: fc.subarray(UIDS) }),
);
const scenario = fc.record({
  // One name for all makes them wait for one another.
  isOneName: fc.boolean(),
  steps: fc.array(step, { maxLength: 80 }),
});

it('pod workers keep their promises whatever happens in whatever order', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ isOneName, steps }) => {
      const { workers, syncer, cache, clock, finished } = workersHarness({ random: () => 0.3 });
      const nameOf = (of: string): string => (isOneName ? 'web' : of);
      let version = 0;
      const newestVersion = new Map<string, number>();
      const lastSync = new Map<string, { endStamp: number; sync: FakeSync }>();
      const lastGrace = new Map<string, number>();
      const lastPhase = new Map<string, WorkerPhase>();
      let [wanted, completed] = [0, 0];

      const pod = (of: string, deletionGracePeriodSeconds?: number): ReturnType<typeof aNodePod> => {
        newestVersion.set(of, ++version);
        const deletion =
          deletionGracePeriodSeconds === undefined
            ? {}
            : { deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds };
        return aNodePod({ uid: of, name: nameOf(of), labels: { version: String(version) }, ...deletion });
      };
      const onCompleted = (): void => {
        completed++;
      };
      const look = (): void => {
        const stamp = clock.stamp();
        // The status contains its own age, so that the work can see how old its view is.
        for (const of of UIDS)
          cache.set(of, { ...emptyPodStatus(of), name: String(stamp) }, undefined, stamp);
        cache.advance(stamp);
      };
      const checkWork = (sync: FakeSync): void => {
        const { kind, work } = sync;
        const requested = workers.isTerminationRequested(sync.uid);
        expect(requested).toBe(kind !== 'SyncPod');
        expect(workers.isKnownTerminated(sync.uid)).toBe(kind === 'TerminatedPod');
        if (kind === 'TerminatingPod') {
          expect(work.gracePeriodSeconds).toBeGreaterThanOrEqual(1);
        }
        if (work.gracePeriodSeconds !== undefined) {
          expect(work.gracePeriodSeconds).toBeLessThanOrEqual(lastGrace.get(sync.uid) ?? Infinity);
          lastGrace.set(sync.uid, work.gracePeriodSeconds);
        }
        if (work.pod !== undefined && workers.isKnown(sync.uid) && !requested) {
          expect(work.pod.metadata.labels).toEqual({ version: String(newestVersion.get(sync.uid)) });
        }
        if (work.observed !== undefined) {
          expect(Number(work.observed.name)).toBeGreaterThan(lastSync.get(sync.uid)?.endStamp ?? 0);
        }
        if (isOneName && kind === 'SyncPod') {
          const others = UIDS.filter((of) => of !== sync.uid);
          const alive = others.filter((of) =>
            syncer.syncs.some((each) => each.uid === of && each.kind === 'SyncPod'),
          );
          expect(alive.filter((of) => workers.isKnown(of) && !workers.isFinished(of))).toEqual([]);
        }
      };
      // What is thrown in there would count as a sync that failed.
      const offences: unknown[] = [];
      syncer.onBegin = (sync) => {
        try {
          checkWork(sync);
        } catch (error) {
          offences.push(error);
        }
      };
      const settle = (sync: FakeSync, isUnchanged: boolean): void => {
        if (!isUnchanged) lastSync.set(sync.uid, { endStamp: clock.stamp(), sync });
      };
      const notePhases = (): void => {
        const phases = new Map(workers.phases());
        for (const of of UIDS) {
          const [before, now] = [lastPhase.get(of), phases.get(of)];
          if (now === undefined) {
            if (before !== undefined) expect(isReachable(before, 'finished')).toBe(true);
            lastPhase.delete(of);
            lastGrace.delete(of);
          } else {
            expect(isReachable(before ?? 'waiting', now)).toBe(true);
            lastPhase.set(of, now);
          }
        }
        for (const sync of syncer.underWay) {
          if (sync.kind === 'SyncPod' && workers.isTerminationRequested(sync.uid)) {
            expect(sync.signal.aborted).toBe(true);
          }
        }
        expect(syncer.overlaps).toEqual([]);
        if (offences.length > 0) throw offences[0];
      };
      const housekeep = (desired: readonly string[]): void => {
        const before = new Map(workers.phases());
        const known = workers.syncKnownPods(desired.map((of) => aNodePod({ uid: of, name: nameOf(of) })));
        for (const of of UIDS) {
          expect(known.has(of)).toBe(workers.isKnown(of));
          if (before.get(of) === 'finished' && !desired.includes(of)) expect(known.has(of)).toBe(false);
          // Only what is finished is forgotten.
          if (before.has(of) && !known.has(of)) expect(before.get(of)).toBe('finished');
        }
      };

      for (const each of steps) {
        const under = 'uid' in each ? syncer.underWay.find((sync) => sync.uid === each.uid) : undefined;
        switch (each.op) {
          case 'kill':
            if (!('evict' in each)) break;
            wanted++;
            workers.updatePod({
              ...{ type: 'kill', pod: pod(each.uid) },
              kill: { gracePeriodSeconds: each.grace, evict: each.evict, onCompleted },
            });
            break;
          case 'delete':
            if ('grace' in each) workers.updatePod({ type: 'update', pod: pod(each.uid, each.grace ?? 30) });
            break;
          case 'runtimeKill': {
            if (!('grace' in each)) break;
            wanted++;
            const runningPod = aPod({ uid: each.uid, name: nameOf(each.uid) });
            workers.updatePod({
              type: 'kill',
              runningPod,
              kill: { gracePeriodSeconds: each.grace, onCompleted },
            });
            break;
          }
          case 'succeed':
            if (!('result' in each) || under === undefined) break;
            settle(under, under.kind === 'SyncPod' && each.result.unchanged);
            under.succeed(each.result);
            break;
          case 'liveOut':
            if (!('uid' in each)) break;
            workers.updatePod({ type: 'kill', pod: pod(each.uid) });
            for (let turn = 0; turn < 4; turn++) {
              await clock.settle();
              if (workers.isFinished(each.uid)) break;
              look();
              await clock.settle();
              const current = syncer.underWay.find((sync) => sync.uid === each.uid);
              if (current === undefined) continue;
              settle(current, false);
              current.succeed();
            }
            await clock.settle();
            housekeep(UIDS.filter((of) => of !== each.uid));
            break;
          case 'fail':
            if (under === undefined) break;
            settle(under, false);
            under.fail(under.signal.aborted ? under.signal.reason : new Error('no'));
            break;
          case 'look':
            look();
            break;
          case 'lookFails':
            if ('uid' in each)
              cache.set(each.uid, emptyPodStatus(each.uid), new Error('hung'), clock.stamp());
            break;
          case 'tick':
            if (!('ms' in each)) break;
            await clock.advance(each.ms);
            for (const due of workers.takeDue()) workers.retry(due);
            break;
          case 'housekeeping':
            if ('desired' in each) housekeep(each.desired);
            break;
          default:
            if ('uid' in each) {
              workers.updatePod({ type: each.op, pod: pod(each.uid) });
            }
        }
        await clock.settle();
        notePhases();
      }

      housekeep([]);
      // With nobody wanting anything any more, and all going well, everything ends and is forgotten.
      for (let round = 0; round < 40 && [...workers.phases()].length > 0; round++) {
        housekeep([]);
        for (const sync of syncer.underWay) {
          settle(sync, false);
          sync.succeed();
        }
        await clock.settle();
        look();
        await clock.advance(16_000);
        for (const due of workers.takeDue()) workers.retry(due);
        await clock.settle();
        notePhases();
      }
      expect([...workers.phases()]).toEqual([]);
      expect(syncer.underWay).toEqual([]);
      expect(completed).toBe(wanted);
      expect(workers.stats).toMatchObject({ syncing: 0, requeued: 0 });
      for (const of of finished) expect(UIDS).toContain(of);
      for (const of of UIDS) expect(workers.shouldPodContentBeRemoved(of)).toBe(true);
    }),
    { seed: 20261121, numRuns: 300 },
  );
});

function isReachable(from: WorkerPhase, to: WorkerPhase): boolean {
  return from === to || WORKER_EDGES[from].some((next) => isReachable(next, to));
}
