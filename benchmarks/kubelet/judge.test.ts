import { expect, it } from 'vitest';
import { ratioToBest } from './judge.js';
import { type ContenderFigures, type ContenderRound } from './kubelet-benchmark.js';

const contender = (name: string, podStartsMs: readonly number[]): ContenderFigures => ({
  name,
  rounds: [{ podStartsMs } as unknown as ContenderRound],
});

it('holds podloop against the better of the two kubelets', () => {
  const kubelets = [contender('slow', [200, 200, 200]), contender('fast', [100, 100, 100])];
  const { value } = ratioToBest(
    contender('podloop', [50, 50, 50]),
    kubelets,
    ({ podStartsMs }) => podStartsMs,
  );
  expect(value).toBe(0.5);
});

it('judges nothing where nothing was seen', () => {
  const { high } = ratioToBest(
    contender('podloop', [50]),
    [contender('blind', [])],
    ({ podStartsMs }) => podStartsMs,
  );
  expect(high).toBeNaN();
});
