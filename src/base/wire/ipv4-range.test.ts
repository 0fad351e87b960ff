import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatIpv4, formatIpv4Range, overlap, parseIpv4, parseIpv4Range, sizeOf } from './ipv4-range.js';

const ranges = fc
  .tuple(fc.nat(2 ** 32 - 1), fc.integer({ min: 0, max: 32 }))
  .map(([address, prefix]) => parseIpv4Range(`${formatIpv4(address)}/${prefix}`)!);

describe('a range of IPv4 addresses', () => {
  it('reads back what it writes', () => {
    fc.assert(
      fc.property(ranges, (range) => {
        expect(parseIpv4Range(formatIpv4Range(range))).toEqual(range);
        expect(parseIpv4(formatIpv4(range.network))).toBe(range.network);
      }),
    );
  });

  it('cuts off the bits behind the prefix, and takes an address for a range of one', () => {
    expect(parseIpv4Range('10.88.7.9/16')).toEqual({ network: 0x0a580000, prefix: 16 });
    expect(parseIpv4Range('255.255.255.255')).toEqual({ network: 0xffffffff, prefix: 32 });
    expect(sizeOf(parseIpv4Range('0.0.0.0/0')!)).toBe(2 ** 32);
  });

  it.each([
    '',
    'default',
    '10.0.0',
    '10.0.0.0.0',
    '10.0.0.256',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fd00::/8',
    '-1.0.0.0',
    '1e1.0.0.0',
  ])('does not read %j', (text) => expect(parseIpv4Range(text)).toBeUndefined());

  it('overlaps another exactly when one lies in the other', () => {
    fc.assert(
      fc.property(ranges, ranges, (a, b) => {
        const [wide, narrow] = a.prefix <= b.prefix ? [a, b] : [b, a];
        const inside = narrow.network >= wide.network && narrow.network < wide.network + sizeOf(wide);
        expect(overlap(a, b)).toBe(inside);
      }),
    );
    expect(overlap(parseIpv4Range('10.88.0.0/16')!, parseIpv4Range('10.0.0.0/8')!)).toBe(true);
    expect(overlap(parseIpv4Range('10.88.0.0/16')!, parseIpv4Range('10.89.0.0/16')!)).toBe(false);
  });
});
