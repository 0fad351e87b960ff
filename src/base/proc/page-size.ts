import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';

/** AT_PAGESZ of getauxval(3). */
const PAGE_SIZE_KEY = 6n;
const USUAL = 4_096;

/** The size of the machine's memory pages, in bytes; the usual one if the kernel does not report it. */
export async function readPageSize(): Promise<number> {
  try {
    return findPageSize(await readFile('/proc/self/auxv')) ?? USUAL;
  } catch {
    return USUAL;
  }
}

/** Parses pairs of 64-bit numbers, as in /proc/self/auxv of a 64-bit process. */
export function findPageSize(auxv: Buffer): number | undefined {
  const read = (at: number): bigint =>
    endianness() === 'LE' ? auxv.readBigUInt64LE(at) : auxv.readBigUInt64BE(at);
  for (let at = 0; at + 16 <= auxv.length; at += 16) {
    if (read(at) === PAGE_SIZE_KEY) return Number(read(at + 8));
  }
  return undefined;
}
