import { describe, expect, it } from 'vitest';
import { formatHumanDuration } from './human-duration.js';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

describe('an age', () => {
  it.each([
    [-5, '0s'],
    [999, '0s'],
    [119_999, '119s'],
    [2 * MINUTE, '2m'],
    [5 * MINUTE + 10_000, '5m10s'],
    [10 * MINUTE + 10_000, '10m'],
    [179 * MINUTE, '179m'],
    [3 * HOUR, '3h'],
    [4 * HOUR + 5 * MINUTE, '4h5m'],
    [8 * HOUR + 5 * MINUTE, '8h'],
    [47 * HOUR, '47h'],
    [2 * DAY, '2d'],
    [3 * DAY + 2 * HOUR, '3d2h'],
    [8 * DAY + 2 * HOUR, '8d'],
    [729 * DAY, '729d'],
    [730 * DAY, '2y'],
    [800 * DAY, '2y70d'],
    [365 * 8 * DAY + DAY, '8y'],
  ])('of %i ms is shown as %s', (ms, text) => {
    expect(formatHumanDuration(ms)).toBe(text);
  });
});
