import { describe, expect, it } from 'vitest';
import { OLDEST_STAMP, SystemClock } from './clock.js';

it('returns stamps that only increase', () => {
  const clock = new SystemClock();
  const stamps = Array.from({ length: 1_000 }, () => clock.stamp());
  expect(stamps[0]).toBeGreaterThan(OLDEST_STAMP);
  expect(stamps.every((stamp, index) => index === 0 || stamp > stamps[index - 1]!)).toBe(true);
});

it('sleeps no shorter than requested', async () => {
  const clock = new SystemClock();
  const start = clock.monotonicMs();
  await clock.sleep(5);
  // Node rounds its timers to whole milliseconds, either way.
  expect(clock.monotonicMs() - start).toBeGreaterThanOrEqual(4);
});

it("rejects a sleep with the signal's own reason, before or during the sleep", async () => {
  const clock = new SystemClock();
  const reason = { not: 'even an error' };
  const stopping = new AbortController();
  const asleep = clock.sleep(60_000, stopping.signal);
  stopping.abort(reason);
  await expect(asleep).rejects.toBe(reason);
  await expect(clock.sleep(0, stopping.signal)).rejects.toBe(reason);
});

it('calls a timer once, and a cancelled one never', async () => {
  const clock = new SystemClock();
  const called: string[] = [];
  const cancelled = clock.setTimer(1, () => called.push('cancelled'));
  cancelled.cancel();
  await new Promise<void>((resolve) => {
    clock.setTimer(1, () => {
      called.push('kept');
      resolve();
    });
  });
  await clock.sleep(3);
  expect(called).toEqual(['kept']);
});

it('reads the wall clock of the machine', () => {
  const before = Date.now();
  const now = new SystemClock().now();
  expect(now).toBeGreaterThanOrEqual(before);
  expect(now).toBeLessThanOrEqual(Date.now());
});

describe("a timer beyond Node's limit", () => {
  it('does not fire at once, and can be cancelled', async () => {
    const clock = new SystemClock();
    let fired = false;
    const timer = clock.setTimer(2 ** 40, () => (fired = true), { unref: true });
    const abort = new AbortController();
    const sleep = clock.sleep(2 ** 40, abort.signal);
    await clock.sleep(5);
    expect(fired).toBe(false);
    timer.cancel();
    abort.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
  });
});
