import { describe, expect, it } from 'vitest';
import { type ExposedSample } from '../exposition.js';
import { evaluate } from './evaluate.js';
import { parseExpression } from './expression.js';
import { ScrapedSeries } from './scraped-series.js';

const AT_MS = 1_000_000_000;

/** Series with a value every 15 seconds, the last one now. */
function seriesOf(told: Readonly<Record<string, readonly (number | undefined)[]>>): ScrapedSeries {
  const series = new ScrapedSeries({ job: 'j' });
  const longest = Math.max(...Object.values(told).map(({ length }) => length));
  for (let step = 0; step < longest; step++) {
    const samples = Object.entries(told).flatMap(([key, values]): ExposedSample[] => {
      const [, name = '', label = ''] = /^(\w+)(?:\/(.*))?$/.exec(key) ?? [];
      const value = values[step - longest + values.length];
      return value === undefined ? [] : [{ name, labels: label === '' ? {} : { x: label }, value }];
    });
    series.add(AT_MS - (longest - 1 - step) * 15_000, { samples, types: new Map() });
  }
  return series;
}

function valueOf(
  expression: string,
  told: Readonly<Record<string, readonly (number | undefined)[]>>,
): unknown {
  const result = evaluate(parseExpression(expression), seriesOf(told), AT_MS);
  if (typeof result === 'number') return result;
  return Object.fromEntries(result.map(({ labels, value }) => [labels['x'] ?? '', value]));
}

describe('the evaluation of an expression', () => {
  it.each([
    ['1 + 2 * 3 - 4 / 2', {}, 5],
    ['(1 + 2) * 3', {}, 9],
    ['-a', { a: [2] }, { '': -2 }],
    ['a > 1', { 'a/one': [1], 'a/two': [2] }, { two: 2 }],
    ['a > bool 1', { 'a/one': [1], 'a/two': [2] }, { one: 0, two: 1 }],
    ['a{x="one"}', { 'a/one': [1], 'a/two': [2] }, { one: 1 }],
    ['a{x!~"o.*"}', { 'a/one': [1], 'a/two': [2] }, { two: 2 }],
    ['a / b', { 'a/one': [6], 'a/two': [2], 'b/one': [3] }, { one: 2 }],
    ['a or b', { 'a/one': [1], 'b/one': [2], 'b/two': [3] }, { one: 1, two: 3 }],
    ['a and b', { 'a/one': [1], 'a/two': [2], 'b/two': [0] }, { two: 2 }],
    ['a unless b', { 'a/one': [1], 'a/two': [2], 'b/two': [0] }, { one: 1 }],
    ['sum(a)', { 'a/one': [1], 'a/two': [2] }, { '': 3 }],
    ['max by (x) (a)', { 'a/one': [1], 'a/two': [2] }, { one: 1, two: 2 }],
    ['absent(a)', { b: [1] }, { '': 1 }],
    ['absent(a)', { a: [1] }, {}],
    ['changes(a[1m])', { a: [1, 1, 2, 2, 1] }, { '': 2 }],
    // It is gone: not there in the last scrape.
    ['a', { a: [1, undefined], b: [1, 1] }, {}],
    ['increase(a[1m])', { a: [10, 20, 30, 40, 50] }, { '': 40 }],
    ['rate(a[1m])', { a: [10, 20, 30, 40, 50] }, { '': 40 / 60 }],
    // It began anew.
    ['increase(a[1m])', { a: [100, 110, 120, 0, 10] }, { '': 80 / 3 }],
  ])('computes %s over %j', (expression, told, value) => {
    expect(valueOf(expression, told)).toEqual(value);
  });

  it('finds a quantile inside of its bucket', () => {
    const series = new ScrapedSeries({});
    const samples = [
      ['1', 10],
      ['2', 30],
      ['+Inf', 40],
    ].map(([le, value]) => ({ name: 'h', labels: { le: String(le) }, value: Number(value) }));
    series.add(AT_MS, { samples, types: new Map() });
    const quantile = (q: number): unknown =>
      evaluate(parseExpression(`histogram_quantile(${q}, h)`), series, AT_MS);
    expect(quantile(0.5)).toEqual([{ labels: {}, value: 1.5 }]);
    expect(quantile(0.99)).toEqual([{ labels: {}, value: 2 }]);
  });

  it.each(['a{', 'sum(a', 'a b', 'a[5 minutes]', 'a{x~"y"}', 'a +'])('refuses %s', (expression) => {
    expect(() => parseExpression(expression)).toThrow();
  });
});
