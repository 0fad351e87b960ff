import { PassThrough } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type TerminalSize } from '../streaming-ports.js';
import { readTerminalSizes } from './terminal-size-reader.js';

async function read(...chunks: string[]): Promise<TerminalSize[]> {
  const stream = new PassThrough();
  const sizes: TerminalSize[] = [];
  readTerminalSizes(stream, (size) => sizes.push(size));
  for (const chunk of chunks) stream.write(chunk);
  await nextRound();
  return sizes;
}

it('reads sizes, several in a chunk and one over several', async () => {
  expect(await read('{"Width":80,"Height":24}\n{"Width":100,', '"Height":30}')).toEqual([
    { columns: 80, rows: 24 },
    { columns: 100, rows: 30 },
  ]);
});

it('passes over what no terminal can be', async () => {
  const nonsense = [
    '{"Width":0,"Height":0}',
    '{"Width":"x","Height":3}',
    '{"Width":99999,"Height":1}',
    '}{}',
    'x}',
  ];
  expect(await read(...nonsense, '{"Width":1,"Height":2}')).toEqual([{ columns: 1, rows: 2 }]);
});

it('goes on after text without an end', async () => {
  expect(await read('{'.repeat(10_000), '{"Width":7,"Height":8}')).toEqual([{ columns: 7, rows: 8 }]);
});

it('takes the last size of a flood, and does not read all of it', async () => {
  const flood = '{"Width":1,"Height":1}'.repeat(100_000);
  const sizes = await read(`${flood}{"Width":7,"Height":8}`);
  expect(sizes.at(-1)).toEqual({ columns: 7, rows: 8 });
  expect(sizes.length).toBeLessThan(200);
});

it('is not kept busy by nonsense: as much as a message may hold is passed over at once', async () => {
  const nonsense = '}'.repeat(4 * 1024 * 1024);
  expect(await read(`${nonsense}{"Height":8, "Width": 7}`)).toEqual([{ columns: 7, rows: 8 }]);
});
