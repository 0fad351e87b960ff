import { HEADER_DICTIONARY_ID } from './header-dictionary.js';
import { MAX_BLOCK_LENGTH } from './stored-blocks.js';

/**
 * Writes headers as a compressed stream without compressing them.
 *
 * A server sends few and short headers: zlib would save less than the 256 KiB that it needs for each
 * connection. DEFLATE has stored blocks (RFC 1951, section 3.2.4), which every reader accepts.
 */
export class HeaderDeflater {
  #begun = false;

  /** The next part of the stream, with which the other side can read all of `block`, at most 64 KiB. */
  deflate(block: Buffer): Buffer {
    // An empty stored block acts as a flush: readers return what they have when they see it.
    const parts = [...this.#begin(), ...storedBlock(block), ...storedBlock(Buffer.alloc(0))];
    return Buffer.concat(parts);
  }

  /** The head of a zlib stream (RFC 1950) with the dictionary's id. */
  #begin(): readonly Buffer[] {
    if (this.#begun) return [];
    this.#begun = true;
    const head = Buffer.from([0x78, 0xbb, 0, 0, 0, 0]);
    head.writeUInt32BE(HEADER_DICTIONARY_ID, 2);
    return [head];
  }
}

function storedBlock(bytes: Buffer): readonly Buffer[] {
  if (bytes.length > MAX_BLOCK_LENGTH) throw new RangeError(`${bytes.length} bytes of headers`);
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(MAX_BLOCK_LENGTH - bytes.length, 3);
  return [head, bytes];
}
