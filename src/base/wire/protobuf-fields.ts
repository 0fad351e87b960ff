/**
 * Protobuf's wire format, read field by field: for looking at one thing in a message of megabytes, and for changing a
 * message without knowing all that is in it.
 *
 * @module
 */

/** How a field is written; the two that group fields are of no use any more. */
export const WireType = { VARINT: 0, FIXED64: 1, BYTES: 2, FIXED32: 5 } as const;

/** Where an entry of a map has what. */
export const MAP_ENTRY_FIELDS = { key: 1, value: 2 } as const;

/** A number that no message of CRI has, near the end of what protobuf allows. */
const UNKNOWN_FIELD = 536_870_000;

/** A field of a message, where it stands in the bytes. */
export class ProtobufField {
  readonly number: number;
  /** See {@link WireType}. */
  readonly wireType: number;
  /** What a field that is a number holds, exact up to 2^53; 0 for others. */
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

  /** From the tag to the end. */
  get whole(): Buffer {
    return this.#message.subarray(this.#begin, this.#end);
  }

  /** What a field of bytes holds; empty for others. */
  get bytes(): Buffer {
    return this.wireType === WireType.BYTES ? this.#message.subarray(this.#contentBegin, this.#end) : EMPTY;
  }

  /** What a string field holds; empty for others. */
  get text(): string {
    if (this.wireType !== WireType.BYTES) return '';
    return this.#message.toString('utf8', this.#contentBegin, this.#end);
  }
}

const EMPTY = Buffer.alloc(0);

/** The fields of a message in their order. Throws RangeError when the bytes are no message. */
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

/** The bytes of the last field of that number; undefined when there is none. */
export function findBytes(message: Buffer, number: number): Buffer | undefined {
  let found: Buffer | undefined;
  for (const field of readFields(message))
    if (field.number === number && field.wireType === WireType.BYTES) found = field.bytes;
  return found;
}

/** The bytes of every field of that number. */
export function findAllBytes(message: Buffer, number: number): Buffer[] {
  const isOne = (field: ProtobufField): boolean =>
    field.number === number && field.wireType === WireType.BYTES;
  return [...readFields(message)].filter(isOne).map(({ bytes }) => bytes);
}

/** A string field; empty when it is absent, as protobuf has it. */
export function readString(message: Buffer, number: number): string {
  return findBytes(message, number)?.toString('utf8') ?? '';
}

/** The string that a map field has for a key. */
export function findInMap(message: Buffer, number: number, key: string): string | undefined {
  for (const field of readFields(message)) {
    if (field.number !== number || readString(field.bytes, MAP_ENTRY_FIELDS.key) !== key) continue;
    return readString(field.bytes, MAP_ENTRY_FIELDS.value);
  }
  return undefined;
}

/** A field that no reader knows, with so many bytes of content: it makes a message larger and changes nothing in it. */
export function makeUnknownField(bytes: number): Buffer {
  const tag = encodeTag(UNKNOWN_FIELD, WireType.BYTES);
  return Buffer.concat([encodeVarint(tag), encodeVarint(bytes), Buffer.alloc(bytes)]);
}

/** What a field begins with: its number, and how it is written. */
export function encodeTag(number: number, wireType: number): number {
  return number * 8 + wireType;
}

/** A field that holds bytes, a text or a message. */
export function encodeBytesField(number: number, bytes: Uint8Array): Buffer {
  const tag = encodeTag(number, WireType.BYTES);
  return Buffer.concat([encodeVarint(tag), encodeVarint(bytes.length), bytes]);
}

/** A number below 2^53 as protobuf writes it. */
export function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** What cannot be read stays as it is: it is the client's to make sense of it. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
