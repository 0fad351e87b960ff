import { expect, it } from 'vitest';
import { FakeClock } from './fake-clock.js';

it('stands still until it is moved', async () => {
  const clock = new FakeClock({ nowMs: 5_000 });
  await clock.settle();
  expect(clock.now()).toBe(5_000);
  await clock.advance(250);
  expect(clock.now()).toBe(5_250);
});

it('starts at the same instant in every test', () => {
  expect(new Date(new FakeClock().now()).toISOString()).toBe('2026-01-02T03:04:05.000Z');
});

it('fires timers in the order of their due times, and of their setting where these are equal', async () => {
  const clock = new FakeClock();
  const fired: string[] = [];
  clock.setTimer(20, () => fired.push('20'));
  clock.setTimer(10, () => fired.push('10 first'));
  clock.setTimer(10, () => fired.push('10 second'));
  clock.setTimer(21, () => fired.push('21'));
  await clock.advance(20);
  expect(fired).toEqual(['10 first', '10 second', '20']);
  expect(clock.pendingTimers).toBe(1);
  expect(clock.nextTimerInMs).toBe(1);
});

it('shows each timer the time that it was due at', async () => {
  const clock = new FakeClock();
  const start = clock.monotonicMs();
  const seen: number[] = [];
  clock.setTimer(30, () => seen.push(clock.monotonicMs() - start));
  clock.setTimer(70, () => seen.push(clock.monotonicMs() - start));
  await clock.advance(100);
  expect(seen).toEqual([30, 70]);
  expect(clock.monotonicMs() - start).toBe(100);
});

it('fires timers up to two milliseconds early where told, as Node counts whole ones, and never at once', async () => {
  const clock = new FakeClock({ firesEarly: true });
  const start = clock.monotonicMs();
  await clock.advance(0.9);
  const seen: number[] = [];
  for (const delayMs of [10.9, 0.3, 0]) clock.setTimer(delayMs, () => seen.push(clock.monotonicMs() - start));
  await clock.advance(20);
  expect(seen).toEqual([1, 1, 10]);
});

it('fires a timer that was set by another one on the way', async () => {
  const clock = new FakeClock();
  let ticks = 0;
  const tick = (): void => {
    ticks++;
    clock.setTimer(10, tick);
  };
  clock.setTimer(10, tick);
  await clock.advance(100);
  expect(ticks).toBe(10);
});

it('lets promise chains and setImmediate run to their end between two timers', async () => {
  const clock = new FakeClock();
  const order: string[] = [];
  void (async () => {
    await clock.sleep(10);
    for (let i = 0; i < 50; i++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    order.push('chain of the first');
  })();
  clock.setTimer(11, () => order.push('second'));
  await clock.advance(20);
  expect(order).toEqual(['chain of the first', 'second']);
});

it('does not fire a cancelled timer', async () => {
  const clock = new FakeClock();
  let fired = false;
  clock.setTimer(10, () => (fired = true)).cancel();
  await clock.advance(20);
  expect(fired).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});

it('rejects a sleep with the reason of its signal, and takes its timer away', async () => {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const reason = new Error('enough');
  const asleep = clock.sleep(1_000, stopping.signal);
  stopping.abort(reason);
  await expect(asleep).rejects.toBe(reason);
  expect(clock.pendingTimers).toBe(0);
  await expect(clock.sleep(1_000, stopping.signal)).rejects.toBe(reason);
});

it('hands out stamps that only grow, whatever the clock on the wall does', () => {
  const clock = new FakeClock();
  const first = clock.stamp();
  clock.jumpWallClock(-3_600_000);
  expect(clock.stamp()).toBeGreaterThan(first);
});

it('moves the wall clock without moving durations or firing timers', async () => {
  const clock = new FakeClock();
  const [wall, monotonic] = [clock.now(), clock.monotonicMs()];
  let fired = false;
  clock.setTimer(1_000, () => (fired = true));
  clock.jumpWallClock(-60_000);
  await clock.advance(0);
  expect(clock.now()).toBe(wall - 60_000);
  expect(clock.monotonicMs()).toBe(monotonic);
  expect(fired).toBe(false);
});

it('fires what fell due in a stall late, with the time after it', async () => {
  const clock = new FakeClock();
  const start = clock.monotonicMs();
  const seen: number[] = [];
  clock.setTimer(10, () => seen.push(clock.monotonicMs() - start));
  clock.stall(500);
  expect(seen).toEqual([]);
  await clock.advance(0);
  expect(seen).toEqual([500]);
});

it('advances until a condition holds and no further', async () => {
  const clock = new FakeClock();
  const start = clock.monotonicMs();
  let ticks = 0;
  const tick = (): void => {
    ticks++;
    clock.setTimer(10, tick);
  };
  clock.setTimer(10, tick);
  await clock.advanceUntil(() => ticks === 3);
  expect(clock.monotonicMs() - start).toBe(30);
  await expect(clock.advanceUntil(() => false, 100)).rejects.toThrow('condition not met within 100 ms');
});

it('refuses to be moved twice at once, back, or by a timer that Node could not hold', async () => {
  const clock = new FakeClock();
  const first = clock.advance(1);
  await expect(clock.advance(1)).rejects.toThrow('being advanced already');
  await first;
  await expect(clock.advance(-1)).rejects.toThrow(RangeError);
  expect(() => clock.setTimer(2 ** 31, () => undefined)).toThrow(RangeError);
  expect(() => clock.setTimer(Number.NaN, () => undefined)).toThrow(RangeError);
});

it('rejects with what a timer throws, and can be moved on', async () => {
  const clock = new FakeClock();
  clock.setTimer(10, () => {
    throw new Error('from the callback');
  });
  await expect(clock.advance(20)).rejects.toThrow('from the callback');
  await clock.advance(20);
});
