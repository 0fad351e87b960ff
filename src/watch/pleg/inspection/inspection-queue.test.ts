import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InspectionQueue, type Queued } from './inspection-queue.js';

interface Item extends Queued {
  readonly name: number;
  waitsIn: object | undefined;
}

it('returns in order the items that have not left, as an array would', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constant('push' as const) },
    { weight: 2, arbitrary: fc.constant('shift' as const) },
    { weight: 2, arbitrary: fc.record({ leave: fc.nat(200) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
      const queue = new InspectionQueue<Item>();
      let model: Item[] = [];
      let name = 0;
      for (const one of steps) {
        if (one === 'push') {
          const item: Item = { name: name++, waitsIn: queue };
          queue.push(item);
          model.push(item);
        } else if (one === 'shift') {
          const item = queue.shift();
          expect(item).toBe(model.shift());
          if (item) item.waitsIn = undefined;
        } else if (model.length > 0) {
          const leaving = model[one.leave % model.length]!;
          leaving.waitsIn = undefined;
          queue.left();
          model = model.filter((item) => item !== leaving);
        }
        expect(queue.size).toBe(model.length);
      }
      while (model.length > 0) expect(queue.shift()).toBe(model.shift());
      expect(queue.shift()).toBeUndefined();
    }),
  );
});

it('checks each of many that leave at once only a few times', () => {
  let asked = 0;
  const queue = new InspectionQueue<Queued & { gone: boolean }>();
  const items = Array.from({ length: 20_000 }, () => ({
    gone: false,
    get waitsIn(): object | undefined {
      asked++;
      return this.gone ? undefined : queue;
    },
  }));
  for (const item of items) queue.push(item);
  for (const item of items) {
    item.gone = true;
    queue.left();
  }
  expect(queue.size).toBe(0);
  expect(queue.shift()).toBeUndefined();
  expect(asked).toBeLessThan(5 * items.length);
});
