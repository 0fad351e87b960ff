import { expect, it } from 'vitest';
import {
  checkSettings,
  chooseScenarios,
  isFullRun,
  listUnusual,
  mayReplace,
  settingsOf,
} from './run-plan.js';
import { type Need } from './scenario.js';
import { SCENARIOS } from './scenarios.js';
import { count, listOf } from './setting-shapes.js';

const setting = (name: string, short: string, full?: string) => ({
  ...{ name, short, placeholder: 'N', about: 'x' },
  ...(full === undefined ? {} : { full }),
});
const BURST = {
  ...{ name: 'burst', needs: [] as Need[] },
  settings: [setting('pods', '100', '500'), setting('status', '20')],
};
const KUBELET = { name: 'kubelet', needs: ['kubelet'] as Need[], settings: [setting('mass', '20', '200')] };
const ALL = [BURST, KUBELET];

it('runs what was named, else what is short, else with --full all', () => {
  const choose = (names: readonly string[], full: boolean) =>
    chooseScenarios(ALL, names, full).map(({ name }) => name);
  expect(choose(['kubelet'], false)).toEqual(['kubelet']);
  expect(choose([], false)).toEqual(['burst']);
  expect(choose([], true)).toEqual(['burst', 'kubelet']);
  expect(() => choose(['bursts'], true)).toThrow('there is no scenario "bursts"');
});

it('takes settings as told, else by the length of the run', () => {
  expect(settingsOf(BURST, {}, false)).toEqual({ pods: '100', status: '20' });
  expect(settingsOf(BURST, { mass: '3' }, true)).toEqual({ pods: '500', status: '20' });
  expect(settingsOf(BURST, { pods: '7', full: true }, true)).toEqual({ pods: '7', status: '20' });
});

it('names the scenario whose setting it is when that one is not run', () => {
  expect(() => checkSettings(ALL, [BURST], { mass: '3' })).toThrow('--mass is a setting of kubelet');
  expect(() => checkSettings(ALL, [BURST], { pods: '3', full: true })).not.toThrow();
  expect(() => checkSettings(ALL, ALL, { mass: '3' })).not.toThrow();
});

it('refuses a value that a scenario could not be run with, and says what would be right', () => {
  const sizes = { ...setting('sizes', '110'), takes: listOf(count({ most: 500, multipleOf: 2 })) };
  const relist = { name: 'relist', needs: [] as Need[], settings: [sizes] };
  const check = (told: Readonly<Record<string, unknown>>) => () =>
    checkSettings([...ALL, relist], [BURST, relist], told);
  expect(check({ sizes: '110,111' })).toThrow(
    '--sizes 110,111: it takes one or several with commas between, none twice, each a whole number from 2 to 500, a multiple of 2',
  );
  expect(check({ pods: '1e9' })).toThrow('--pods 1e9: it takes a whole number from 1 to 100000');
  expect(check({ pods: '7', sizes: '110,500' })).not.toThrow();
});

it('takes what every scenario has for its own length of run', () => {
  for (const scenario of SCENARIOS)
    for (const full of [true, false])
      expect(() => checkSettings(SCENARIOS, [scenario], settingsOf(scenario, {}, full))).not.toThrow();
});

it('calls a run full only when no setting is less', () => {
  const full = settingsOf(BURST, {}, true);
  expect(isFullRun(BURST, full, true)).toBe(true);
  expect(isFullRun(BURST, full, false)).toBe(false);
  const other = settingsOf(BURST, { pods: '7' }, true);
  expect(isFullRun(BURST, other, true)).toBe(false);
  expect(listUnusual(BURST, other)).toEqual(['--pods 7']);
  // A setting that came later than a result.
  expect(listUnusual(BURST, { pods: '500' })).toEqual([]);
});

it('lets a lesser run replace no full one', () => {
  const [full, short] = [{ full: true }, { full: false }];
  expect(mayReplace(full, short)).toBe(false);
  expect(mayReplace(full, full)).toBe(true);
  expect(mayReplace(short, short)).toBe(true);
  expect(mayReplace(undefined, short)).toBe(true);
});
