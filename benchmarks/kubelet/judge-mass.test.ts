import { expect, it } from 'vitest';
import { judgeMass } from './judge-mass.js';
import { type MassFindings } from './mass-benchmark.js';
import { type ContenderFigures } from './run-turns.js';

const contender = (name: string, ...rounds: Partial<MassFindings>[]): ContenderFigures<MassFindings> => ({
  name,
  rounds: rounds.map((each) => ({ failures: [], ...each })),
});
/** Three turns that found the same. */
const thrice = (found: Partial<MassFindings>) => [found, found, found];
const killed = (toEventMs: readonly number[], count = toEventMs.length): Partial<MassFindings> => ({
  massKill: {
    ...{ killed: count, toEventMs, recordToEventMs: toEventMs.map((ms) => ms / 100) },
    ...{ toReplacementMs: toEventMs, toShownMs: toEventMs, missed: count - toEventMs.length, repeated: 0 },
    ...{ notReplaced: count - toEventMs.length, unknownEnds: 0 },
  },
});
const met = (figures: readonly ContenderFigures<MassFindings>[], what: string): boolean | undefined =>
  judgeMass(figures).find((each) => each.what === what)!.met;

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

const goalOf = (podloop: ContenderFigures<MassFindings>, what: string) =>
  judgeMass([podloop, contender('kubelet')]).find((each) => each.what === what)!;

it('counts ends of all kinds, and a turn once however many kinds it had', () => {
  const what = 'ends told of';
  const podloop = contender('podloop', ...thrice(killed([100], 2)));
  expect(goalOf(podloop, what)).toMatchObject({ measured: '3 of 6 ends, in 3 turns', met: false });
  const { massKill } = killed([100, 200]);
  const deaths = massKill!;
  const restart = { running: 2, exited: 2, healthyMs: 10, isHealthyAtEnd: true, disturbed: 0, deaths };
  const turn = { massKill: deaths, restart };
  expect(goalOf(contender('podloop', turn, turn), what)).toMatchObject({
    ...{ measured: '8 of 8 ends, in 2 turns', met: undefined },
  });
  expect(goalOf(contender('podloop', ...thrice(turn)), what)).toMatchObject({
    ...{ measured: '12 of 12 ends, in 3 turns', met: true },
  });
  const twice = { ...restart, deaths: { ...deaths, repeated: 1 } };
  expect(goalOf(contender('podloop', ...thrice({ restart: twice })), what)).toMatchObject({
    ...{ measured: '3 of 6 ends, in 3 turns', met: false },
  });
});

it('says how many ends have no times, and so are not in a ratio', () => {
  const collected = (unknownEnds: number): Partial<MassFindings> => ({
    massKill: { ...killed([100, 200]).massKill!, unknownEnds },
  });
  const figures = [
    contender('podloop', ...thrice(collected(2))),
    contender('kubelet', ...thrice(collected(1))),
  ];
  const of = (what: string) => judgeMass(figures).find((each) => each.what === what)!.measured;
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
