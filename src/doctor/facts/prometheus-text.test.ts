import { describe, expect, it } from 'vitest';
import { bucketsOf, bucketsSince, parseSamples, quantileOf } from './prometheus-text.js';

const PAGE = `# HELP kubelet_pleg_relist_duration_seconds Duration in seconds for relisting pods in PLEG.
# TYPE kubelet_pleg_relist_duration_seconds histogram
kubelet_pleg_relist_duration_seconds_bucket{le="0.5"} 60
kubelet_pleg_relist_duration_seconds_bucket{le="1"} 90
kubelet_pleg_relist_duration_seconds_bucket{le="+Inf"} 100
kubelet_pleg_relist_duration_seconds_sum 50
kubelet_pleg_last_seen_seconds 1.7e+09
op_bucket{operation_type="a\\"b\\nc\\\\",le="1"} 2 1700000000000
other 1
`;
const all = (): boolean => true;

describe('a page of Prometheus', () => {
  it('is read by samples, with what is escaped in labels', () => {
    const samples = parseSamples(PAGE, all);
    expect(samples).toHaveLength(7);
    expect(samples.find(({ name }) => name === 'kubelet_pleg_last_seen_seconds')?.value).toBe(1.7e9);
    expect(samples.find(({ name }) => name === 'op_bucket')).toEqual({
      ...{ name: 'op_bucket', value: 2, labels: { operation_type: 'a"b\nc\\', le: '1' } },
    });
    expect(parseSamples(PAGE, (name) => name === 'other')).toEqual([{ name: 'other', labels: {}, value: 1 }]);
  });

  it('may be no such page at all', () => {
    expect(parseSamples('<html>\n404 page not found\n\n{} 1', all)).toEqual([]);
  });
});

describe('a quantile', () => {
  const buckets = bucketsOf(parseSamples(PAGE, all), 'kubelet_pleg_relist_duration_seconds').get('')!;

  it('is estimated within its bucket as Prometheus does', () => {
    expect(quantileOf(buckets, 0.5)).toBeCloseTo(0.5 * (50 / 60));
    expect(quantileOf(buckets, 0.75)).toBeCloseTo(0.75);
    expect(quantileOf(buckets, 0.99)).toBe(1);
    expect(quantileOf([], 0.99)).toBeUndefined();
    expect(quantileOf([{ le: 1, count: 0 }], 0.5)).toBeUndefined();
  });

  it('is of what came since, and of all where the counter began anew', () => {
    const before = [
      { le: 0.5, count: 50 },
      { le: 1, count: 60 },
      { le: Number.POSITIVE_INFINITY, count: 60 },
    ];
    expect(bucketsSince(buckets, before)).toEqual([
      { le: 0.5, count: 10 },
      { le: 1, count: 30 },
      { le: Number.POSITIVE_INFINITY, count: 40 },
    ]);
    expect(bucketsSince(before, buckets)).toEqual(before);
    expect(bucketsSince(buckets, [])).toEqual(buckets);
  });
});
