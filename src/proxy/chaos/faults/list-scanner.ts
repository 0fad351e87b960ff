import { MESSAGE_PREFIX_BYTES } from '../../relay/index.js';
import { LIST_FIELDS } from '../cri-fields.js';
import { encodeTag, WireType } from '#base/wire/protobuf-fields.js';

/**
 * Ids as two numbers of 32 bits that stand for each: two ids with both the same are not to be expected, and of two with
 * the same first one, one is parsed again each time.
 */
export type SeenIds = Map<number, number>;

/** What a {@link ListScanner} needs. */
export interface ListScannerOptions {
  /** The items that are known, by their ids, and need no reading. */
  readonly known: SeenIds;
  /** Called with each other item, as bytes of its own; from then on it is known. */
  readonly onNew: (item: Buffer) => void;
}

/** Both an item of a list and the id in it: a field 1 that has a length. */
const ITEM_TAG = encodeTag(LIST_FIELDS.items, WireType.BYTES);
const MAX_ID_BYTES = 127;
const FIRST_ONE = 0x811c9dc5 | 0;
const FIRST_OTHER = 0x9e3779b9 | 0;
/** Larger items are left alone. */
const LARGEST_ITEM_BYTES = 2 ** 20;
/** Of a varint of 64 bits. */
const MAX_VARINT_BYTES = 10;
/** The bits of a varint that are kept: no length in a message that passes here, and no tag that is looked for, has more. */
const VARINT_BITS = 28;

/** What the next byte is of. */
const State = {
  PREFIX: 0,
  TAG: 1,
  LENGTH: 2,
  NUMBER: 3,
  SKIP: 4,
  ID_TAG: 5,
  ID_LENGTH: 6,
  ID: 7,
  REST: 8,
} as const;

/**
 * Finds the items of an answer that is a list, in bytes as they come, prefixes of messages included. Keeps none of
 * them but those of an item that is new, and touches nothing of an item but its id otherwise: a list of megabytes
 * costs little time and no memory.
 *
 * ```
 *   PREFIX ─► TAG ─┬► LENGTH ─┬► ID_TAG ─► ID_LENGTH ─► ID ─► REST ─┐   an item
 *     ▲        ▲   │          └► SKIP ──────────────────────────────┤   another field, or what cannot be read
 *     │        │   └► NUMBER ───────────────────────────────────────┤
 *     │        └────────────── the message goes on ◄────────────────┤
 *     └─────────────────────── it is complete ◄─────────────────────┘
 * ```
 */
export class ListScanner {
  readonly #options: ListScannerOptions;
  #state: (typeof State)[keyof typeof State] = State.PREFIX;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Of the message, behind the field that is being read. */
  #messageLeft = 0;
  /** Of the field, the item, or the prefix. */
  #fieldLeft: number = MESSAGE_PREFIX_BYTES;
  #idLeft = 0;
  /** A varint, or the length in a prefix, that is being read; what of a varint has no room, makes it huge. */
  #value = 0;
  #varintBytes = 0;
  #isHuge = false;
  #tag = 0;
  #isCompressed = false;
  // Two small numbers, and no object: there are as many ids as there are items.
  #one = 0;
  #other = 0;
  #hasId = false;
  /** Bytes of the item from chunks before this one, and where in this one the others begin; undefined: not wanted. */
  #parts: Buffer[] = [];
  #wantedFrom: number | undefined;

  constructor(options: ListScannerOptions) {
    this.#options = options;
  }

  push(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#at = 0;
    if (this.#wantedFrom !== undefined) this.#wantedFrom = 0;
    while (this.#at < bytes.length) this.#step();
    // A copy, so that the chunk is let go of.
    if (this.#wantedFrom !== undefined) this.#parts.push(Buffer.from(bytes.subarray(this.#wantedFrom)));
  }

  #step(): void {
    switch (this.#state) {
      case State.PREFIX:
        this.#readPrefix();
        break;
      case State.TAG:
        if (this.#readVarint()) this.#beginField(this.#value);
        break;
      case State.LENGTH:
        if (this.#readVarint()) this.#beginBytes(this.#value);
        break;
      case State.NUMBER:
        if (this.#readVarint()) this.#endField();
        break;
      case State.SKIP:
      case State.REST:
        this.#skip();
        break;
      case State.ID_TAG:
        this.#state = this.#readItemByte() === ITEM_TAG ? State.ID_LENGTH : State.REST;
        if (this.#fieldLeft === 0) this.#endItem();
        break;
      case State.ID_LENGTH:
        this.#idLeft = this.#readItemByte();
        this.#one = FIRST_ONE;
        this.#other = FIRST_OTHER;
        this.#state =
          this.#idLeft > 0 && this.#idLeft <= Math.min(MAX_ID_BYTES, this.#fieldLeft) ? State.ID : State.REST;
        if (this.#fieldLeft === 0) this.#endItem();
        break;
      case State.ID:
        this.#readId();
        break;
    }
  }

  #readPrefix(): void {
    const byte = this.#bytes[this.#at++]!;
    if (this.#fieldLeft === MESSAGE_PREFIX_BYTES) {
      this.#isCompressed = byte !== 0;
      this.#value = 0;
    } else {
      this.#value = this.#value * 0x100 + byte;
    }
    if (--this.#fieldLeft > 0) return;
    this.#messageLeft = this.#value;
    if (this.#isCompressed) this.#giveUpMessage();
    else this.#endField();
  }

  /** Reads a byte of a number in front of or in a field; true once it is complete. */
  #readVarint(): boolean {
    if (this.#messageLeft === 0 || this.#varintBytes >= MAX_VARINT_BYTES) {
      this.#giveUpMessage();
      return false;
    }
    const byte = this.#bytes[this.#at++]!;
    this.#messageLeft--;
    const shift = 7 * this.#varintBytes++;
    if (shift < VARINT_BITS) this.#value |= (byte & 0x7f) << shift;
    else if ((byte & 0x7f) !== 0) this.#isHuge = true;
    return byte < 0x80;
  }

  #beginField(tag: number): void {
    this.#tag = this.#isHuge ? 0 : tag;
    this.#clearVarint();
    const wireType = tag % 8;
    if (wireType === WireType.BYTES) this.#state = State.LENGTH;
    else if (wireType === WireType.VARINT) this.#state = State.NUMBER;
    else if (wireType === WireType.FIXED64) this.#beginSkip(8);
    else if (wireType === WireType.FIXED32) this.#beginSkip(4);
    else this.#giveUpMessage();
  }

  #beginBytes(length: number): void {
    if (this.#isHuge) {
      this.#giveUpMessage();
      return;
    }
    if (this.#tag !== ITEM_TAG || length === 0 || length > Math.min(this.#messageLeft, LARGEST_ITEM_BYTES)) {
      this.#beginSkip(length);
      return;
    }
    this.#messageLeft -= length;
    this.#fieldLeft = length;
    this.#hasId = false;
    this.#wantedFrom = this.#at;
    this.#state = State.ID_TAG;
  }

  #beginSkip(length: number): void {
    if (length > this.#messageLeft) {
      this.#giveUpMessage();
      return;
    }
    this.#messageLeft -= length;
    this.#fieldLeft = length;
    this.#state = State.SKIP;
    if (length === 0) this.#endField();
  }

  /** What follows cannot be read up to the next message. */
  #giveUpMessage(): void {
    this.#fieldLeft = this.#messageLeft;
    this.#messageLeft = 0;
    this.#state = State.SKIP;
    if (this.#fieldLeft === 0) this.#endField();
  }

  #skip(): void {
    const length = Math.min(this.#fieldLeft, this.#bytes.length - this.#at);
    this.#at += length;
    this.#fieldLeft -= length;
    if (this.#fieldLeft > 0) return;
    if (this.#state === State.REST) this.#endItem();
    else this.#endField();
  }

  #readItemByte(): number {
    this.#fieldLeft--;
    return this.#bytes[this.#at++]!;
  }

  #readId(): void {
    const length = Math.min(this.#idLeft, this.#bytes.length - this.#at);
    this.#addToHash(this.#at, this.#at + length);
    this.#at += length;
    this.#fieldLeft -= length;
    this.#idLeft -= length;
    if (this.#idLeft > 0) return;
    this.#hasId = true;
    if (this.#options.known.get(this.#one) === this.#other) this.#forgetItem();
    this.#state = State.REST;
    if (this.#fieldLeft === 0) this.#endItem();
  }

  #endItem(): void {
    if (this.#wantedFrom !== undefined) {
      this.#parts.push(this.#bytes.subarray(this.#wantedFrom, this.#at));
      const item = Buffer.concat(this.#parts);
      this.#forgetItem();
      this.#options.onNew(item);
      if (this.#hasId) this.#options.known.set(this.#one, this.#other);
    }
    this.#endField();
  }

  #forgetItem(): void {
    this.#wantedFrom = undefined;
    if (this.#parts.length > 0) this.#parts = [];
  }

  #endField(): void {
    const goesOn = this.#messageLeft > 0;
    this.#state = goesOn ? State.TAG : State.PREFIX;
    this.#fieldLeft = goesOn ? 0 : MESSAGE_PREFIX_BYTES;
    this.#clearVarint();
  }

  #clearVarint(): void {
    this.#value = 0;
    this.#varintBytes = 0;
    this.#isHuge = false;
  }

  #addToHash(from: number, to: number): void {
    const bytes = this.#bytes;
    let [one, other] = [this.#one, this.#other];
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      one = Math.imul(one ^ byte, 0x01000193);
      other = Math.imul(other ^ byte, 0x85ebca6b) ^ (other >>> 15);
    }
    this.#one = one;
    this.#other = other;
  }
}
