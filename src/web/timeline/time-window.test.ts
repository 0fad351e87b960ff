import { describe, expect, it } from 'vitest';
import {
  MAX_SPAN_MS,
  NOW_AT,
  panBy,
  SHORTEST_MS,
  stepFor,
  ticksOf,
  windowAtNow,
  zoomAt,
} from './time-window.js';

const window = { fromMs: 1_000_000, toMs: 1_060_000 };

describe('a window of time', () => {
  it('keeps the moment under the pointer where it is when it is zoomed', () => {
    const atMs = 1_015_000;
    const next = zoomAt(window, 0.5, atMs);
    expect(next).toEqual({ fromMs: 1_007_500, toMs: 1_037_500 });
    expect((atMs - next.fromMs) / (next.toMs - next.fromMs)).toBeCloseTo(0.25);
  });

  it('has a second at least and some days at most', () => {
    const lengthOf = (factor: number): number => {
      const { fromMs, toMs } = zoomAt(window, factor, 1_030_000);
      return toMs - fromMs;
    };
    expect(lengthOf(1e-9)).toBeCloseTo(SHORTEST_MS);
    expect(lengthOf(1e9)).toBeCloseTo(MAX_SPAN_MS);
  });

  it('follows now near its right end, and does not move into the future', () => {
    const live = windowAtNow(60_000, 2_000_000);
    expect((2_000_000 - live.fromMs) / 60_000).toBeCloseTo(NOW_AT);
    expect(panBy(live, 0.5, 2_000_000)).toEqual(live);
    expect(panBy(live, -0.5, 2_000_000).fromMs).toBeCloseTo(live.fromMs - 30_000);
  });
});

describe('the ticks of the axis', () => {
  it.each([
    [1_000, 5, 200],
    [60_000, 10, 10_000],
    [3_600_000, 6, 600_000],
    [604_800_000, 8, 86_400_000],
  ])('of %d ms, at most %d, are %d ms apart', (length, most, step) => {
    expect(stepFor({ fromMs: 0, toMs: length }, most)).toBe(step);
  });

  it('stand at round local times and mark the begin of days', () => {
    const hour = 3_600_000;
    const ticks = ticksOf({ fromMs: 0, toMs: 48 * hour }, 12 * hour, 2 * hour);
    expect(ticks.map(({ atMs, isDay }) => [atMs / hour, isDay])).toEqual([
      [10, false],
      [22, true],
      [34, false],
      [46, true],
    ]);
  });
});
