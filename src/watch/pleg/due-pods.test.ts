import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { podOf } from '#support/harness/pleg-harness.js';
import { PodloopError } from '#base/errors/errors.js';
import { DuePods } from './due-pods.js';
import { PodRecord } from './pod-records.js';

const FAILED = new PodloopError('CRI_INTERNAL', 'shim is gone');
const HUNG = new PodloopError('INSPECTION_DEADLINE', 'no answer');
const AWAY = new PodloopError('CRI_UNAVAILABLE', 'connection refused');

function setUp(clock = new FakeClock()): {
  clock: FakeClock;
  due: DuePods;
  retried: string[];
  record: PodRecord;
} {
  const retried: string[] = [];
  const due = new DuePods({ clock, onRetry: ({ pod }) => retried.push(pod.uid) });
  const record = new PodRecord(podOf('a', { c1: 'running' }));
  due.add(record);
  return { clock, due, retried, record };
}

describe('pods that are due', () => {
  it('are so since they became due, until the runtime answers for any', async () => {
    const { clock, due, record } = setUp();
    await clock.advance(1_000);
    due.add(record);
    expect(due.fruitlessMs()).toBe(1_000);
    due.noteAnswer();
    await clock.advance(500);
    expect(due.fruitlessMs()).toBe(500);
    due.delete(record);
    expect([due.fruitlessMs(), due.size, due.has(record)]).toEqual([0, 0, false]);
  });

  it('are stuck once their inspection is slow or has failed, until one succeeds', async () => {
    const { clock, due, record } = setUp();
    expect(due.stuckPods(1).count).toBe(0);
    due.noteSlow(record);
    await clock.advance(2_000);
    expect(due.stuckPods(1).pods).toMatchObject([{ state: 'hung', forMs: 2_000, error: undefined }]);
    due.noteFailure(record, FAILED);
    expect(due.stuckPods(1).pods).toMatchObject([{ state: 'failing', forMs: 2_000, error: 'shim is gone' }]);
    due.noteSuccess(record);
    expect(due.stuckPods(1).count).toBe(0);
    expect(due.has(record)).toBe(true);
  });

  it('wait out their delay; failed ones only unless a retry is requested', () => {
    const { due, record } = setUp();
    // The first retry after a failure is made at once.
    due.noteFailure(record, FAILED);
    due.noteFailure(record, FAILED);
    expect([due.mustWait(record, false), due.mustWait(record, true)]).toEqual([true, false]);
    due.noteFailure(record, HUNG);
    expect([due.mustWait(record, false), due.mustWait(record, true)]).toEqual([true, true]);
    due.forgetDelays();
    expect(due.mustWait(record, false)).toBe(false);
  });

  it('are not blamed for a runtime that is away', () => {
    const { due, record } = setUp();
    due.noteFailure(record, AWAY);
    expect(due.stuckPods(1).count).toBe(0);
    expect(record.backoff.failures).toBe(0);
    expect(due.mustWait(record, false)).toBe(true);
  });

  it('are retried by timer between startRetries and stopRetries, including one that failed before', async () => {
    const { clock, due, retried, record } = setUp();
    due.noteFailure(record, FAILED);
    expect(clock.pendingTimers).toBe(0);
    due.startRetries();
    await clock.advance(0);
    expect(retried).toEqual(['a']);
    due.noteFailure(record, FAILED);
    due.stopRetries();
    expect(clock.pendingTimers).toBe(0);
    due.startRetries();
    due.delete(record);
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(60_000);
    expect(retried).toEqual(['a']);
  });

  it('need not wait any longer when their timer fires slightly early, as timers may', async () => {
    const clock = new FakeClock({ firesEarly: true });
    const { due, record } = setUp(clock);
    due.noteFailure(record, HUNG);
    due.noteFailure(record, HUNG);
    const dueMs = record.retryAtMs;
    due.startRetries();
    await clock.advanceUntil(() => clock.pendingTimers === 0);
    expect(clock.monotonicMs()).toBeLessThan(dueMs);
    expect(due.mustWait(record, true)).toBe(false);
  });
});
