import { expect, it } from 'vitest';
import { judgeObserve } from './observe-scenario.js';

const phase = { cpuPercent: 0.4, rssMiB: 88, wakeUpsPerSecond: 3 };
const figures = (pods: number, seconds: number, observer = phase) => ({
  ...{ pods, seconds, observer },
  containerd: [phase, phase, phase] as const,
  kubelet: [phase, phase, phase] as const,
});

it('judges CPU and memory at 110 pods over ten minutes', () => {
  expect(judgeObserve(figures(110, 600)).map(({ met }) => met)).toEqual([true, true]);
  const costly = { ...phase, cpuPercent: 0.6, rssMiB: 91 };
  expect(judgeObserve(figures(110, 600, costly)).map(({ met }) => met)).toEqual([false, false]);
});

it('judges nothing of a short run', () => {
  expect(judgeObserve(figures(10, 600)).map(({ met }) => met)).toEqual([undefined, undefined]);
  expect(judgeObserve(figures(110, 30)).map(({ met }) => met)).toEqual([undefined, undefined]);
});
