import { expect, it } from 'vitest';
import { type HungPodFigures } from './hung-pods.js';
import { judgeKubelet, ratioToBest } from './judge.js';
import { type ContenderFigures, type Findings } from './kubelet-benchmark.js';

const contender = (name: string, ...rounds: Partial<Findings>[]): ContenderFigures => ({
  name,
  rounds: rounds.map((each) => ({ failures: [], ...each })),
});
/** Three turns that found the same. */
const thrice = (found: Partial<Findings>) => [found, found, found];
const starts = (name: string, ...podStartsMs: number[]) => contender(name, ...thrice({ podStartsMs }));
const values = ({ podStartsMs = [] }: Findings): readonly number[] => podStartsMs;
const killed = (toEventMs: readonly number[], count = toEventMs.length): Partial<Findings> => ({
  massKill: {
    ...{ killed: count, toEventMs, recordToEventMs: toEventMs.map((ms) => ms / 100) },
    ...{ toReplacementMs: toEventMs, toShownMs: toEventMs, missed: count - toEventMs.length, repeated: 0 },
    ...{ notReplaced: count - toEventMs.length, unknownEnds: 0 },
  },
});
const met = (figures: readonly ContenderFigures[], what: string): boolean | undefined =>
  judgeKubelet(figures).find((each) => each.what === what)!.met;

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

it('takes what was never told of for later than anything that was', () => {
  const what = 'all killed at once, last death told';
  const [whole, half] = [killed([100, 8_000]), killed([50], 2)];
  expect(met([contender('podloop', ...thrice(whole)), contender('kubelet', ...thrice(half))], what)).toBe(
    true,
  );
  expect(met([contender('podloop', ...thrice(half)), contender('kubelet', ...thrice(whole))], what)).toBe(
    false,
  );
  const record = 'all killed at once, longest from a record to its event';
  expect(met([contender('podloop', ...thrice(whole)), contender('kubelet', ...thrice(whole))], record)).toBe(
    true,
  );
  expect(met([contender('podloop', ...thrice(half)), contender('kubelet', ...thrice(whole))], record)).toBe(
    false,
  );
});

it('counts phases that failed against podloop', () => {
  const failed = contender('podloop', { failures: [{ phase: 'idle', why: 'it ended by itself' }] });
  expect(met([failed, contender('kubelet')], 'phases of podloop’s that failed')).toBe(false);
});

it('judges nothing from fewer than three turns, but a goal that was missed once', () => {
  const whole = killed([100, 200]);
  const record = 'all killed at once, longest from a record to its event';
  const figures = [contender('podloop', whole, whole), contender('kubelet', whole, whole)];
  expect(met(figures, 'all killed at once, all running again')).toBeUndefined();
  expect(met(figures, record)).toBeUndefined();
  expect(met([contender('podloop', killed([100], 2)), contender('kubelet', whole)], record)).toBe(false);
});

const goalOf = (podloop: ContenderFigures, what: string) =>
  judgeKubelet([podloop, contender('kubelet')]).find((each) => each.what === what)!;

it('counts ends of all kinds, and a turn once however many kinds it had', () => {
  const what = 'ends told of';
  const podloop = contender('podloop', ...thrice(killed([100], 2)));
  expect(goalOf(podloop, what)).toMatchObject({ measured: '3 of 6 ends, in 3 turns', met: false });
  const { massKill } = killed([100, 200]);
  const deaths = massKill!;
  const restart = { running: 2, exited: 2, healthyMs: 10, isHealthyAtEnd: true, disturbed: 0, deaths };
  const turn = { deaths, massKill: deaths, restart };
  expect(goalOf(contender('podloop', turn, turn), what)).toMatchObject({
    ...{ measured: '12 of 12 ends, in 2 turns', met: undefined },
  });
  const twice = { ...restart, deaths: { ...deaths, repeated: 1 } };
  expect(goalOf(contender('podloop', ...thrice({ restart: twice })), what)).toMatchObject({
    ...{ measured: '3 of 6 ends, in 3 turns', met: false },
  });
});

it('says how many ends have no times, and so are not in a ratio', () => {
  const collected = (unknownEnds: number): Partial<Findings> => ({
    massKill: { ...killed([100, 200]).massKill!, unknownEnds },
  });
  const figures = [
    contender('podloop', ...thrice(collected(2))),
    contender('kubelet', ...thrice(collected(1))),
  ];
  const of = (what: string) => judgeKubelet(figures).find((each) => each.what === what)!.measured;
  expect(of('all killed at once, last death told')).toBe(
    '1.000 times the kubelet’s, turns: 3; left out are ends without a time, 6 of podloop’s and 3 of the kubelets’',
  );
  expect(of('idle, CPU')).toBe('nothing');
});

it('misses a ratio for a turn that failed, and judges none where neither side ever got there', () => {
  const what = 'all killed at once, all running again';
  const kubelet = contender('kubelet', ...thrice(killed([200])), killed([200]));
  expect(met([contender('podloop', ...thrice(killed([100])), {}), kubelet], what)).toBe(false);
  const never = thrice(killed([], 1));
  expect(met([contender('podloop', ...never), contender('kubelet', ...never)], what)).toBeUndefined();
});

const hungOf = (hungPods: number): HungPodFigures => ({
  ...{ hungPods, deaths: 1, toEventMs: [10], missed: 0, repeated: 0, heldCalls: 4, named: hungPods },
  hungForMs: 240_000,
});
const hungs = (hung: readonly HungPodFigures[]) => contender('podloop', { hung });

it('judges health under hanging calls only when they hung for long enough', () => {
  const hang = (hungForMs: number, firstUnhealthyMs?: number) =>
    hungs([1, 3].map((hungPods) => ({ ...hungOf(hungPods), hungForMs, firstUnhealthyMs })));
  const healthy = 'calls about some pods hang: healthy';
  const metBy = (podloop: ContenderFigures) => met([podloop, contender('kubelet')], healthy);
  expect(metBy(hang(240_000))).toBe(true);
  expect(metBy(hang(239_000))).toBeUndefined();
  expect(metBy(hang(240_000, 181_000))).toBe(false);
  // No usual delay was measured that the others' could be held against.
  const delay = 'calls about some pods hang: longest delay of others’ deaths';
  expect(met([hang(240_000), contender('kubelet')], delay)).toBeUndefined();
});

it('takes a hang in which no call was held for none, whatever else was found', () => {
  const deaths = killed([10]).massKill!;
  const podloopOf = (hung: readonly HungPodFigures[]) => contender('podloop', { deaths }, { hung });
  const about = (hung: readonly HungPodFigures[]) =>
    judgeKubelet([podloopOf(hung), contender('kubelet')])
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
