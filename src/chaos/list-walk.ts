import { type GrpcMessage, MESSAGE_PREFIX_BYTES } from '../relay/index.js';
import { LIST_FIELDS } from './cri-fields.js';
import { encodeTag, WireType } from './protobuf-fields.js';

/** Two tags, two lengths of five bytes, and an id: nothing beyond is looked at before it is known that the item is new. */
const HEAD_BYTES = 144;
const LONGEST_ID_BYTES = 127;
/** Both an item of a list and the id in it: a field 1 that has a length. */
const ITEM_TAG = encodeTag(LIST_FIELDS.items, WireType.BYTES);

/**
 * Goes from item to item of an answer that is a list, in the pieces in which it came: what is skipped is not touched.
 *
 * Throws RangeError when the bytes are no message.
 */
export class ListWalk {
  /** Of the message as a whole. */
  readonly bytes: number;
  /** A number that stands for the item's id; undefined when the id is not where all writers put it. */
  idHash: number | undefined;
  readonly #pieces: readonly Buffer[];
  #piece = 0;
  /** Where in that piece the next field begins, possibly beyond its end. */
  #at = MESSAGE_PREFIX_BYTES;
  #item = { piece: 0, at: 0, length: 0 };

  constructor(message: GrpcMessage) {
    this.#pieces = message.pieces;
    this.bytes = message.length;
  }

  /** Goes to the next item; false when there is none. */
  next(): boolean {
    while (this.#settle()) {
      const whole = this.#pieces[this.#piece]!;
      // Nearly always there is enough of the piece left.
      const isWhole = whole.length - this.#at >= HEAD_BYTES;
      const head = isWhole ? whole : this.#copy(this.#piece, this.#at, HEAD_BYTES);
      const begin = isWhole ? this.#at : 0;
      if (this.#readHead(head, begin)) return true;
    }
    return false;
  }

  /** The bytes of the item. */
  item(): Buffer {
    const { piece, at, length } = this.#item;
    const whole = this.#pieces[piece];
    if (whole !== undefined && at + length <= whole.length) return whole.subarray(at, at + length);
    const copy = this.#copy(piece, at, length);
    if (copy.length < length) throw new RangeError('a list that is cut off');
    return copy;
  }

  /** Finds the piece in which the next byte is; false at the end. */
  #settle(): boolean {
    for (;;) {
      const piece = this.#pieces[this.#piece];
      if (piece === undefined) {
        if (this.#at > 0) throw new RangeError('a list that is cut off');
        return false;
      }
      if (this.#at < piece.length) return true;
      this.#at -= piece.length;
      this.#piece++;
    }
  }

  /** Reads what a field begins with, and goes behind the field; whether it is an item. */
  #readHead(head: Buffer, begin: number): boolean {
    let at = begin;
    const tag = readVarint();
    const wireType = tag % 8;
    let length = 0;
    if (wireType === WireType.BYTES) length = readVarint();
    else if (wireType === WireType.VARINT) readVarint();
    else if (wireType === WireType.FIXED64) length = 8;
    else if (wireType === WireType.FIXED32) length = 4;
    else throw new RangeError(`a field of wire type ${wireType}`);
    const isItem = tag === ITEM_TAG;
    if (isItem) {
      this.#item = { piece: this.#piece, at: this.#at + at - begin, length };
      const idLength = head[at] === ITEM_TAG ? (head[at + 1] ?? 0) : 0;
      const isPlain = idLength > 0 && idLength <= LONGEST_ID_BYTES && idLength + 2 <= length;
      const end = at + 2 + idLength;
      this.idHash = isPlain && end <= head.length ? hashOf(head, at + 2, end) : undefined;
    }
    this.#at += at - begin + length;
    return isItem;

    function readVarint(): number {
      let value = 0;
      for (let scale = 1; scale <= 2 ** 63; scale *= 128) {
        const byte = head[at++];
        if (byte === undefined) throw new RangeError('a list that is cut off');
        value += (byte & 0x7f) * scale;
        if (byte < 0x80) return value;
      }
      throw new RangeError('a number that does not end');
    }
  }

  /** So many bytes from there on, or as many as there are. */
  #copy(firstPiece: number, from: number, length: number): Buffer {
    const parts: Buffer[] = [];
    let [at, missing] = [from, length];
    for (let piece = firstPiece; missing > 0 && piece < this.#pieces.length; piece++) {
      const bytes = this.#pieces[piece]!;
      const part = bytes.subarray(at, at + missing);
      parts.push(part);
      missing -= part.length;
      at = Math.max(0, at - bytes.length);
    }
    return Buffer.concat(parts);
  }
}

/** A number of 53 bits that stands for these bytes: two ids with the same one are not to be expected. */
function hashOf(bytes: Buffer, from: number, to: number): number {
  let [one, other] = [0x811c9dc5, 0x9e3779b9];
  for (let at = from; at < to; at++) {
    one = Math.imul(one ^ bytes[at]!, 0x01000193);
    other = Math.imul(other ^ bytes[at]!, 0x85ebca6b) ^ (other >>> 15);
  }
  return (one >>> 0) * 2 ** 21 + (other >>> 11);
}
