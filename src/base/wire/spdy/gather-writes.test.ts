import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { gatherWrites } from './gather-writes.js';

/** What reaches the other side, piece by piece. */
function transportOf(pieces: string[]): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, callback) => {
      pieces.push(String(chunk));
      callback();
    },
    writev: (chunks, callback) => {
      pieces.push(chunks.map(({ chunk }) => String(chunk)).join(''));
      callback();
    },
  });
}

it('sends everything written in one turn of the loop in one piece', async () => {
  const pieces: string[] = [];
  const transport = transportOf(pieces);
  for (const text of ['a', 'b', 'c']) {
    gatherWrites(transport);
    transport.write(text);
  }
  expect(pieces).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(pieces).toEqual(['abc']);
  transport.write('d');
  expect(pieces).toEqual(['abc', 'd']);
});

it('sends the rest when the transport is ended in the same turn', async () => {
  const pieces: string[] = [];
  const transport = transportOf(pieces);
  gatherWrites(transport);
  transport.write('a');
  transport.write('b');
  transport.end('c');
  await new Promise((resolve) => transport.once('finish', resolve));
  expect(pieces.join('')).toBe('abc');
});
