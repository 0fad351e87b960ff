import { expect, it } from 'vitest';
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

it('counts ends and not phases', () => {
  const figures = [contender('podloop', ...thrice(killed([100], 2))), contender('kubelet')];
  expect(judgeKubelet(figures).find(({ what }) => what === 'ends told of')).toMatchObject({
    ...{ measured: '3 of 6', met: false },
  });
});

it('judges health under hanging calls only when they hung for long enough', () => {
  const hang = (hungForMs: number, firstUnhealthyMs?: number) =>
    contender('podloop', {
      hung: [1, 3].map((hungPods) => ({
        ...{ hungPods, deaths: 1, toEventMs: [10], missed: 0, heldCalls: 4, named: hungPods },
        ...{ hungForMs, firstUnhealthyMs },
      })),
    });
  const healthy = 'calls about some pods hang: healthy';
  const metBy = (podloop: ContenderFigures) => met([podloop, contender('kubelet')], healthy);
  expect(metBy(hang(240_000))).toBe(true);
  expect(metBy(hang(239_000))).toBeUndefined();
  expect(metBy(hang(240_000, 181_000))).toBe(false);
  // No usual delay was measured that the others' could be held against.
  const delay = 'calls about some pods hang: longest delay of others’ deaths';
  expect(met([hang(240_000), contender('kubelet')], delay)).toBeUndefined();
});
