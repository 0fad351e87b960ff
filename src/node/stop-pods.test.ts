import { describe, expect, it } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { stopPods, type StopPodsOptions } from './stop-pods.js';

/** Ends the pods of an agent of which `left` says which it still has after so many seconds. */
async function stopped(left: (seconds: number) => readonly string[]) {
  let nowMs = 0;
  // Folders are really read: time passes in no other place than between two looks.
  const sleep = async (delayMs: number): Promise<void> => void (nowMs += delayMs);
  const clock = { monotonicMs: () => nowMs, sleep } as unknown as Clock;
  const logged: unknown[] = [];
  const logger = { ...SILENT_LOGGER, error: (...words: unknown[]) => void logged.push(words.at(-1)) };
  const parts = {
    desired: { all: () => [] },
    handlers: { handlePodRemoves: () => undefined },
    workers: { isKnown: () => false, isFinished: () => true },
    ...{ paths: { podsDir: '/nowhere' }, beginDrain: () => undefined },
    ownUids: () => left(nowMs / 1_000),
  } as unknown as StopPodsOptions['parts'];
  const result = await stopPods({ parts, clock, logger });
  return { result, seconds: Math.round(nowMs / 1_000), logged };
}

describe('pods that are stopped at the end of an agent', () => {
  it('have the time that they need as long as one after the other goes', async () => {
    const many = Array.from({ length: 20 }, (_, at) => `pod-${at}`);
    const { result, seconds, logged } = await stopped((now) => many.slice(Math.floor(now / 20)));
    expect({ result, logged }).toEqual({ result: true, logged: [] });
    expect(seconds).toBeGreaterThanOrEqual(400);
  });

  it('are left to themselves when none has gone for half a minute after their grace period', async () => {
    const { result, seconds, logged } = await stopped((now) => (now < 50 ? ['stuck', 'slow'] : ['stuck']));
    expect({ result, logged }).toEqual({ result: false, logged: [{ pods: ['stuck'] }] });
    expect(seconds).toBeGreaterThanOrEqual(80);
    expect(seconds).toBeLessThan(85);
  });

  it('do not get more time because others come', async () => {
    const { result, seconds } = await stopped((now) =>
      Array.from({ length: 1 + now }, (_, at) => `pod-${at}`),
    );
    expect(result).toBe(false);
    expect(seconds).toBeLessThan(65);
  });
});
