import { expect, it } from 'vitest';
import { SliceYielder } from './slices.js';

async function doWork(items: number, slices: SliceYielder): Promise<void> {
  for (let item = 0; item < items; item++) if (slices.isFull()) await slices.nextSlice();
}

it('lets the event loop turn after each full slice', async () => {
  let turns = 0;
  const slices = new SliceYielder({ itemsPerSlice: 10, yieldToLoop: async () => turns++ });
  await doWork(9, slices);
  expect(turns).toBe(0);
  await doWork(1, slices);
  expect(turns).toBe(1);
  await doWork(25, slices);
  expect(turns).toBe(3);
  expect(slices.slices).toBe(4);
});

it('lets other work run during a long task', async () => {
  const slices = new SliceYielder({ itemsPerSlice: 100 });
  let seenByOthers = 0;
  const others = setImmediate(function again() {
    seenByOthers++;
    if (seenByOthers < 3) setImmediate(again);
  });
  await doWork(500, slices);
  clearImmediate(others);
  expect(seenByOthers).toBeGreaterThanOrEqual(3);
});
