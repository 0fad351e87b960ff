import { describe, expect, it } from 'vitest';
import { SeriesHistogram } from './series-histogram.js';

const textOf = (histogram: SeriesHistogram<'pod'>): string => [...histogram.pieces()].join('');

describe('a histogram of series that come and go', () => {
  it('writes each of them with buckets that add up', () => {
    const histogram = new SeriesHistogram<'pod'>('a_seconds', [0.5, 1]);
    for (const value of [0.5, 0.7, 3]) histogram.observe({ pod: 'x"y' }, value);
    expect(textOf(histogram).split('\n')).toEqual([
      'a_seconds_bucket{le="0.5",pod="x\\"y"} 1',
      'a_seconds_bucket{le="1",pod="x\\"y"} 2',
      'a_seconds_bucket{le="+Inf",pod="x\\"y"} 3',
      'a_seconds_sum{pod="x\\"y"} 4.2',
      'a_seconds_count{pod="x\\"y"} 3',
      '',
    ]);
  });

  it('forgets a series that was removed, and starts it again', () => {
    const histogram = new SeriesHistogram<'pod'>('a_seconds', [1]);
    histogram.observe({ pod: 'x' }, 5);
    histogram.remove({ pod: 'x' });
    expect(textOf(histogram)).toBe('');
    histogram.observe({ pod: 'x' }, 1);
    expect(textOf(histogram)).toContain('a_seconds_sum{pod="x"} 1\n');
  });

  it('takes no number that is none', () => {
    const histogram = new SeriesHistogram<'pod'>('a_seconds', [1]);
    for (const value of [Number.NaN, Infinity])
      expect(() => histogram.observe({ pod: 'x' }, value)).toThrow();
    expect(textOf(histogram)).toBe('');
  });
});
