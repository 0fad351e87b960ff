import { expect, it } from 'vitest';
import { AdaptiveBound } from './adaptive-bound.js';

function feed(
  bound: AdaptiveBound,
  durationMs: number,
  more: { startedMs?: number; overloaded?: boolean; underWay?: number; operation?: string } = {},
): void {
  const { startedMs = 0, overloaded = false, underWay = bound.limit, operation = 'create' } = more;
  bound.observe({ operation, startedMs, endedMs: startedMs + durationMs, underWay, overloaded });
}

it('grows by one for every full bound of fast changes, up to its maximum', () => {
  const bound = new AdaptiveBound({ initial: 4, most: 6 });
  for (let change = 0; change < 5; change++) feed(bound, 50);
  expect(bound.limit).toBe(5);
  for (let change = 0; change < 100; change++) feed(bound, 50);
  expect(bound.limit).toBe(6);
});

it('does not grow while little of it is used', () => {
  const bound = new AdaptiveBound({ initial: 8 });
  for (let change = 0; change < 100; change++) feed(bound, 50, { underWay: 2 });
  expect(bound.limit).toBe(8);
});

it('shrinks once for all changes that were running together when it became slow', () => {
  const bound = new AdaptiveBound({ initial: 10 });
  feed(bound, 100, { underWay: 1 });
  for (let change = 0; change < 5; change++) feed(bound, 5_000, { startedMs: 1_000 + change });
  expect(bound.limit).toBe(7);
  feed(bound, 5_000, { startedMs: 7_000 });
  expect(bound.limit).toBe(4);
});

it('never shrinks below its minimum', () => {
  const bound = new AdaptiveBound({ initial: 8, least: 3 });
  for (let change = 0; change < 50; change++) feed(bound, 10, { startedMs: change * 100, overloaded: true });
  expect(bound.limit).toBe(3);
});

it('compares a change only with others of its kind', () => {
  const bound = new AdaptiveBound({ initial: 4 });
  feed(bound, 10, { operation: 'start', underWay: 1 });
  feed(bound, 4_000, { operation: 'run', underWay: 1 });
  expect(bound.limit).toBe(4);
});

it('does not count anything under half a second as slow', () => {
  const bound = new AdaptiveBound({ initial: 4 });
  feed(bound, 5, { underWay: 1 });
  feed(bound, 400, { startedMs: 10, underWay: 1 });
  expect(bound.limit).toBe(4);
});
