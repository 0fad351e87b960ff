import { expect, it } from 'vitest';
import { type ChurnFigures } from './churn-benchmark.js';
import { judgeChurn } from './judge-churn.js';

const growing = (low: number, high: number) => ({ growthAnHour: { value: (low + high) / 2, low, high } });
const figures = (more: object = {}, low = -2, high = 3) =>
  ({
    ...{ mode: 'auto', lost: 0, repeated: 0, unfounded: 0, isSettled: true },
    ...{ deathsPerSecond: 50, madePerSecond: 49.9 },
    memory: { live: growing(-1, 1), resident: growing(low, high) },
    ...more,
  }) as ChurnFigures;
const verdicts = (of: ChurnFigures) => judgeChurn(of).map(({ met }) => met);
const resident = (of: ChurnFigures) => judgeChurn(of).find(({ what }) => what.includes('resident'))!;

it('is content when nothing is lost, invented or growing', () => {
  expect(verdicts(figures())).toEqual([true, true, true, true, true, true]);
});

it.each(['lost', 'repeated', 'unfounded'])('allows nothing to be %s', (name) => {
  expect(verdicts(figures({ [name]: 1 })).filter((met) => met === false)).toHaveLength(1);
});

it('takes noise for no flat line', () => {
  expect(resident(figures({}, -30, 40))).toMatchObject({
    met: undefined,
    measured: '5 [-30, 40] MiB an hour: too noisy',
  });
  expect(resident(figures({}, 0.5, 40)).met).toBe(false);
  expect(resident(figures({}, 0.5, 1)).met).toBe(false);
  expect(resident(figures({}, -30, -20)).met).toBe(true);
  expect(resident(figures({}, Number.NaN, Number.NaN)).met).toBeUndefined();
});

it('allows what lives in the heap to grow by less than matters', () => {
  const live = (low: number, high: number) =>
    judgeChurn(figures({ memory: { live: growing(low, high), resident: growing(-1, 1) } })).find(({ what }) =>
      what.includes('lives'),
    )!;
  expect(live(0.2, 2.7)).toMatchObject({ met: true, goal: '<= 11.0 MiB an hour, an id for each death' });
  expect(live(12, 14).met).toBe(false);
  expect(live(2, 14)).toMatchObject({ met: undefined, measured: '8 [2, 14] MiB an hour: too noisy' });
  expect(live(Number.NaN, Number.NaN).met).toBeUndefined();
});

it('judges no memory while the benchmark itself grows', () => {
  expect(resident(figures({ isSettled: false })).met).toBeUndefined();
});

it('says of a lighter churn only what is missed', () => {
  const slow = { madePerSecond: 40, lost: 2 };
  expect(verdicts(figures(slow))).toEqual([false, undefined, undefined, undefined, undefined, undefined]);
});
