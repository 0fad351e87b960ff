import { describe, expect, it } from 'vitest';
import { formatIpv4Range, overlap, parseIpv4Range } from '#base/wire/ipv4-range.js';
import { bridgeNameOf, candidateRanges, describeOverlap } from './range-choice.js';

describe('the choice of a range for pods', () => {
  it('has candidates that do not overlap one another, with names that fit', () => {
    const candidates = [...candidateRanges()];
    expect(formatIpv4Range(candidates[0]!)).toBe('10.88.0.0/16');
    const pairs = candidates.flatMap((a, index) => candidates.slice(index + 1).map((b) => overlap(a, b)));
    expect(pairs).not.toContain(true);
    const names = candidates.map(bridgeNameOf);
    expect(new Set(names).size).toBe(candidates.length);
    // IFNAMSIZ is 16, with the byte that ends it.
    expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(15);
  });

  it('minds routes to wider and to narrower networks, and to single addresses', () => {
    const range = parseIpv4Range('10.88.0.0/16')!;
    for (const dst of ['10.0.0.0/8', '10.88.3.0/24', '10.88.1.1', '10.88.0.0/16']) {
      expect(describeOverlap(range, [{ dst, dev: 'tun0' }])).toContain(' on tun0; choose another');
    }
    expect(describeOverlap(range, [{ dst: '10.88.1.1' }])).toBe(
      'the pod range 10.88.0.0/16 overlaps the route to 10.88.1.1/32; choose another',
    );
  });

  it('does not mind default routes in whole or in halves, its own bridge, nor IPv6', () => {
    const range = parseIpv4Range('10.88.0.0/16')!;
    const routes = ['default', '0.0.0.0/1', '128.0.0.0/1', 'fd00::/8', '10.89.0.0/16'].map((dst) => ({
      dst,
    }));
    const own = { dst: '10.88.0.0/16', dev: 'podloop0a580000' };
    expect(describeOverlap(range, [...routes, own])).toBeUndefined();
  });
});
