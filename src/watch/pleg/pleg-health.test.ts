import { describe, expect, it } from 'vitest';
import { computeHealth, type HealthFacts } from './pleg-health.js';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 2);

const healthWith = (facts: Partial<HealthFacts>): ReturnType<typeof computeHealth> =>
  computeHealth({
    nowMs: NOW,
    thresholdMs: 3 * MINUTE,
    longestThresholdMs: 3 * MINUTE,
    lastSeenAgoMs: 1_000,
    thresholdAgeMs: 60 * MINUTE,
    listInFlightMs: undefined,
    lastListError: undefined,
    fruitlessMs: 0,
    lastInspectionError: undefined,
    stuckPods: [],
    stuckPodCount: 0,
    ...facts,
  });

describe('health', () => {
  it('is good up to the threshold, the threshold itself included', () => {
    const health = healthWith({ lastSeenAgoMs: 3 * MINUTE, fruitlessMs: 3 * MINUTE });
    expect(health).toMatchObject({ healthy: true, message: undefined, reason: undefined });
    expect(health.lastSeenAtMs).toBe(NOW - 3 * MINUTE);
  });

  it('reports that there was no success yet, with the error of the list if there was one', () => {
    expect(healthWith({ lastSeenAgoMs: undefined, lastListError: 'no such file' })).toMatchObject({
      healthy: false,
      message: 'pleg has yet to be successful',
      reason: { kind: 'neverSucceeded', sinceMs: undefined, error: 'no such file' },
      lastSeenAtMs: undefined,
    });
  });

  it("reports when it was last seen active, in Go's format of durations", () => {
    const health = healthWith({ lastSeenAgoMs: 3 * MINUTE + 5_000 });
    expect(health.message).toBe('pleg was last seen active 3m5s ago; threshold is 3m0s');
    expect(healthWith({ lastSeenAgoMs: 3 * MINUTE + 1 }).message).toBe(
      'pleg was last seen active 3m0.001s ago; threshold is 3m0s',
    );
  });

  it.each([
    [{}, { kind: 'notRelisting', error: undefined }],
    [{ listInFlightMs: 90_000 }, { kind: 'listHanging', error: undefined }],
    [
      { listInFlightMs: 90_000, lastListError: 'timed out' },
      { kind: 'listHanging', error: 'timed out' },
    ],
    [{ lastListError: 'refused' }, { kind: 'listFailing', error: 'refused' }],
    [
      { lastListError: 'refused', listInFlightMs: 5 },
      { kind: 'listFailing', error: 'refused' },
    ],
  ])('names the reason why the lists are overdue: %o', (facts, reason) => {
    expect(healthWith({ lastSeenAgoMs: 4 * MINUTE, ...facts }).reason).toEqual({
      ...reason,
      sinceMs: NOW - 4 * MINUTE,
    });
  });

  it('is bad when no inspection has succeeded for as long, though lists are answered', () => {
    expect(healthWith({ fruitlessMs: 4 * MINUTE, lastInspectionError: 'shim is gone' })).toMatchObject({
      healthy: false,
      message: 'pleg was last seen active 4m0s ago; threshold is 3m0s',
      reason: { kind: 'inspectionsFailing', sinceMs: NOW - 4 * MINUTE, error: 'shim is gone' },
    });
  });

  it('does not compare a long period with a threshold that has just become shorter, but only for a limited time', () => {
    const shortened = { longestThresholdMs: 10 * MINUTE, lastSeenAgoMs: 5 * MINUTE };
    expect(healthWith({ ...shortened, thresholdAgeMs: MINUTE }).healthy).toBe(true);
    expect(healthWith({ ...shortened, thresholdAgeMs: 4 * MINUTE }).healthy).toBe(false);
    // The threshold may become shorter again and again: that is no excuse beyond the longest one.
    expect(healthWith({ ...shortened, lastSeenAgoMs: 11 * MINUTE, thresholdAgeMs: 0 }).healthy).toBe(false);
  });
});
