import { expect, it } from 'vitest';
import { DESCRIBE_LAYOUT, layOutTable, layOutTabs, TABLE_LAYOUT } from './tab-columns.js';

it('puts columns below one another, the last one without space behind it', () => {
  expect(layOutTabs(['NAME\tREADY\tAGE', 'web\t1/1\t5s'], TABLE_LAYOUT)).toEqual([
    'NAME   READY   AGE',
    'web    1/1     5s',
  ]);
});

it('makes a table of cells, of each its first line and nothing that commands a terminal', () => {
  expect(
    layOutTable([
      ['NAME', 'ABOUT'],
      ['a\tb', 'one\ntwo'],
      ['\u001B[2J', 'x'],
    ]),
  ).toEqual(['NAME    ABOUT', 'a b     one...', '^[[2J   x']);
});

it('gives a column at least its least width', () => {
  expect(layOutTabs(['a\tb'], TABLE_LAYOUT)).toEqual(['a     b']);
});

it('ends a column with a line that has no cell in it', () => {
  const lines = ['Name:\tweb', 'Containers:', '  main:', '    Image:\tx', '    Restart Count:\t0'];
  expect(layOutTabs(lines, DESCRIBE_LAYOUT)).toEqual([
    'Name:  web',
    'Containers:',
    '  main:',
    '    Image:          x',
    '    Restart Count:  0',
  ]);
});

it('lets a column go on in lines with more columns', () => {
  expect(layOutTabs(['a:\tb', 'long name:\tc\td', 'e:\tff\tg'], DESCRIBE_LAYOUT)).toEqual([
    'a:          b',
    'long name:  c   d',
    'e:          ff  g',
  ]);
});

it('counts characters and not bytes', () => {
  expect(layOutTabs(['äöüß\tx', 'abcd\ty'], DESCRIBE_LAYOUT)).toEqual(['äöüß  x', 'abcd  y']);
});
