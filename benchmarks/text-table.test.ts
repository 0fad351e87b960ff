import { expect, it } from 'vitest';
import { formatTable } from './text-table.js';

it('lines up the columns, numbers to the right', () => {
  expect(
    formatTable(
      ['what', 'ms', 'verdict'],
      [
        ['a', '1.5', 'within'],
        ['longer', '12.5', 'above'],
      ],
    ),
  ).toBe(
    [
      '| what   |   ms | verdict |',
      '| ------ | ---: | ------- |',
      '| a      |  1.5 | within  |',
      '| longer | 12.5 | above   |',
    ].join('\n'),
  );
});
