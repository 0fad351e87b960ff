import { describe, expect, it } from 'vitest';

import { FakeClock } from '#testing/fake-clock.js';
import { startFairDeadline } from './fair-deadline.js';

describe('a fair deadline', () => {
  it('expires when its time is over, once', async () => {
    const clock = new FakeClock();
    let expired = 0;
    startFairDeadline({ clock, deadlineMs: 100, onExpired: () => expired++ });
    await clock.advance(99);
    expect(expired).toBe(0);
    await clock.advance(1);
    expect(expired).toBe(1);
    await clock.advance(10_000);
    expect(expired).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not expire once cancelled, not even between its timer and the reading of input', async () => {
    const clock = new FakeClock({ settleRounds: 0 });
    let expired = 0;
    const deadline = startFairDeadline({ clock, deadlineMs: 100, onExpired: () => expired++ });
    await clock.advance(100);
    deadline.cancel();
    for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
    expect(expired).toBe(0);
  });

  it('adds a grace about as long as the stall when its timer fires late', async () => {
    const clock = new FakeClock();
    let expired = 0;
    startFairDeadline({ clock, deadlineMs: 100, onExpired: () => expired++ });
    clock.stall(400);
    await clock.advance(0);
    await clock.advance(299);
    expect(expired).toBe(0);
    await clock.advance(1);
    expect(expired).toBe(1);
  });

  it('expires in the end although the loop stalls every time', async () => {
    const clock = new FakeClock();
    let expired = 0;
    startFairDeadline({ clock, deadlineMs: 100, onExpired: () => expired++ });
    for (let tries = 0; tries < 20; tries++) {
      clock.stall(5_000);
      await clock.advance(0);
    }
    expect(expired).toBe(1);
  });

  it("supports times beyond Node's timers", async () => {
    const clock = new FakeClock();
    const deadline = startFairDeadline({ clock, deadlineMs: 2 ** 40, onExpired: () => undefined });
    expect(clock.nextTimerInMs).toBe(2 ** 31 - 1);
    deadline.cancel();
    expect(clock.pendingTimers).toBe(0);
  });
});
