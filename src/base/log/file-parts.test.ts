import { expect, it } from 'vitest';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { brotliCompressSync } from 'node:zlib';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findPart, readFileParts, readPartsOf } from './file-parts.js';

type Part = readonly [line: number, column: number, source: number, sourceLine: number];

function write(sources: readonly string[], ...parts: readonly Part[]): Buffer {
  const bytes = Buffer.alloc(4 + parts.length * 10);
  bytes.writeUInt32LE(parts.length);
  for (const [at, [line, column, source, sourceLine]] of parts.entries()) {
    bytes.writeUInt32LE(line, 4 + at * 10);
    for (const [of, number] of [column, source, sourceLine].entries()) {
      bytes.writeUInt16LE(number, 8 + at * 10 + of * 2);
    }
  }
  return Buffer.concat([bytes, Buffer.from(sources.join('\n'))]);
}

// From line 3 the first source from its line 10, in line 40 from column 37 the second, from line 41 none.
const bytes = write(['pleg/pleg.js', 'util/clock.js'], [3, 1, 1, 10], [40, 37, 2, 5], [41, 1, 0, 0]);

it.each([
  ['where a part begins', 3, 1, { file: 'pleg/pleg.js', line: 10 }],
  ['further on in it', 39, 80, { file: 'pleg/pleg.js', line: 46 }],
  ['on a line of two parts, in the first', 40, 36, { file: 'pleg/pleg.js', line: 47 }],
  ['on a line of two parts, in the second', 40, 37, { file: 'util/clock.js', line: 5 }],
  ['in front of all parts', 2, 9, undefined],
  ['in what comes from nowhere', 41, 1, undefined],
  ['far behind', 9_999, 1, undefined],
])('finds the source of a position: %s', (_what, line, column, place) => {
  expect(findPart(readFileParts(bytes), line, column)).toEqual(place);
});

it('finds nothing in a file without parts', () => {
  expect(findPart(readFileParts(write([])), 1, 1)).toBeUndefined();
});

it('finds the parts of one file among those of all', () => {
  const folder = mkdtempSync(join(tmpdir(), 'podloop-parts-'));
  const index = pathToFileURL(join(folder, 'podloop.parts'));
  try {
    const [first, second] = [
      brotliCompressSync(write(['a.js'], [1, 1, 1, 7])),
      brotliCompressSync(write(['b.js', 'c.js'], [1, 1, 2, 9])),
    ] as const;
    const table = Buffer.from(
      JSON.stringify({ 'one-ä.js': [0, first.length], 'two.js': [first.length, second.length] }),
    );
    const length = Buffer.alloc(4);
    length.writeUInt32LE(table.length);
    writeFileSync(index, Buffer.concat([length, table, first, second]));
    expect(findPart(readPartsOf('one-ä.js', index)!, 3, 1)).toEqual({ file: 'a.js', line: 9 });
    expect(findPart(readPartsOf('two.js', index)!, 1, 1)).toEqual({ file: 'c.js', line: 9 });
    for (const name of ['three.js', 'toString', '']) expect(readPartsOf(name, index)).toBeUndefined();
    expect(() => readPartsOf('one.js', pathToFileURL(join(folder, 'none')))).toThrow('ENOENT');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
