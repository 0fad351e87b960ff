import { expect, it } from 'vitest';
import { ReconnectWaits } from './reconnect-waits.js';

it('waits longer from failure to failure, up to a limit, and begins again once it was connected', () => {
  const waits = new ReconnectWaits();
  const next = (count: number): number[] => Array.from({ length: count }, () => waits.nextMs());
  expect(next(7)).toEqual([250, 500, 1_000, 2_000, 5_000, 5_000, 5_000]);
  waits.reset();
  expect(next(2)).toEqual([250, 500]);
});
