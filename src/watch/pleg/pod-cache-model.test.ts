import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aPodStatus, aPod } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type WatchedPromise, watchPromise } from '#support/watch-promise.js';
import { type PodStatus } from '../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';
import { type CachedPod, PodCache } from './pod-cache.js';

const statusOf = (uid: string): PodStatus => aPodStatus(aPod({ uid }));

/** One uid in the model, which stores how new the pod is and never computes it from two stamps. */
interface ModelPod {
  present: boolean;
  behind: boolean;
  known: number;
}

type Step =
  | { readonly op: 'set' | 'delete' | 'markBehind' | 'markCurrent' | 'observe'; readonly uid: string }
  | { readonly op: 'advance' }
  | { readonly op: 'wait'; readonly uid: string; readonly ago: number }
  | { readonly op: 'abort'; readonly index: number };

const UIDS = ['a', 'b', 'c'];
const uid = fc.constantFrom(...UIDS);
const steps = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({
      op: fc.constantFrom(
        'set' as const,
        'delete' as const,
        'markBehind' as const,
        'markCurrent' as const,
        'observe' as const,
      ),
      uid,
    }),
    fc.record({ op: fc.constant('advance' as const) }),
    fc.record({ op: fc.constant('wait' as const), uid, ago: fc.nat(4) }),
    fc.record({ op: fc.constant('abort' as const), index: fc.nat(5) }),
  ),
  { maxLength: 60 },
);

interface ModelWait {
  readonly uid: string;
  readonly newerThan: number;
  readonly stopping: AbortController;
  readonly outcome: WatchedPromise<CachedPod>;
  expected: 'waiting' | 'answered' | 'aborted';
}

it('answers like a model that stores for each pod how new it is', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const clock = new FakeClock({ settleRounds: 1 });
      const cache = new PodCache();
      const pods = new Map<string, ModelPod>(
        UIDS.map((name) => [name, { present: false, behind: false, known: 0 }]),
      );
      const waits: ModelWait[] = [];
      let global = 0;
      let now = clock.stamp();
      const answer = (name: string, worth: number): void => {
        for (const wait of waits) {
          if (wait.uid === name && wait.expected === 'waiting' && worth > wait.newerThan) {
            wait.expected = 'answered';
          }
        }
      };
      for (const step of sequence) {
        now = clock.stamp();
        if (step.op === 'advance') {
          cache.advance(now);
          global = now;
          for (const [name, pod] of pods) {
            if (!pod.behind) pod.known = now;
            answer(name, pod.known);
          }
        } else if (step.op === 'abort') {
          const wait = waits[step.index];
          wait?.stopping.abort(new Error('enough'));
          if (wait?.expected === 'waiting') wait.expected = 'aborted';
        } else if (step.op === 'wait') {
          const newerThan = Math.max(0, now - step.ago);
          const stopping = new AbortController();
          const outcome = watchPromise(cache.getNewerThan(step.uid, newerThan as Stamp, stopping.signal));
          const known = pods.get(step.uid)!.known;
          const expected = known > newerThan ? 'answered' : 'waiting';
          waits.push({ uid: step.uid, newerThan, stopping, outcome, expected });
        } else {
          const pod = pods.get(step.uid)!;
          switch (step.op) {
            case 'set':
              cache.set(step.uid, statusOf(step.uid), undefined, now);
              pods.set(step.uid, { ...pod, present: true, known: now });
              answer(step.uid, now);
              break;
            case 'delete':
              cache.delete(step.uid, now);
              pods.set(step.uid, { present: false, behind: false, known: global });
              answer(step.uid, now);
              break;
            case 'markBehind':
              cache.markBehind(step.uid);
              if (!pod.behind && !pod.present) pod.known = 0;
              pod.behind = true;
              break;
            case 'markCurrent':
              cache.markCurrent(step.uid);
              pod.behind = false;
              pod.known = Math.max(pod.known, global);
              answer(step.uid, pod.known);
              break;
            case 'observe':
              cache.observe(step.uid, now);
              if (pod.behind) break;
              if (pod.present) pod.known = now;
              answer(step.uid, now);
              break;
          }
        }
      }
      await clock.settle();
      for (const [name, { present, known }] of pods) {
        const cached = cache.get(name);
        expect(cached.stamp).toBe(known);
        expect(cached.status.containers.length > 0).toBe(present);
      }
      for (const { expected, outcome, newerThan } of waits) {
        const found = outcome.value ? 'answered' : outcome.error === undefined ? 'waiting' : 'aborted';
        expect(found).toBe(expected);
        if (outcome.value) expect(outcome.value.stamp).toBeGreaterThan(newerThan);
      }
      expect(cache.waiting).toBe(waits.filter(({ expected }) => expected === 'waiting').length);
      expect(cache.size).toBe([...pods.values()].filter(({ present }) => present).length);
    }),
    { numRuns: 500 },
  );
});
