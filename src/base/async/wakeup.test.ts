import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { Wakeup } from './wakeup.js';

function aWait(delayMs: number | undefined) {
  const clock = new FakeClock();
  const wakeup = new Wakeup();
  const stopping = new AbortController();
  let awake = false;
  const wait = wakeup.wait(clock, delayMs, stopping.signal).finally(() => (awake = true));
  wait.catch(() => undefined);
  return { clock, wakeup, stopping, wait, isAwake: () => awake };
}

it('sleeps until time is up', async () => {
  const { clock, isAwake } = aWait(100);
  await clock.advance(99);
  expect(isAwake()).toBe(false);
  await clock.advance(1);
  expect(isAwake()).toBe(true);
});

it('ends at a wake, and removes its timer and listener', async () => {
  const { clock, wakeup, stopping, wait } = aWait(100);
  wakeup.wake();
  await wait;
  expect(clock.pendingTimers).toBe(0);
  expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
});

it('does not lose a wake that came while nobody slept, and merges two into one', async () => {
  const { clock, wakeup, stopping, wait } = aWait(0);
  await wait;
  wakeup.wake();
  wakeup.wake();
  await wakeup.wait(clock, undefined, stopping.signal);
  let awake = false;
  void wakeup.wait(clock, 50, stopping.signal).then(() => (awake = true));
  await clock.advance(49);
  expect(awake).toBe(false);
  await clock.advance(1);
  expect(awake).toBe(true);
});

it('sleeps without a limit until it is woken', async () => {
  const { clock, wakeup, isAwake } = aWait(undefined);
  await clock.advance(86_400_000);
  expect(isAwake()).toBe(false);
  wakeup.wake();
  await clock.settle();
  expect(isAwake()).toBe(true);
});

it('rejects with the reason of the signal', async () => {
  const { clock, stopping, wait } = aWait(100);
  const reason = new Error('enough');
  stopping.abort(reason);
  await expect(wait).rejects.toBe(reason);
  expect(clock.pendingTimers).toBe(0);
});
