import { describe, expect, it } from 'vitest';
import { type StreamState } from '../announced/event-hints.js';
import {
  type CadenceOptions,
  computeCadence,
  DEFAULT_CADENCE,
  longestThreshold,
  PLEG_MODES,
} from './relist-cadence.js';

const DOWN: readonly StreamState[] = ['off', 'connecting', 'waiting', 'unsupported'];
const USUAL = { periodMs: 1_000, thresholdMs: 180_000 };

describe('computeCadence', () => {
  it.each(PLEG_MODES)('is one second and three minutes in mode %s while the stream is not up', (mode) => {
    for (const stream of DOWN) {
      expect(
        computeCadence({ ...DEFAULT_CADENCE, mode }, { stream, announcedInARow: 1_000, quietRelists: 0 }),
      ).toEqual(USUAL);
    }
  });

  it('is the same in mode generic whatever the stream does', () => {
    const options = { ...DEFAULT_CADENCE, mode: 'generic' } as const;
    expect(computeCadence(options, { stream: 'up', announcedInARow: 1_000, quietRelists: 0 })).toEqual(USUAL);
  });

  it('is five and ten minutes in mode evented while the stream is up', () => {
    const options = { ...DEFAULT_CADENCE, mode: 'evented' } as const;
    expect(computeCadence(options, { stream: 'up', announcedInARow: 0, quietRelists: 0 })).toEqual({
      periodMs: 300_000,
      thresholdMs: 600_000,
    });
  });

  it('stretches to ten seconds in mode auto once ten changes in a row were announced and a relist found no other', () => {
    const options = { ...DEFAULT_CADENCE, mode: 'auto' } as const;
    expect(computeCadence(options, { stream: 'up', announcedInARow: 9, quietRelists: 9 })).toEqual(USUAL);
    expect(computeCadence(options, { stream: 'up', announcedInARow: 10, quietRelists: 0 })).toEqual(USUAL);
    expect(computeCadence(options, { stream: 'up', announcedInARow: 10, quietRelists: 1 })).toEqual({
      periodMs: 10_000,
      thresholdMs: 180_000,
    });
  });

  it('continues to a minute in mode auto, doubling with each quiet relist', () => {
    const periodAfter = (quietRelists: number, options: Partial<CadenceOptions> = {}): number =>
      computeCadence(
        { ...DEFAULT_CADENCE, mode: 'auto', ...options },
        { stream: 'up', announcedInARow: 10, quietRelists },
      ).periodMs;
    expect([1, 2, 3, 4, 5, 10_000].map((quiet) => periodAfter(quiet))).toEqual([
      10_000, 20_000, 40_000, 60_000, 60_000, 60_000,
    ]);
    // A longer configured period is the first step.
    expect([1, 2].map((quiet) => periodAfter(quiet, { stretchedPeriodMs: 80_000 }))).toEqual([
      80_000, 80_000,
    ]);
    expect([1, 2].map((quiet) => periodAfter(quiet, { longestStretchedPeriodMs: 10_000 }))).toEqual([
      10_000, 10_000,
    ]);
    expect(periodAfter(9, { relistThresholdMs: 50_000 })).toBe(25_000);
  });

  it('never makes a period shorter than the usual one, or longer than half of the threshold', () => {
    const up = { stream: 'up', announcedInARow: 100, quietRelists: 1 } as const;
    const slow = { ...DEFAULT_CADENCE, relistPeriodMs: 400_000, relistThresholdMs: 900_000 };
    for (const mode of ['auto', 'evented'] as const) {
      expect(computeCadence({ ...slow, mode }, up).periodMs).toBe(400_000);
    }
    const strict = { ...DEFAULT_CADENCE, relistThresholdMs: 5_000, mode: 'auto' } as const;
    expect(computeCadence(strict, up)).toEqual({ periodMs: 2_500, thresholdMs: 5_000 });
  });
});

it('knows the longest threshold of each mode', () => {
  expect(PLEG_MODES.map((mode) => longestThreshold({ ...DEFAULT_CADENCE, mode }))).toEqual([
    180_000, 600_000, 180_000,
  ]);
});
