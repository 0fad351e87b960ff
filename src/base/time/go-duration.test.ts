import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatGoDuration, parseGoDuration } from './go-duration.js';

describe('formatGoDuration', () => {
  it.each([
    [0, '0s'],
    [0.000_001, '1ns'],
    [0.0015, '1.5µs'],
    [150, '150ms'],
    [1.5, '1.5ms'],
    [999.999_999, '999.999999ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [10_000, '10s'],
    [60_000, '1m0s'],
    [120_000, '2m0s'],
    [185_000, '3m5s'],
    [600_000, '10m0s'],
    [3_600_000, '1h0m0s'],
    [5_445_250, '1h30m45.25s'],
    [360_000_000, '100h0m0s'],
    [-1_500, '-1.5s'],
    [-0.000_000_1, '0s'],
  ])('prints %d ms as %s', (milliseconds, printed) => {
    expect(formatGoDuration(milliseconds)).toBe(printed);
  });
});

describe('parseGoDuration', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['1s', 1_000],
    ['300ms', 300],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.s', 1_000],
    ['1.1s', 1_100],
    ['2us', 0.002],
    ['2µs', 0.002],
    ['2μs', 0.002],
    ['7ns', 0.000_007],
    ['-1m', -60_000],
    ['+1m', 60_000],
    ['-0', 0],
    ['1s1s', 2_000],
  ])('reads %s as %d ms', (text, milliseconds) => {
    expect(parseGoDuration(text, '--period')).toBe(milliseconds);
  });

  it.each([
    '',
    ' ',
    '.s',
    '1',
    '1.5',
    '-5',
    '1 s',
    '1d',
    '1S',
    's',
    '1s ',
    ' 1s',
    '1s,',
    '1e3s',
    'NaNs',
    '--1s',
    '1ms5',
    '٣s',
  ])('rejects %j by name', (text) => {
    expect(() => parseGoDuration(text, '--period')).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        message: expect.stringContaining('--period') as string,
      }),
    );
  });

  it('says that the number is missing for a lone unit, and gives examples otherwise', () => {
    expect(() => parseGoDuration('30', '--period')).toThrow(
      '--period: "30" is not a duration: the unit is missing, as in 30s',
    );
    expect(() => parseGoDuration('soon', '--period')).toThrow('such as 500ms, 1s or 1m30s');
  });

  it('rejects what Go could not represent', () => {
    expect(parseGoDuration('2562047h', 'it')).toBe(2_562_047 * 3_600_000);
    expect(() => parseGoDuration('2562048h', 'it')).toThrow('longer than');
  });

  it('parses whatever was formatted', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 50), max: 2 ** 50 }), (nanoseconds) => {
        const milliseconds = nanoseconds / 1e6;
        expect(Math.round(parseGoDuration(formatGoDuration(milliseconds), 'it') * 1e6)).toBe(nanoseconds + 0);
      }),
    );
  });
});
