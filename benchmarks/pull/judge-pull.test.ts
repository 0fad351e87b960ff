import { expect, it } from 'vitest';
import { judgePull, type PullFigures } from './judge-pull.js';

function figures(podloopMs: number, containerdMs: number, rounds: number): PullFigures {
  const side = (name: string, coldMs: number) => ({
    ...{ name, coldMs: Array.from({ length: rounds }, (_, round) => coldMs + round) },
    ...{ warmMs: [], peakMiB: [] },
  });
  return {
    ...{ bytes: 300e6, layers: 8 },
    ...{ podloop: side('podloop', podloopMs), containerd: side('containerd 2.1', containerdMs) },
  };
}

it('holds cold pulls against those of containerd, from ten rounds on', () => {
  expect(judgePull(figures(5_000, 6_000, 10))).toMatchObject({
    ...{ what: 'a cold pull of 300 MB in 8 layers', goal: '<= 1 x containerd 2.1', met: true },
  });
  expect(judgePull(figures(6_100, 6_000, 10)).met).toBe(false);
  expect(judgePull(figures(5_000, 6_000, 9))).toMatchObject({ met: undefined, unjudged: '9 rounds' });
});
