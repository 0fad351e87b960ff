import { expect, it } from 'vitest';
import { judgeKubelet, ratioToBest } from './judge.js';
import { type ContenderFigures, type Findings } from './kubelet-benchmark.js';

const contender = (name: string, ...rounds: Partial<Findings>[]): ContenderFigures => ({
  name,
  rounds: rounds.map((each) => ({ failures: [], ...each })),
});
const starts = (name: string, ...podStartsMs: number[]) => contender(name, { podStartsMs });
const values = ({ podStartsMs = [] }: Findings): readonly number[] => podStartsMs;
const killed = (toEventMs: readonly number[], count = toEventMs.length): Partial<Findings> => ({
  massKill: {
    ...{ killed: count, toEventMs, recordToEventMs: toEventMs.map((ms) => ms / 100) },
    ...{ toReplacementMs: toEventMs, missed: count - toEventMs.length, repeated: 0 },
  },
});
const met = (figures: readonly ContenderFigures[], what: string): boolean | undefined =>
  judgeKubelet(figures).find((each) => each.what === what)!.met;

it('holds podloop against the better of the two kubelets', () => {
  const kubelets = [starts('slow', 200, 200, 200), starts('fast', 100, 100, 100)];
  expect(ratioToBest(starts('podloop', 50, 50, 50), kubelets, values)?.value).toBe(0.5);
});

it('passes over a kubelet whose phase failed, and judges nothing where nobody’s was measured', () => {
  const podloop = starts('podloop', 50);
  expect(ratioToBest(podloop, [contender('failed', {}), starts('slow', 200)], values)?.value).toBe(0.25);
  expect(ratioToBest(podloop, [contender('failed', {})], values)).toBeUndefined();
  expect(met([podloop, contender('failed', {})], 'manifest written to container started')).toBeUndefined();
});

it('takes what was never told of for later than anything that was', () => {
  const what = 'all killed at once, last death told';
  const [whole, half] = [killed([100, 8_000]), killed([50], 2)];
  expect(met([contender('podloop', whole), contender('kubelet', half)], what)).toBe(true);
  expect(met([contender('podloop', half), contender('kubelet', whole)], what)).toBe(false);
  const record = 'all killed at once, longest from a record to its event';
  expect(met([contender('podloop', whole), contender('kubelet', whole)], record)).toBe(true);
  expect(met([contender('podloop', half), contender('kubelet', whole)], record)).toBe(false);
});

it('counts phases that failed against podloop', () => {
  const failed = contender('podloop', { failures: [{ phase: 'idle', why: 'it ended by itself' }] });
  expect(met([failed, contender('kubelet')], 'phases of podloop’s that failed')).toBe(false);
});
