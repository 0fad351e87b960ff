import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { settlesWithin } from './settles-within.js';

describe('waiting for something to end', () => {
  it('is over when it settles in any way, and leaves no timer behind', async () => {
    const clock = new FakeClock();
    expect(await settlesWithin(Promise.resolve(1), 100, clock)).toBe(true);
    expect(await settlesWithin(Promise.reject(new Error('no')), 100, clock)).toBe(true);
    expect(await settlesWithin(Promise.resolve(), 0, clock)).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is over when time is up, and ignores what comes later', async () => {
    const clock = new FakeClock();
    let fail: (error: Error) => void = () => undefined;
    const never = new Promise((_resolve, reject) => (fail = reject));
    const waiting = settlesWithin(never, 100, clock);
    await clock.advance(100);
    expect(await waiting).toBe(false);
    fail(new Error('late'));
    await clock.settle();
  });
});
