import { expect, it } from 'vitest';
import { measurePairedRounds } from './paired-rounds.js';

const { signal } = new AbortController();

it('lets the sides take turns at being first, with as many runs as told', async () => {
  const order: string[] = [];
  const progress: number[] = [];
  const [first, second] = await measurePairedRounds(
    [async () => order.push('a'), async () => order.push('b')],
    {
      minRounds: 3,
      runsPerRound: 2,
      isEnough: () => true,
      signal,
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

it('runs each side untimed before its round, where told to', async () => {
  const order: string[] = [];
  const sides = ['a', 'b'].map((name) => async () => order.push(name));
  const rounds = { minRounds: 2, runsPerRound: 1, leadInRuns: 2, isEnough: () => true, signal };
  const [samples] = await measurePairedRounds(sides, rounds);
  expect(order.join('')).toBe('aaa' + 'bbb' + 'bbb' + 'aaa');
  expect(samples!.wallMs.length).toBe(2);
});

it('goes on until it is enough, a whole number of series', async () => {
  let asked = 0;
  const [samples] = await measurePairedRounds([async () => undefined, async () => undefined], {
    minRounds: 4,
    runsPerRound: 1,
    isEnough: () => ++asked === 3,
    signal,
  });
  expect(samples.wallMs.length).toBe(12);
});

it('takes more than two sides, each of which is the first in its turn', async () => {
  const order: string[] = [];
  const sides = ['a', 'b', 'c'].map((name) => async () => order.push(name));
  await measurePairedRounds(sides, { minRounds: 4, runsPerRound: 1, isEnough: () => true, signal });
  expect(order.join('')).toBe('abc' + 'bac' + 'cab' + 'acb');
});

it('has each of three sides come after each other one equally often: none inherits more garbage than another', async () => {
  const order: string[] = [];
  const sides = ['a', 'b', 'c'].map((name) => async () => order.push(name));
  await measurePairedRounds(sides, { minRounds: 6, runsPerRound: 1, isEnough: () => true, signal });
  const rounds = order.join('').match(/.../g)!;
  const pairs = rounds.flatMap((round) => [round.slice(0, 2), round.slice(1)]).toSorted();
  expect(pairs.join(' ')).toBe('ab ab ac ac ba ba bc bc ca ca cb cb');
});

it('ends before the next round when it is told to', async () => {
  const stop = new AbortController();
  let runs = 0;
  const run = async (): Promise<void> => {
    if (++runs === 3) stop.abort();
  };
  const options = { minRounds: 10, runsPerRound: 1, isEnough: () => true, signal: stop.signal };
  await expect(measurePairedRounds([run, run], options)).rejects.toThrow('aborted');
  expect(runs).toBe(4);
});
