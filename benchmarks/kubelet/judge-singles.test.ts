import { expect, it } from 'vitest';
import { ratioToBest } from './judge.js';
import { judgeSingles } from './judge-singles.js';
import { type ContenderFigures } from './run-turns.js';
import { type SinglesFindings } from './singles-benchmark.js';

const contender = (
  name: string,
  ...rounds: Partial<SinglesFindings>[]
): ContenderFigures<SinglesFindings> => ({
  name,
  rounds: rounds.map((each) => ({ failures: [], ...each })),
});
/** Three turns that found the same. */
const thrice = (found: Partial<SinglesFindings>) => [found, found, found];
const starts = (name: string, ...podStartsMs: number[]) => contender(name, ...thrice({ podStartsMs }));
const values = ({ podStartsMs = [] }: SinglesFindings): readonly number[] => podStartsMs;
const met = (figures: readonly ContenderFigures<SinglesFindings>[], what: string): boolean | undefined =>
  judgeSingles(figures).find((each) => each.what === what)!.met;

it('holds podloop against the better of the two kubelets', () => {
  const kubelets = [starts('slow', 200, 200, 200), starts('fast', 100, 100, 100)];
  expect(ratioToBest(starts('podloop', 50, 50, 50), kubelets, values)?.ratio.value).toBe(0.5);
});

it('passes over a kubelet whose phase failed, and judges nothing where nobody’s was measured', () => {
  const podloop = starts('podloop', 50);
  expect(ratioToBest(podloop, [contender('failed', {}), starts('slow', 200)], values)?.ratio.value).toBe(
    0.25,
  );
  expect(ratioToBest(podloop, [contender('failed', {})], values)).toBeUndefined();
  expect(met([podloop, contender('failed', {})], 'manifest written to container started')).toBeUndefined();
});

it('counts phases that failed against podloop', () => {
  const failed = contender('podloop', { failures: [{ phase: 'deaths', why: 'it ended by itself' }] });
  expect(met([failed, contender('kubelet')], 'phases of podloop’s that failed')).toBe(false);
});

it('counts each end once, and takes one that was missed for later than anything that was told of', () => {
  const found = (toEventMs: readonly number[], repeated = 0): Partial<SinglesFindings> => ({
    deaths: {
      ...{ killed: 2, toEventMs, recordToEventMs: toEventMs, toReplacementMs: [100, 100] },
      ...{ toShownMs: [10, 10], missed: 2 - toEventMs.length, repeated, notReplaced: 0, unknownEnds: 0 },
    },
  });
  const kubelet = contender('kubelet', ...thrice(found([100, 100])));
  const of = (...turns: Partial<SinglesFindings>[]) =>
    judgeSingles([contender('podloop', ...turns), kubelet]).map(({ what, measured, met: isMet }) => ({
      ...{ what, measured, isMet },
    }));
  const ends = 'ends told of';
  const whole = thrice(found([50, 50]));
  expect(of(...whole)).toContainEqual({ what: ends, measured: '6 of 6 ends, in 3 turns', isMet: true });
  expect(of(...whole.slice(1))).toContainEqual({
    ...{ what: ends, measured: '4 of 4 ends, in 2 turns', isMet: undefined },
  });
  expect(of(...thrice(found([50, 50], 1)))).toContainEqual({
    ...{ what: ends, measured: '3 of 6 ends, in 3 turns', isMet: false },
  });
  const toEvent = 'end of a process to its event';
  const metBy = (turns: Partial<SinglesFindings>[]) =>
    of(...turns).find(({ what }) => what === toEvent)?.isMet;
  expect(metBy(whole)).toBe(true);
  expect(metBy(thrice(found([50])))).toBe(false);
});
