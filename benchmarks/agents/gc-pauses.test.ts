import { expect, it } from 'vitest';
import { GcPauses } from './gc-pauses.js';

it('counts the pauses that Node tells of', () => {
  const pauses = new GcPauses();
  const line = (text: string): void => pauses.note(`[77:0x6a1b2c0]      950 ms: ${text}`);
  line('Scavenge 5.2 (6.0) -> 4.6 (7.0) MB, 1.25 / 0.00 ms  (average mu = 1.000, current mu = 1.000) task;');
  line('Mark-Compact (reduce) 40.1 (60.0) -> 38.0 (50.0) MB, 2.50 / 0.10 ms  (+ 20.1 ms in 40 steps) task;');
  line('Scavenge 5.2 (6.0) -> 4.6 (7.0) MB, pooled: 0.0 MB, 1.25 / 0.00 ms  (average mu = 1.000) task;');
  pauses.note('something else, 99 / 1 ms');
  expect(pauses.take()).toEqual({ count: 3, totalMs: 5, longestMs: 2.5 });
  expect(pauses.take()).toEqual({ count: 0, totalMs: 0, longestMs: 0 });
});

it('says that it cannot read a collection instead of counting none', () => {
  const pauses = new GcPauses();
  pauses.note('[77:0x6a1b2c0]      950 ms: Scavenge took 1.25 ms');
  expect(() => pauses.take()).toThrow('Scavenge took 1.25 ms');
});
