import { describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../watch/observed/labels.js';
import {
  computeRestartStep,
  DEFAULT_RESTART_BACKOFF,
  formatBackoffMessage,
  readRestartDelayMs,
} from './restart-backoff.js';

const TEN_MINUTES_MS = 600_000;

describe('containers that end again and again', () => {
  it('are started at once, and then after 10 s doubling to 5 min', () => {
    const delays: number[] = [];
    let { nextDelayMs } = computeRestartStep(undefined);
    for (let crash = 0; crash < 9; crash++) {
      const step = computeRestartStep({ restartDelayMs: nextDelayMs, ranForMs: 1_000, endedForMs: 0 });
      delays.push(step.delayMs / 1000);
      ({ nextDelayMs } = step);
    }
    expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('are started at once again after they ran for 10 min', () => {
    const ended = { restartDelayMs: 300_000, endedForMs: 0 };
    expect(computeRestartStep({ ...ended, ranForMs: TEN_MINUTES_MS - 1 }).remainingMs).toBe(300_000);
    expect(computeRestartStep({ ...ended, ranForMs: TEN_MINUTES_MS })).toEqual({
      delayMs: 0,
      remainingMs: 0,
      nextDelayMs: 10_000,
    });
  });

  it.each([
    [0, 40_000],
    [39_999, 1],
    [40_000, 0],
    [10 ** 9, 0],
    [-5_000, 40_000],
  ])('%i ms after their end wait for %i ms more', (endedForMs, remainingMs) => {
    expect(computeRestartStep({ restartDelayMs: 40_000, ranForMs: 0, endedForMs }).remainingMs).toBe(
      remainingMs,
    );
  });

  it('heed limits that were set lower meanwhile', () => {
    const options = { initialMs: 1_000, maxMs: 4_000, resetAfterMs: TEN_MINUTES_MS };
    const step = computeRestartStep({ restartDelayMs: 300_000, ranForMs: 0, endedForMs: 0 }, options);
    expect(step).toEqual({ delayMs: 4_000, remainingMs: 4_000, nextDelayMs: 4_000 });
    expect(computeRestartStep({ restartDelayMs: 0, ranForMs: 0, endedForMs: 0 }, options).nextDelayMs).toBe(
      1_000,
    );
  });
});

describe('what is to be waited after the end of a container', () => {
  const read = (written: string | undefined, restartCount = 0): number =>
    readRestartDelayMs({
      annotations: written === undefined ? {} : { [ANNOTATIONS.restartDelayMs]: written },
      restartCount,
    });

  it('is written on it', () => {
    expect([read('0', 5), read('40000'), read('300000')]).toEqual([0, 40_000, 300_000]);
  });

  it('is never more than the longest delay', () => {
    expect(read('999999999')).toBe(DEFAULT_RESTART_BACKOFF.maxMs);
  });

  it.each([undefined, '', '-1', '1e9', 'soon', '10s', '99999999999'])(
    'follows from the restart count where it says %o',
    (written) => {
      expect([0, 1, 2, 5, 6, 1_000].map((count) => read(written, count) / 1000)).toEqual([
        0, 10, 20, 160, 300, 300,
      ]);
    },
  );
});

it('the message is what a kubelet says', () => {
  const pod = { name: 'w-node1', namespace: 'default', uid: 'UID' };
  expect(formatBackoffMessage(10_000, 'a', pod)).toBe(
    'back-off 10s restarting failed container=a pod=w-node1_default(UID)',
  );
  expect(formatBackoffMessage(300_000, 'a', pod)).toContain('back-off 5m0s ');
});
