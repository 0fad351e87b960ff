import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SpanIndex, type Spanning } from './span-index.js';

interface Item {
  fromMs: number;
  toMs: number | undefined;
}

const time = fc.integer({ min: 0, max: 10_000_000 });
const item: fc.Arbitrary<Item> = fc
  .record({
    begin: fc.option(time, { freq: 10 }),
    lengthMs: fc.option(fc.oneof(fc.integer({ min: 0, max: 3_000 }), time), { freq: 5 }),
  })
  .map(({ begin, lengthMs }) => ({
    fromMs: begin ?? -Infinity,
    toMs: lengthMs === null ? undefined : (begin ?? 0) + lengthMs,
  }));

it('finds the same spans as one by one, also of those that ended after they were added', () => {
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 60 }),
      fc.array(fc.tuple(time, time), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 10 }),
      (items, windows, ends) => {
        const index = new SpanIndex<Item>();
        for (const each of items) index.add(each);
        for (const [one, other] of windows) {
          const [fromMs, toMs] = [Math.min(one, other), Math.max(one, other)];
          const isIn = (each: Spanning): boolean => each.fromMs <= toMs && (each.toMs ?? Infinity) >= fromMs;
          const found = index.between(fromMs, toMs);
          expect(found).toHaveLength(items.filter(isIn).length);
          expect(new Set(found)).toEqual(new Set(items.filter(isIn)));
          // Some begin to be known, some end.
          for (const end of ends) {
            const lasting = items[end % Math.max(1, items.length)];
            if (lasting === undefined || lasting.toMs !== undefined) continue;
            if (lasting.fromMs === -Infinity) lasting.fromMs = end % 1_000_000;
            lasting.toMs = lasting.fromMs + (end % 100_000);
          }
        }
      },
    ),
  );
});
