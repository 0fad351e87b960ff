import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { IdleTimer } from './idle-timer.js';

function setUp(timeoutMs: number) {
  const clock = new FakeClock();
  let idle = 0;
  const timer = new IdleTimer({ clock, timeoutMs, onIdle: () => idle++ });
  return { clock, timer, idleCalls: () => idle };
}

it('fires once, that long after the last sign of life', async () => {
  const { clock, timer, idleCalls } = setUp(1_000);
  await clock.advance(900);
  timer.touch();
  await clock.advance(999);
  expect(idleCalls()).toBe(0);
  await clock.advance(1);
  expect(idleCalls()).toBe(1);
  await clock.advance(10_000);
  expect(idleCalls()).toBe(1);
});

it('says nothing once it was stopped', async () => {
  const { clock, timer, idleCalls } = setUp(1_000);
  timer.stop();
  await clock.advance(5_000);
  expect(idleCalls()).toBe(0);
});
