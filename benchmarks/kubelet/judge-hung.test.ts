import { expect, it } from 'vitest';
import { type HungFindings } from './hung-benchmark.js';
import { type HungPodFigures } from './hung-pods.js';
import { judgeHung } from './judge-hung.js';
import { type ContenderFigures } from './run-turns.js';

const contender = (name: string, ...rounds: Partial<HungFindings>[]): ContenderFigures<HungFindings> => ({
  name,
  rounds: rounds.map((each) => ({ failures: [], ...each })),
});
const met = (figures: readonly ContenderFigures<HungFindings>[], what: string): boolean | undefined =>
  judgeHung(figures).find((each) => each.what === what)!.met;
const hungOf = (hungPods: number): HungPodFigures => ({
  ...{
    hungPods,
    deaths: 1,
    toEventMs: [10],
    missed: 0,
    repeated: 0,
    heldCalls: hungPods * 4,
    named: hungPods,
  },
  hungForMs: hungPods === 0 ? 0 : 240_000,
});
/** Each of these in a turn of its own, as they are measured. */
const hungs = (...hung: readonly HungPodFigures[]) =>
  contender('podloop', ...hung.map((each) => ({ hung: [each] })));

it('counts phases that failed against podloop', () => {
  const failed = contender('podloop', { failures: [{ phase: 'hung 1', why: 'it ended by itself' }] });
  expect(met([failed, contender('kubelet')], 'phases of podloop’s that failed')).toBe(false);
});

it('judges health under hanging calls only when they hung for long enough', () => {
  const hang = (hungForMs: number, firstUnhealthyMs?: number) =>
    hungs(...[1, 3].map((hungPods) => ({ ...hungOf(hungPods), hungForMs, firstUnhealthyMs })));
  const healthy = 'calls about some pods hang: healthy';
  const metBy = (podloop: ContenderFigures<HungFindings>) => met([podloop, contender('kubelet')], healthy);
  expect(metBy(hang(240_000))).toBe(true);
  expect(metBy(hang(239_000))).toBeUndefined();
  expect(metBy(hang(240_000, 181_000))).toBe(false);
  // No usual delay was measured that the others' could be held against.
  const delay = 'calls about some pods hang: longest delay of others’ deaths';
  expect(met([hang(240_000), contender('kubelet')], delay)).toBeUndefined();
});

it('holds deaths beside pods that hang against those while nothing hangs, which are no hang themselves', () => {
  const delay = 'calls about some pods hang: longest delay of others’ deaths';
  const goalOf = (usualMs: number, besideMs: number) =>
    judgeHung([
      hungs({ ...hungOf(0), toEventMs: [usualMs] }, hungOf(1), { ...hungOf(3), toEventMs: [besideMs] }),
      contender('kubelet'),
    ]).find(({ what }) => what === delay);
  expect(goalOf(50, 300)).toMatchObject({
    goal: '<= 300 ms: the p99 while nothing hangs, and 250 ms',
    measured: '300 ms, of 2 ends in 2 hangs',
    met: true,
  });
  expect(goalOf(50, 301)?.met).toBe(false);
  // However late they were, nobody's calls hung then.
  expect(goalOf(9_000, 300)?.met).toBe(true);
});

it('counts ends of all turns, those while nothing hangs among them', () => {
  const ends = (...hung: HungPodFigures[]) =>
    judgeHung([hungs(...hung), contender('kubelet')]).find(({ what }) => what === 'ends told of');
  expect(ends(hungOf(0), hungOf(1), hungOf(3))).toMatchObject({
    ...{ measured: '3 of 3 ends, in 3 turns', met: true },
  });
  expect(ends(hungOf(1), hungOf(3))?.met).toBeUndefined();
  expect(ends({ ...hungOf(0), repeated: 1 }, hungOf(1), hungOf(3))).toMatchObject({
    ...{ measured: '2 of 3 ends, in 3 turns', met: false },
  });
  expect(ends(hungOf(0), { ...hungOf(1), missed: 1 }, hungOf(3))?.met).toBe(false);
});

it('takes a hang in which no call was held for none, whatever else was found', () => {
  const about = (hung: readonly HungPodFigures[]) =>
    judgeHung([hungs(hungOf(0), ...hung), contender('kubelet')])
      .filter(({ what }) => what.startsWith('calls about some pods hang'))
      .map(({ measured, met: isMet }) => [measured, isMet]);
  expect(about([hungOf(1), hungOf(3)])).toEqual([
    ['10 ms, of 2 ends in 2 hangs', true],
    ['2 of 2 hangs', true],
    ['2 of 2 hangs', true],
  ]);
  const more = '; no call was held in 1 more';
  expect(about([hungOf(1), hungOf(3), { ...hungOf(3), heldCalls: 0 }])).toEqual([
    [`10 ms, of 2 ends in 2 hangs${more}`, undefined],
    [`2 of 2 hangs${more}`, undefined],
    [`2 of 2 hangs${more}`, undefined],
  ]);
  expect(
    about([
      { ...hungOf(1), named: 0 },
      { ...hungOf(3), heldCalls: 0 },
    ])[2],
  ).toEqual([...[`0 of 1 hangs${more}`, false]]);
});
