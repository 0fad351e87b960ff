import { expect, it } from 'vitest';
import { matchesLabels } from './matches-labels.js';

it.each([
  [{}, {}, true],
  [{ app: 'web' }, {}, true],
  [{ app: 'web', tier: 'a' }, { app: 'web' }, true],
  [{ app: 'web' }, { app: 'web', tier: 'a' }, false],
  [{ app: 'web' }, { app: 'db' }, false],
  [{ app: '' }, { app: '' }, true],
  [{}, { app: '' }, false],
  [{}, { constructor: 'x' }, false],
])('labels %j and the selector %j: %s', (labels, selector, expected) => {
  expect(matchesLabels(labels, selector as unknown as Record<string, string>)).toBe(expected);
});
