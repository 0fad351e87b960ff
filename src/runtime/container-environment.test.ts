import { expect, it } from 'vitest';
import { computeEnvironment, expandVariables } from './container-environment.js';

const valueOf = (name: string): string | undefined => ({ A: 'a', EMPTY: '' })[name];

it.each([
  ['$(A)', 'a'],
  ['x$(A)y$(A)', 'xaya'],
  ['$(EMPTY)', ''],
  ['$(UNKNOWN)', '$(UNKNOWN)'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$a'],
  ['$A', '$A'],
  ['$(A', '$(A'],
  ['100$', '100$'],
  ['$$', '$'],
])('expands %s to %s', (text, expanded) => {
  expect(expandVariables(text, valueOf)).toBe(expanded);
});

it('expands a variable with those before it, and not with those after', () => {
  expect(
    computeEnvironment([
      { name: 'FIRST', value: 'see $(SECOND)' },
      { name: 'SECOND', value: '2' },
      { name: 'THIRD', value: '$(SECOND)+1' },
      { name: 'NOTHING' },
    ]),
  ).toEqual([
    { name: 'FIRST', value: 'see $(SECOND)' },
    { name: 'SECOND', value: '2' },
    { name: 'THIRD', value: '2+1' },
    { name: 'NOTHING', value: '' },
  ]);
});

it('lets the last of a name hold, which may build on the one before', () => {
  expect(
    computeEnvironment([
      { name: 'P', value: '/bin' },
      { name: 'Q', value: 'q' },
      { name: 'P', value: '/opt:$(P)' },
    ]),
  ).toEqual([
    { name: 'Q', value: 'q' },
    { name: 'P', value: '/opt:/bin' },
  ]);
});
