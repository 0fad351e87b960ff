import { type SourcePlace } from './source-place.js';

/** Of which parts a file consists that was made of many: what `scripts/bundle-program.mjs` has written, as it lies on the disk. */
export interface FileParts {
  readonly sources: readonly string[];
  /**
   * Ten bytes a part, in order, the lowest byte of a number first: the line where it begins (four bytes), the column, its source
   * counted from 1 (0 for what comes from none), and its line there (two bytes each). Looked at and never decoded: few of
   * thousands are ever asked for, and the first time is while the program starts.
   */
  readonly begins: Buffer;
}

const PART_BYTES = 10;
const COUNT_BYTES = 4;

/** Reads a file: the number of parts (four bytes), the parts, then the sources, one a line. */
export function readFileParts(bytes: Buffer): FileParts {
  const end = COUNT_BYTES + bytes.readUInt32LE(0) * PART_BYTES;
  const sources = bytes.toString('utf8', end).split('\n');
  return { sources, begins: bytes.subarray(COUNT_BYTES, end) };
}

/** Where a place of the file comes from; undefined for what comes from none of the sources. Lines and columns begin at 1. */
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
  // Within a part, lines go along with one another.
  return { file, line: begins.readUInt16LE(at + 8) + line - begins.readUInt32LE(at) };
}
