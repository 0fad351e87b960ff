import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aRuntimeEvent } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { podOf, takeAll } from '#support/harness/pleg-harness.js';
import { Pleg } from './pleg.js';

const USUAL_MS = 1_000;
const STEPS_MS = [10_000, 20_000, 40_000, 60_000];
const PROVEN_AFTER = 3;
/** Short enough that no change of the period is missed. */
const CHECKED_EACH_MS = 500;
/** Changes and events are judged by then: a grace of one second, or rechecks for two. */
const JUDGED_MS = 2_100;

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('announced' as const) },
  { weight: 1, arbitrary: fc.constant('unannounced' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('lie' as const, 'skip' as const, 'break' as const, 'unknown' as const),
  },
  { weight: 1, arbitrary: fc.constantFrom('failList' as const, 'look' as const) },
  { weight: 4, arbitrary: fc.constantFrom(700, 9_000, 25_000, 70_000) },
);

it('the period only grows step by step while nothing is wrong, is a second after anything is, and limits the delay of a lost event', async () => {
  let longest = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock({ settleRounds: 2 });
      const runtime = new FakeRuntime({ clock });
      runtime.setPods([podOf('a', { c: 'running' }), podOf('b', { d: 'running' })]);
      const pleg = new Pleg({ runtime, clock, mode: 'auto', provenAfter: PROVEN_AFTER, random: () => 0.5 });
      const events = pleg.subscribe();
      const stopping = new AbortController();
      const running = pleg.run(stopping.signal);
      let made = 0;
      /** Monotonic milliseconds. */
      let changedMs = clock.monotonicMs();
      let announcedInARow = 0;
      /** Relists of all pods, when that many changes had been announced. */
      let listsWhenProven = 0;
      let periodMs = USUAL_MS;
      /** By id: when it was made and with which period. */
      const untold = new Map<string, { readonly atMs: number; readonly withinMs: number }>();

      const check = (): void => {
        const now = clock.monotonicMs();
        for (const event of takeAll(events)) if ('containerId' in event) untold.delete(event.containerId);
        for (const { atMs, withinMs } of untold.values()) expect(now - atMs).toBeLessThanOrEqual(withinMs);
        const next = pleg.state().periodMs;
        expect([USUAL_MS, ...STEPS_MS]).toContain(next);
        if (next > periodMs) {
          if (periodMs === USUAL_MS) {
            expect(next).toBe(STEPS_MS[0]);
            expect(announcedInARow).toBeGreaterThanOrEqual(PROVEN_AFTER);
            expect(runtime.listCalls).toBeGreaterThan(listsWhenProven);
          } else {
            expect(next).toBe(STEPS_MS[STEPS_MS.indexOf(periodMs) + 1]);
            expect(now - changedMs).toBeGreaterThanOrEqual(periodMs - USUAL_MS);
          }
        }
        if (next !== periodMs) changedMs = now;
        periodMs = next;
        longest = Math.max(longest, next);
      };
      const pass = async (ms: number): Promise<void> => {
        for (let left = ms; left > 0; left -= CHECKED_EACH_MS) {
          await clock.advance(Math.min(CHECKED_EACH_MS, left));
          check();
        }
      };
      const say = (type: 'started' | 'stopped', containerId: string): void =>
        runtime.emitEvent(
          aRuntimeEvent({ type, containerId, podUid: 'a', createdAtNs: BigInt(clock.now()) * 1_000_000n }),
        );
      const start = (): string => {
        const { id } = runtime.setContainer('a', `more-${made++}`, 'running');
        untold.set(id, { atMs: clock.monotonicMs(), withinMs: periodMs + USUAL_MS });
        return id;
      };
      const expectSurprise = async (): Promise<void> => {
        await pass(JUDGED_MS);
        expect(pleg.state().periodMs).toBe(USUAL_MS);
        announcedInARow = 0;
      };

      await pass(3_000);
      for (const each of steps) {
        switch (each) {
          case 'announced':
            say('started', start());
            announcedInARow++;
            if (announcedInARow === PROVEN_AFTER) listsWhenProven = runtime.listCalls;
            await clock.settle();
            check();
            expect(untold.size).toBe(0);
            break;
          case 'unannounced': {
            start();
            const waitedMs = pleg.state().periodMs;
            await pass(waitedMs);
            expect(untold.size).toBe(0);
            await expectSurprise();
            break;
          }
          case 'lie':
            say('stopped', 'c');
            await expectSurprise();
            break;
          case 'skip':
            runtime.events.skip();
            await expectSurprise();
            break;
          case 'break':
            runtime.breakEvents(new Error('connection reset'));
            await expectSurprise();
            break;
          case 'unknown':
            runtime.setContainer('b', 'd', 'unknown');
            await pleg.relist();
            await expectSurprise();
            runtime.setContainer('b', 'd', 'running');
            await pleg.relist();
            await expectSurprise();
            break;
          case 'failList':
            runtime.failList(new Error('unavailable'));
            await expect(pleg.relist()).rejects.toThrow('unavailable');
            runtime.failList(undefined);
            await pass(USUAL_MS);
            break;
          case 'look':
            await pleg.relist();
            check();
            break;
          default:
            await pass(each);
        }
      }
      expect(pleg.health().healthy).toBe(true);
      stopping.abort(new Error('the test is over'));
      await running;
      expect(clock.pendingTimers).toBe(0);
    }),
    {
      numRuns: 60,
      examples: [[[...Array<'announced'>(PROVEN_AFTER).fill('announced'), ...Array<70_000>(3).fill(70_000)]]],
    },
  );
  // Otherwise it would have proven little.
  expect(longest).toBe(STEPS_MS.at(-1));
});
