import { type ByteSource } from './byte-source.js';
import { type PaxRecords } from './pax-records.js';
import { TarError } from './tar-entry.js';
import { BLOCK, readSize } from './tar-header.js';

/** A part of a sparse file that has data. */
export interface SparsePart {
  readonly offset: number;
  readonly length: number;
}

const MAX_PARTS = 100_000;

/** GNU's own format: four parts in the header, 21 in each block that follows it. */
export async function readGnuMap(header: Buffer, source: ByteSource): Promise<SparsePart[]> {
  const parts: SparsePart[] = [];
  let block = header;
  let [at, count, flag] = [386, 4, 482];
  // Blocks are counted and not parts: a block may say that it has none, and that another one follows.
  for (let blocks = 0; ; blocks++) {
    for (let index = 0; index < count; index++, at += 24) {
      const part = { offset: readSize(block, at, 12), length: readSize(block, at + 12, 12) };
      if (part.offset > 0 || part.length > 0) parts.push(part);
    }
    if (block[flag] !== 1 && block[flag] !== 0x31) return parts;
    if (blocks * 21 > MAX_PARTS) throw new TarError('a sparse file has too many parts');
    block = await source.read(BLOCK);
    if (block.length < BLOCK) throw new TarError('it ends within the map of a sparse file');
    [at, count, flag] = [0, 21, 504];
  }
}

/** The map that extended headers hold in the formats 0.0 and 0.1; undefined when they hold none. */
export function readPaxMap({ values, sparsePairs }: PaxRecords): SparsePart[] | undefined {
  const listed = values.get('GNU.sparse.map');
  const numbers = listed === undefined ? [...sparsePairs] : listed.split(',');
  return numbers.length === 0 ? undefined : toParts(numbers);
}

/** Format 1.0: the map stands before the data, a number a line, filled up to a whole block. Returns its length too. */
export async function readStoredMap(
  source: ByteSource,
  stored: number,
): Promise<{ parts: SparsePart[]; length: number }> {
  const numbers: string[] = [];
  let text = '';
  let length = 0;
  let wanted: number | undefined;
  while (wanted === undefined || numbers.length < wanted) {
    const block = length < stored ? await source.read(BLOCK) : Buffer.alloc(0);
    if (block.length < BLOCK) throw new TarError('it ends within the map of a sparse file');
    length += BLOCK;
    text += block.toString('latin1');
    const lines = text.split('\n');
    text = lines.pop()!;
    if (text.length > BLOCK) throw new TarError('the map of a sparse file is malformed');
    for (const line of lines) {
      if (wanted === undefined) wanted = 2 * toNumber(line);
      else if (numbers.length < wanted) numbers.push(line);
      if (wanted > 2 * MAX_PARTS) throw new TarError('a sparse file has too many parts');
    }
  }
  return { parts: toParts(numbers), length };
}

/** Throws unless the parts follow one another within the file and are as long together as what is stored. */
export function checkMap(parts: readonly SparsePart[], size: number, stored: number): void {
  let end = 0;
  let total = 0;
  for (const { offset, length } of parts) {
    if (offset < end || offset + length > size)
      throw new TarError('the parts of a sparse file overlap or exceed it');
    end = offset + length;
    total += length;
  }
  if (total !== stored) throw new TarError('a sparse file has less or more data than its parts');
}

function toParts(numbers: readonly string[]): SparsePart[] {
  if (numbers.length % 2 !== 0 || numbers.length > 2 * MAX_PARTS)
    throw new TarError('the map of a sparse file is malformed');
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    offset: toNumber(numbers[2 * index]!),
    length: toNumber(numbers[2 * index + 1]!),
  }));
}

function toNumber(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new TarError('the map of a sparse file is malformed');
  return Number(text);
}
