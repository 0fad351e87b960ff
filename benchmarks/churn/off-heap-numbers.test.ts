import { expect, it } from 'vitest';
import { OffHeapNumbers } from './off-heap-numbers.js';

it('keeps all numbers in their order, however many they are', () => {
  const numbers = new OffHeapNumbers();
  expect(numbers.toArray()).toEqual([]);
  for (let i = 0; i < 5_000; i++) numbers.push(i / 4);
  expect(numbers.length).toBe(5_000);
  expect(numbers.toArray()).toEqual(Array.from({ length: 5_000 }, (_, i) => i / 4));
});
