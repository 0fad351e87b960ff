/**
 * Reads protobuf's wire format field by field: to find one thing in a message of megabytes, or to change a
 * message without knowing all of its fields.
 *
 * @module
 */

/** The encoding of a field; the two for groups are obsolete. */
export const WireType = { VARINT: 0, FIXED64: 1, BYTES: 2, FIXED32: 5 } as const;

/** The field numbers of an entry of a map. */
export const MAP_ENTRY_FIELDS = { key: 1, value: 2 } as const;

/** A field number that no message of CRI has, near protobuf's limit. */
const UNKNOWN_FIELD = 536_870_000;

/** A field of a message, with its position in the bytes. */
export class ProtobufField {
  readonly number: number;
  /** See {@link WireType}. */
  readonly wireType: number;
  /** The value of a numeric field, exact up to 2^53; 0 for others. */
  readonly value: number;
  readonly #message: Buffer;
  readonly #begin: number;
  readonly #contentBegin: number;
  readonly #end: number;

  constructor(
    message: Buffer,
    what: { readonly number: number; readonly wireType: number; readonly value: number },
    where: { readonly begin: number; readonly contentBegin: number; readonly end: number },
  ) {
    this.#message = message;
    this.number = what.number;
    this.wireType = what.wireType;
    this.value = what.value;
    this.#begin = where.begin;
    this.#contentBegin = where.contentBegin;
    this.#end = where.end;
  }

  /** The bytes from the tag to the end. */
  get whole(): Buffer {
    return this.#message.subarray(this.#begin, this.#end);
  }

  /** The content of a field of bytes; empty for others. */
  get bytes(): Buffer {
    return this.wireType === WireType.BYTES ? this.#message.subarray(this.#contentBegin, this.#end) : EMPTY;
  }

  /** The content of a string field; empty for others. */
  get text(): string {
    if (this.wireType !== WireType.BYTES) return '';
    return this.#message.toString('utf8', this.#contentBegin, this.#end);
  }
}

const EMPTY = Buffer.alloc(0);

/** The fields of a message, in order. Throws RangeError if the bytes are not a message. */
export function* readFields(message: Buffer): Generator<ProtobufField> {
  for (let at = 0; at < message.length;) {
    const begin = at;
    const tag = readVarint();
    const wireType = tag % 8;
    let value = 0;
    let contentBegin = at;
    if (wireType === WireType.VARINT) value = readVarint();
    else if (wireType === WireType.FIXED64) at += 8;
    else if (wireType === WireType.FIXED32) at += 4;
    else if (wireType === WireType.BYTES) {
      const length = readVarint();
      contentBegin = at;
      at += length;
    } else throw new RangeError(`a field of wire type ${wireType}`);
    if (at > message.length) throw new RangeError('a message that is cut off');
    const where = { begin, contentBegin, end: at };
    yield new ProtobufField(message, { number: Math.floor(tag / 8), wireType, value }, where);

    function readVarint(): number {
      let value = 0;
      for (let scale = 1; scale <= 2 ** 63; scale *= 128) {
        const byte = message[at++];
        if (byte === undefined) throw new RangeError('a message that is cut off');
        value += (byte & 0x7f) * scale;
        if (byte < 0x80) return value;
      }
      throw new RangeError('a number that does not end');
    }
  }
}

/** The bytes of the last field with this number; undefined if there is none. */
export function findBytes(message: Buffer, number: number): Buffer | undefined {
  let found: Buffer | undefined;
  for (const field of readFields(message))
    if (field.number === number && field.wireType === WireType.BYTES) found = field.bytes;
  return found;
}

/** The bytes of every field with this number. */
export function findAllBytes(message: Buffer, number: number): Buffer[] {
  const isOne = (field: ProtobufField): boolean =>
    field.number === number && field.wireType === WireType.BYTES;
  return [...readFields(message)].filter(isOne).map(({ bytes }) => bytes);
}

/** A string field; empty if it is absent, as in protobuf. */
export function readString(message: Buffer, number: number): string {
  return findBytes(message, number)?.toString('utf8') ?? '';
}

/** The string in a map field for a key. */
export function findInMap(message: Buffer, number: number, key: string): string | undefined {
  for (const field of readFields(message)) {
    if (field.number !== number || readString(field.bytes, MAP_ENTRY_FIELDS.key) !== key) continue;
    return readString(field.bytes, MAP_ENTRY_FIELDS.value);
  }
  return undefined;
}

/** A field that no reader knows, with this many bytes of content: it only makes a message larger. */
export function makeUnknownField(bytes: number): Buffer {
  const tag = encodeTag(UNKNOWN_FIELD, WireType.BYTES);
  return Buffer.concat([encodeVarint(tag), encodeVarint(bytes), Buffer.alloc(bytes)]);
}

/** The tag of a field: its number and encoding. */
export function encodeTag(number: number, wireType: number): number {
  return number * 8 + wireType;
}

/** Encodes a field of bytes, a text or a message. */
export function encodeBytesField(number: number, bytes: Uint8Array): Buffer {
  const tag = encodeTag(number, WireType.BYTES);
  return Buffer.concat([encodeVarint(tag), encodeVarint(bytes.length), bytes]);
}

/** Encodes a number below 2^53. */
export function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** Returns undefined for unreadable bytes, which are left to the client. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
