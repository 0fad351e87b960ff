import { DynamicTable } from './dynamic-table.js';
import { type HeaderField } from './header-field.js';
import { HpackError } from './hpack-error.js';
import { decodeHuffman } from './huffman.js';
import { STATIC_TABLE } from './static-table.js';

/** What a header block says. */
export interface DecodedHeaders {
  readonly fields: readonly HeaderField[];
  /** New limits of the table that it begins with, in bytes. */
  readonly tableSizes: readonly number[];
  /** Whether the block leaves the reader's table as it was, so that one who never saw it reads the next all the same. */
  readonly leavesTableAlone: boolean;
}

/** The limit of the table until a block changes it (RFC 9113, SETTINGS_HEADER_TABLE_SIZE). */
const FIRST_TABLE_BYTES = 4096;
/** Far beyond what anybody sets; a table without a bound would be the sender's to fill. */
const LARGEST_TABLE_BYTES = 2 ** 20;
/** All that the fields of one block may come to: Huffman code and table together could make much out of little. */
const MAX_FIELD_BYTES = 16 * 2 ** 20;

/** Reads the header blocks of one direction of a connection, all of them and in order (RFC 7541). */
export class HpackDecoder {
  readonly #table = new DynamicTable(FIRST_TABLE_BYTES);
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Throws HpackError; the decoder is then of no use any more. */
  decode(block: Buffer): DecodedHeaders {
    this.#block = block;
    this.#at = 0;
    const fields: HeaderField[] = [];
    const tableSizes: number[] = [];
    let added = 0;
    let fieldBytes = 0;
    while (this.#at < block.length) {
      const first = block[this.#at]!;
      if ((first & 0xe0) === 0x20) {
        if (fields.length > 0) throw new HpackError('a table size stands behind a field');
        tableSizes.push(this.#resize());
        continue;
      }
      const field = this.#readField(first);
      if ((first & 0xc0) === 0x40) {
        this.#table.add(field);
        added++;
      }
      fieldBytes += field.name.length + field.value.length;
      if (fieldBytes > MAX_FIELD_BYTES) throw new HpackError('the fields of a header block are too large');
      fields.push(field);
    }
    return { fields, tableSizes, leavesTableAlone: added === 0 && tableSizes.length === 0 };
  }

  #resize(): number {
    const bytes = this.#readInteger(5);
    if (bytes > LARGEST_TABLE_BYTES) throw new HpackError(`a header table of ${bytes} bytes is too large`);
    this.#table.resize(bytes);
    return bytes;
  }

  #readField(first: number): HeaderField {
    if ((first & 0x80) !== 0) return this.#lookUp(this.#readInteger(7));
    const nameIndex = this.#readInteger((first & 0x40) !== 0 ? 6 : 4);
    const name = nameIndex === 0 ? this.#readString() : this.#lookUp(nameIndex).name;
    return { name, value: this.#readString(), neverIndexed: (first & 0xf0) === 0x10 };
  }

  #lookUp(index: number): HeaderField {
    const field =
      index <= STATIC_TABLE.length
        ? STATIC_TABLE[index - 1]
        : this.#table.find(index - STATIC_TABLE.length - 1);
    if (field === undefined) throw new HpackError(`there is no header field ${index}`);
    return field;
  }

  #readString(): string {
    if (this.#at >= this.#block.length) throw new HpackError('a header block ends within a field');
    const isHuffman = (this.#block[this.#at]! & 0x80) !== 0;
    const length = this.#readInteger(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw new HpackError('a header block ends within a string');
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return (isHuffman ? decodeHuffman(bytes) : bytes).toString('latin1');
  }

  /** A number in the low bits of this byte, and in those that follow when it is larger (RFC 7541, section 5.1). */
  #readInteger(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#block[this.#at++]! & most;
    if (value < most) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#block[this.#at++];
      if (byte === undefined) throw new HpackError('a header block ends within a number');
      value += (byte & 0x7f) * scale;
      if (value > 2 ** 31) throw new HpackError('a number in a header block is too large');
      if (byte < 0x80) return value;
      if (scale > 2 ** 35) throw new HpackError('a number in a header block is too long');
    }
  }
}
