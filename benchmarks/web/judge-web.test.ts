import { expect, it } from 'vitest';
import { judgeWeb } from './judge-web.js';
import { type WebFigures } from './web-benchmark.js';

const FIGURES: WebFigures = {
  ...{
    pods: 500,
    records: 150_000,
    changesPerSecond: 50,
    seconds: 600,
    browser: 'Chromium 1',
    loadedMs: 3_000,
  },
  ...{ tasks: { loading: [400], following: [60, 70, 80] }, cpuMs: [55] },
  heap: { loadedMiB: 100, endMiB: 108, samples: [] },
};

it('is met by short tasks and a heap that stays as it is', () => {
  expect(judgeWeb(FIGURES).map(({ met }) => met)).toEqual([true, true, true, true]);
  const none = { ...FIGURES, tasks: { loading: [], following: [] }, cpuMs: [] };
  expect(judgeWeb(none).map(({ met }) => met)).toEqual([true, true, true, true]);
});

it('is missed by long tasks, many of them, and a heap that grows', () => {
  const slow = Array.from({ length: 300 }, () => 150);
  const missed = {
    ...{ ...FIGURES, tasks: { loading: [], following: slow }, cpuMs: slow },
    heap: { loadedMiB: 100, endMiB: 300, samples: [] },
  };
  expect(judgeWeb(missed).map(({ met }) => met)).toEqual([false, false, false, false]);
});

it('is not judged by a smaller run', () => {
  const goals = judgeWeb({ ...FIGURES, seconds: 20 });
  expect(goals.map(({ met, unjudged }) => [met, unjudged])).toEqual(
    Array.from({ length: 4 }, () => [undefined, 'a smaller run']),
  );
});
