import { expect, it } from 'vitest';
import { atMost, formatNumber, ratioAtLeast, ratioAtMost } from './goals.js';

it('judges a ratio by the end of its interval that is worse', () => {
  const ratio = { value: 1.1, low: 1.05, high: 1.2 };
  expect(ratioAtMost('relist', ratio, 1.15, 'the bare lists')).toEqual({
    what: 'relist',
    goal: '<= 1.15 x the bare lists',
    measured: '1.100 [1.050, 1.200]',
    met: false,
  });
  expect(ratioAtMost('relist', ratio, 1.2, 'it').met).toBe(true);
  expect(ratioAtLeast('burst', ratio, 1.06, 'it').met).toBe(false);
  expect(ratioAtLeast('burst', ratio, 1.05, 'it').met).toBe(true);
});

it('judges nothing that was not measured', () => {
  const nothing = { value: Number.NaN, low: Number.NaN, high: Number.NaN };
  expect(ratioAtMost('a', nothing, 1, 'b').met).toBeUndefined();
  expect(atMost('a', Number.NaN, 1).met).toBeUndefined();
});

it('judges a number by itself', () => {
  expect(atMost('events lost', 0, 0)).toMatchObject({ goal: '<= 0', measured: '0', met: true });
  expect(atMost('slice', 10.26, 10, 'ms')).toMatchObject({ measured: '10.3 ms', met: false });
  expect([1234.56, 0.12345, 1.234].map(formatNumber)).toEqual(['1235', '0.123', '1.23']);
});
