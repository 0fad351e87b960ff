import { expect, it } from 'vitest';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { type PlegOptions, resolvePlegOptions } from './pleg-options.js';

const runtime = new FakeRuntime();

it('needs a runtime only', () => {
  const options = resolvePlegOptions({ runtime });
  expect(options).toMatchObject({
    inspectConcurrency: 16,
    inspectDeadlineMs: 120_000,
    inspectBudgetMs: 1_000,
    listDeadlineMs: 120_000,
    queueCapacity: 1_000,
    cadence: { mode: 'auto', relistPeriodMs: 1_000, relistThresholdMs: 180_000 },
  });
});

const NUMBERS = [
  'relistPeriodMs',
  'relistThresholdMs',
  'eventedPeriodMs',
  'eventedThresholdMs',
  'stretchedPeriodMs',
  'longestStretchedPeriodMs',
  'provenAfter',
  'inspectConcurrency',
  'inspectDeadlineMs',
  'inspectBudgetMs',
  'listDeadlineMs',
  'queueCapacity',
] as const satisfies readonly (keyof PlegOptions)[];

it.each(NUMBERS)('names %s when it is invalid', (name) => {
  for (const value of [0, -1, NaN, Infinity, '5' as unknown as number, 2 ** 31]) {
    expect(() => resolvePlegOptions({ runtime, [name]: value })).toThrow(name);
  }
});

it('names an unknown option', () => {
  const misspelt = { runtime, relistPeriod: 5_000 } as PlegOptions;
  expect(() => resolvePlegOptions(misspelt)).toThrow(
    /^relistPeriod: there is no such option; .*relistPeriodMs/,
  );
});

it('requires whole numbers for counts', () => {
  for (const name of ['provenAfter', 'inspectConcurrency', 'queueCapacity'] as const) {
    expect(() => resolvePlegOptions({ runtime, [name]: 1.5 })).toThrow(`${name}: must be a whole number`);
  }
});

it('requires a threshold longer than the period, and an existing mode', () => {
  expect(() => resolvePlegOptions({ runtime, relistPeriodMs: 5_000, relistThresholdMs: 5_000 })).toThrow(
    'relistThresholdMs: 5000 must be longer than relistPeriodMs',
  );
  expect(() => resolvePlegOptions({ runtime, mode: 'eventful' as 'evented' })).toThrow(
    'mode: "eventful" is none of generic, evented, auto',
  );
});
