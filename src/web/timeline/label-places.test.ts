import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LabelPlaces } from './label-places.js';

const room = { fromPx: 0, toPx: 100, widthPx: 30, isAtEnd: false };

it('gives the begin or the end of what is named, and then what is free beside it', () => {
  const places = new LabelPlaces([]);
  expect(places.take(room)).toBe(0);
  expect(places.take(room)).toBe(33);
  expect(places.take({ ...room, isAtEnd: true })).toBe(70);
  expect(places.take(room)).toBeUndefined();
});

it('keeps away from signs, and gives nothing where words have no room', () => {
  expect(new LabelPlaces([{ fromPx: 88, toPx: 104 }]).take({ ...room, isAtEnd: true })).toBe(55);
  expect(new LabelPlaces([{ fromPx: 20, toPx: 80 }]).take(room)).toBeUndefined();
  expect(new LabelPlaces([]).take({ ...room, widthPx: 101 })).toBeUndefined();
});

it('puts no words over others, nor outside of what they name', () => {
  const rooms = fc.record({
    ...{ fromPx: fc.integer({ min: 0, max: 300 }), lengthPx: fc.integer({ min: 1, max: 300 }) },
    ...{ widthPx: fc.integer({ min: 5, max: 80 }), isAtEnd: fc.boolean() },
  });
  fc.assert(
    fc.property(fc.array(rooms), (all) => {
      const places = new LabelPlaces([]);
      const taken: [number, number][] = [];
      for (const { lengthPx, ...each } of all) {
        const toPx = each.fromPx + lengthPx;
        const left = places.take({ ...each, toPx });
        if (left === undefined) continue;
        expect(left).toBeGreaterThanOrEqual(each.fromPx);
        expect(left + each.widthPx).toBeLessThanOrEqual(toPx);
        for (const [from, to] of taken) expect(left >= to || left + each.widthPx <= from).toBe(true);
        taken.push([left, left + each.widthPx]);
      }
    }),
  );
});
