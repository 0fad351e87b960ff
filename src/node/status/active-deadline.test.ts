import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { checkActiveDeadline } from './active-deadline.js';
import { ActiveTimes } from './active-times.js';

describe('the deadline of a pod', () => {
  it('is none by default', () => {
    expect(checkActiveDeadline(undefined, 10 ** 12)).toEqual({ exceeded: false, checkAgainInMs: undefined });
  });

  it('says when it will be up', () => {
    expect(checkActiveDeadline(30, 0)).toEqual({ exceeded: false, checkAgainInMs: 30_000 });
    expect(checkActiveDeadline(30, 29_999)).toEqual({ exceeded: false, checkAgainInMs: 1 });
  });

  it('ends the pod in Kubernetes’ words', () => {
    expect(checkActiveDeadline(30, 30_000)).toEqual({
      exceeded: true,
      end: {
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      },
    });
  });
});

describe('how long a pod has been active', () => {
  const isoOf = (ms: number): string => new Date(ms).toISOString();

  it('follows from its start, and from then on not from the clock on the wall', () => {
    const clock = new FakeClock();
    const times = new ActiveTimes({ clock });
    const start = isoOf(clock.now() - 40_000);
    expect(times.activeForMs('a', start)).toBe(40_000);
    clock.jumpWallClock(3_600_000);
    clock.stall(5_000);
    expect(times.activeForMs('a', start)).toBe(45_000);
    clock.jumpWallClock(-7_200_000);
    clock.stall(5_000);
    expect(times.activeForMs('a', start)).toBe(50_000);
  });

  it('is not negative where the start lies ahead', () => {
    const clock = new FakeClock();
    expect(new ActiveTimes({ clock }).activeForMs('a', isoOf(clock.now() + 60_000))).toBe(0);
  });

  it('is computed again for a pod that was forgotten', () => {
    const clock = new FakeClock();
    const times = new ActiveTimes({ clock });
    times.activeForMs('a', isoOf(clock.now() - 40_000));
    times.forget('a');
    expect(times.activeForMs('a', isoOf(clock.now()))).toBe(0);
  });
});
