import { expect, it } from 'vitest';
import { judgeIdle } from './judge-idle.js';

const figures = (pods: number, high: number, seconds = 600) => {
  const agent = { value: 0.2, low: 0.19, high };
  // What the generator alone costs is shown, and not judged.
  return { pods, seconds, ratios: { agent, generator: { value: 9, low: 9, high: 9 } } };
};

it('judges the whole agent by the upper end, at 500 pods alone', () => {
  expect(judgeIdle(figures(500, 0.25))).toMatchObject([{ met: true, goal: '<= 0.250 x mode generic' }]);
  expect(judgeIdle(figures(500, 0.26))).toMatchObject([{ met: false }]);
  expect(judgeIdle(figures(110, 0.2))).toEqual([]);
});

it('judges nothing of a few windows', () => {
  expect(judgeIdle(figures(500, 0.2, 290))).toMatchObject([{ met: undefined, unjudged: '29 windows' }]);
});
