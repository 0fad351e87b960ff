import { HEADER_DICTIONARY_ID } from './header-dictionary.js';

/** Two bytes of its own and the dictionary's id. */
const HEAD_BYTES = 6;
const DEFLATE = 8;
const HAS_DICTIONARY = 0x20;
/** The kind of block, and twice the length of its content. */
const BLOCK_HEAD_BYTES = 5;
/** The largest length of a stored block, in two bytes. */
export const MAX_BLOCK_LENGTH = 65_535;

/**
 * The content of a part of a zlib stream (RFC 1950) that consists of whole stored blocks (RFC 1951, section
 * 3.2.4).
 *
 * Undefined for everything else, which may be valid and is left to zlib. `isFirst`: the stream begins with
 * this part. Pure.
 */
export function readStoredBlocks(part: Buffer, isFirst: boolean): Buffer | undefined {
  if (isFirst && !isHead(part)) return undefined;
  const contents: Buffer[] = [];
  for (let at = isFirst ? HEAD_BYTES : 0; at < part.length;) {
    const begin = at + BLOCK_HEAD_BYTES;
    if (begin > part.length || part[at] !== 0) return undefined;
    const length = part.readUInt16LE(at + 1);
    if (part.readUInt16LE(at + 3) !== MAX_BLOCK_LENGTH - length || begin + length > part.length)
      return undefined;
    contents.push(part.subarray(begin, begin + length));
    at = begin + length;
  }
  return Buffer.concat(contents);
}

function isHead(part: Buffer): boolean {
  if (part.length < HEAD_BYTES) return false;
  const [method, flags] = [part[0]!, part[1]!];
  return (
    (method & 0x0f) === DEFLATE &&
    method >> 4 <= 7 &&
    (flags & HAS_DICTIONARY) !== 0 &&
    (method * 256 + flags) % 31 === 0 &&
    part.readUInt32BE(2) === HEADER_DICTIONARY_ID
  );
}
