import { closeSync, openSync, readSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { findInExecutable } from '../program/executable-files.js';
import { type SourcePlace } from './source-place.js';

/** The parts of a bundled file: the index that `scripts/bundle-program.mjs` has written. */
export interface FileParts {
  readonly sources: readonly string[];
  /**
   * The parts in order, ten bytes each, with little-endian numbers.
   *
   * They are: the line where the part begins (four bytes), the column, the number of its source counted from
   * 1 (0 for none), and its line there (two bytes each). The buffer is searched without decoding it, as only
   * a few of thousands of parts are ever needed, and the first while the program starts.
   */
  readonly begins: Buffer;
}

const PART_BYTES = 10;
const COUNT_BYTES = 4;

/**
 * Reads the parts of one bundled file from the file with those of all: the length of a table (four bytes), the table in JSON, which says
 * where the parts of each file begin behind it and how many bytes they are, and the parts, compressed by brotli. Undefined for a file
 * that is not in the table. Throws what the file system says.
 */
export function readPartsOf(name: string, index: URL): FileParts | undefined {
  const inside = findInExecutable(index);
  if (inside !== undefined) return findPartsOf(name, (at, length) => inside.subarray(at, at + length));
  const file = openSync(index, 'r');
  try {
    return findPartsOf(name, (at, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, at));
    });
  } finally {
    closeSync(file);
  }
}

function findPartsOf(name: string, read: (at: number, length: number) => Buffer): FileParts | undefined {
  const length = read(0, COUNT_BYTES).readUInt32LE(0);
  const table = JSON.parse(read(COUNT_BYTES, length).toString()) as Readonly<
    Record<string, [number, number]>
  >;
  const place = Object.hasOwn(table, name) ? table[name] : undefined;
  return place && readFileParts(brotliDecompressSync(read(COUNT_BYTES + length + place[0], place[1])));
}

/** Parses an index: the number of parts (four bytes), the parts, then the sources, one per line. */
export function readFileParts(bytes: Buffer): FileParts {
  const end = COUNT_BYTES + bytes.readUInt32LE(0) * PART_BYTES;
  const sources = bytes.toString('utf8', end).split('\n');
  return { sources, begins: bytes.subarray(COUNT_BYTES, end) };
}

/**
 * The source of a position in the file; undefined if it comes from none of the sources. Lines and columns
 * begin at 1.
 */
export function findPart(
  { sources, begins }: FileParts,
  line: number,
  column: number,
): SourcePlace | undefined {
  let [low, high] = [0, begins.length / PART_BYTES];
  while (low < high) {
    const middle = (low + high) >> 1;
    const beginLine = begins.readUInt32LE(middle * PART_BYTES);
    if (beginLine < line || (beginLine === line && begins.readUInt16LE(middle * PART_BYTES + 4) <= column)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low === 0) return undefined;
  const at = (low - 1) * PART_BYTES;
  const file = sources[begins.readUInt16LE(at + 6) - 1];
  if (file === undefined) return undefined;
  // Within a part, lines advance together.
  return { file, line: begins.readUInt16LE(at + 8) + line - begins.readUInt32LE(at) };
}
