import { expect, it } from 'vitest';
import { type BurstFigures } from './burst-benchmark.js';
import { judgeBurst } from './judge-burst.js';

const figures = (concurrency: number, low: number, bursts = 30): BurstFigures => ({
  ...{
    concurrency,
    medianMs: 1,
    longestMs: 1,
    loopP999Ms: 1,
    loopMaxMs: 1,
    lastEventMs: Array.from({ length: bursts }, () => 1),
  },
  speedUp: { value: 14, low, high: 15 },
});
const metOf = (low: number, pods = 500, statusMs = 20) =>
  judgeBurst([figures(1, 1), figures(8, 7), figures(16, low)], { pods, statusMs }).map(({ met }) => met);

it('judges the lower end of the interval at sixteen places', () => {
  expect(metOf(12)).toEqual([true]);
  expect(metOf(11.9)).toEqual([false]);
});

it('judges no burst of another size, which may be easier', () => {
  expect(metOf(20, 100)).toEqual([undefined]);
  expect(metOf(20, 500, 100)).toEqual([undefined]);
  expect(judgeBurst([figures(8, 20)], { pods: 500, statusMs: 20 })).toEqual([]);
});

it('judges nothing of a few bursts', () => {
  const [goal] = judgeBurst([figures(16, 20, 5)], { pods: 500, statusMs: 20 });
  expect(goal).toMatchObject({ met: undefined, unjudged: '5 bursts' });
});
