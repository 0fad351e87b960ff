import { expect, it } from 'vitest';
import { writeHead, writeLabels, writeNumber } from './metrics-lines.js';

it("lines of metrics are in Prometheus' format", () => {
  expect(writeHead({ name: 'a_total', type: 'counter', help: 'One\\two\nthree "four".' })).toBe(
    '# HELP a_total One\\\\two\\nthree "four".\n# TYPE a_total counter\n',
  );
  expect(writeLabels({ a: 'x"y\\z\n', le: 0.5, none: undefined, empty: '' })).toBe(
    'a="x\\"y\\\\z\\n",le="0.5",empty=""',
  );
  expect(writeLabels({})).toBe('');
  expect([Infinity, -Infinity, Number.NaN, 1e21, 0.1].map(writeNumber)).toEqual([
    ...['+Inf', '-Inf', 'NaN', '1e+21', '0.1'],
  ]);
});
