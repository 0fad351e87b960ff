import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatIpv4, parseIpv4, parseIpv4Range } from '#base/wire/ipv4-range.js';
import { findFreeAddress } from './sandbox-link.js';

describe('a free address', () => {
  it('is never one that is used, the gateway’s or a reserved one, and is found as long as there is one', () => {
    const cases = fc.record({
      prefix: fc.integer({ min: 27, max: 30 }),
      used: fc.uniqueArray(fc.integer({ min: 2, max: 30 })),
      after: fc.integer({ min: 0, max: 40 }),
    });
    fc.assert(
      fc.property(cases, ({ prefix, used, after }) => {
        const range = parseIpv4Range(`10.88.0.0/${prefix}`)!;
        const last = 2 ** (32 - prefix) - 2;
        const usable = Array.from({ length: last - 1 }, (_, index) => index + 2);
        const taken = new Set(used.map((offset) => formatIpv4(range.network + offset)));
        const found = findFreeAddress(range, taken, range.network + after);
        const free = usable.filter((offset) => !used.includes(offset));
        if (free.length === 0) expect(found).toBeUndefined();
        else expect(free).toContain(found! - range.network);
      }),
    );
  });

  it('is not the one that was given away last, so that it rests for a while', () => {
    const range = parseIpv4Range('10.88.0.0/16')!;
    expect(findFreeAddress(range, new Set(), 0)).toBe(parseIpv4('10.88.0.2'));
    expect(findFreeAddress(range, new Set(), parseIpv4('10.88.0.2')!)).toBe(parseIpv4('10.88.0.3'));
    expect(findFreeAddress(range, new Set(), parseIpv4('10.88.255.254')!)).toBe(parseIpv4('10.88.0.2'));
  });
});
