import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { RequeueTimes } from './requeue-times.js';

const uid = fc.constantFrom('a', 'b', 'c', 'd');
const step = fc.oneof(
  fc.record({ op: fc.constantFrom('set' as const, 'setAbout' as const), uid, afterMs: fc.nat(5_000) }),
  fc.record({ op: fc.constant('delete' as const), uid }),
  fc.record({ op: fc.constantFrom('takeDue' as const, 'ask' as const) }),
  fc.record({ op: fc.constant('advance' as const), ms: fc.constantFrom(0, 1, 999, 1_000, 4_000) }),
);

it('returns the same due pods and next time as a scan of all times', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = new FakeClock({ settleRounds: 1 });
      const times = new RequeueTimes({ clock });
      const model = new Map<string, number>();
      for (const each of steps) {
        const now = clock.monotonicMs();
        switch (each.op) {
          case 'set':
            times.set(each.uid, each.afterMs);
            model.set(each.uid, now + each.afterMs);
            break;
          case 'setAbout':
            times.setAbout(each.uid, each.afterMs);
            model.set(each.uid, Math.ceil((now + each.afterMs) / 1_000) * 1_000);
            break;
          case 'delete':
            times.delete(each.uid);
            model.delete(each.uid);
            break;
          case 'takeDue': {
            const due = [...model].filter(([, atMs]) => atMs <= now);
            const taken = times.takeDue();
            expect([...taken].sort()).toEqual(due.map(([name]) => name).sort());
            const dueAtMs = taken.map((name) => model.get(name)!);
            expect(dueAtMs).toEqual([...dueAtMs].sort((one, other) => one - other));
            for (const [name] of due) model.delete(name);
            break;
          }
          case 'ask':
            expect(times.nextInMs).toBe(
              model.size === 0 ? undefined : Math.max(0, Math.min(...model.values()) - now),
            );
            break;
          case 'advance':
            await clock.advance(each.ms);
        }
        expect(times.size).toBe(model.size);
      }
    }),
  );
});
