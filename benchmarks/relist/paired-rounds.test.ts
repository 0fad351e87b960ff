import { expect, it } from 'vitest';
import { measurePairedRounds } from './paired-rounds.js';

it('lets the sides take turns at being first, with as many runs as told', async () => {
  const order: string[] = [];
  const progress: number[] = [];
  const [first, second] = await measurePairedRounds(
    [async () => order.push('a'), async () => order.push('b')],
    {
      rounds: 3,
      runsPerRound: 2,
      onRound: (done) => progress.push(done),
    },
  );
  expect(order.join('')).toBe('aabb' + 'bbaa' + 'aabb');
  expect(progress).toEqual([1, 2, 3]);
  for (const samples of [first, second]) {
    expect(samples.wallMs.length).toBe(3);
    expect(samples.cpuMs.length).toBe(3);
    expect(Math.min(...samples.wallMs)).toBeGreaterThan(0);
  }
});
