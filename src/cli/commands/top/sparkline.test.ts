import { expect, it } from 'vitest';
import { formatMs } from './format-ms.js';
import { sparkline } from './sparkline.js';

it('draws each value as one character, the greatest as a whole block and what is not known as a gap', () => {
  expect(sparkline([0, 1, 2, 3.5, 7], 10)).toBe('▁▂▃▅█');
  expect(sparkline([undefined, 7], 10)).toBe(' █');
  expect(sparkline([1, 0, 7], 2)).toBe('▁█');
});

it('draws nothing but the lowest where nothing happens, and nothing where there is no room', () => {
  expect(sparkline([0, 0], 10)).toBe('▁▁');
  expect(sparkline([1], 0)).toBe('');
  expect(sparkline([], 10)).toBe('');
});

it('writes times in three digits or so', () => {
  const times = [undefined, 0, 0.44, 9.96, 12.4, 999.6, 1_234, 45_678, 119_999, 185_000, -3];
  expect(times.map(formatMs)).toEqual([
    '-',
    '0.0ms',
    '0.4ms',
    '10ms',
    '12ms',
    '1.00s',
    '1.23s',
    '45.7s',
    '119s',
    '3m5s',
    '0.0ms',
  ]);
});
