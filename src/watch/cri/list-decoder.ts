import { setImmediate as nextTurn } from 'node:timers/promises';

import { FieldOrder } from './field-order.js';
import { type WireCounters } from './interning-reader.js';

/** Field numbers in a list's items. The items are in field 1, their id in field 1 of each. */
export interface ListShape {
  /** Field number of the state, a varint. */
  readonly stateField: number;
  /** Fields above this number are unknown to this version. */
  readonly lastKnownField: number;
}

/** Container in ListContainersResponse and StreamContainersResponse. */
export const CONTAINER_LIST: ListShape = { stateField: 6, lastKnownField: 10 };
/** PodSandbox in ListPodSandboxResponse and StreamPodSandboxesResponse. */
export const SANDBOX_LIST: ListShape = { stateField: 3, lastKnownField: 7 };

/**
 * Called for each item with the positions of its id and of the whole item in the answer, and with its state
 * as on the wire.
 *
 * Returns the cost of the visit, in plain items: more than 1 if it decoded the whole item.
 */
export type ItemVisitor = (
  idStart: number,
  idEnd: number,
  state: number,
  start: number,
  end: number,
) => number;

/** How reading is divided into slices, and how much of each item is read. */
export interface SliceOptions {
  /** What is known about the order of fields; without it every item is read to its end. */
  readonly order?: FieldOrder;
  /** A slice ends once it has cost this many items (default: 1,000). */
  readonly sliceItems?: number;
  readonly signal?: AbortSignal | undefined;
  /** Called between two slices: lets the event loop turn. */
  readonly yieldToLoop?: () => Promise<unknown>;
}

const DEFAULT_SLICE_ITEMS = 1_000;
/** Groups are obsolete and nobody should send them; they are skipped up to this depth. */
const DEEPEST_GROUP = 100;
const ITEM_TAG = (1 << 3) | 2;
const ID_TAG = (1 << 3) | 2;

/**
 * Reads a list answer by hand, only id and state of each item, in slices with turns of the event loop
 * between.
 *
 * CRI makes everything else of an item immutable for its id, so a known id need not be read again. Fields may
 * come in any order. If they are known to ascend, an item is read only up to its state; this skips labels and
 * annotations, which are most of it. Fields that this version does not know are then counted only for new
 * items. Nothing handed out refers to `answer`. Throws an Error if `answer` is not valid protobuf, and the
 * signal's reason between slices.
 */
export async function scanList(
  answer: Buffer,
  shape: ListShape,
  counters: WireCounters,
  visit: ItemVisitor,
  options: SliceOptions = {},
): Promise<void> {
  const {
    sliceItems = DEFAULT_SLICE_ITEMS,
    signal,
    yieldToLoop = nextTurn,
    order = new FieldOrder(),
  } = options;
  const scan = new ListScan(answer, shape, counters, order);
  while (scan.step(sliceItems, visit)) {
    await yieldToLoop();
    signal?.throwIfAborted();
  }
  if (scan.hasSeenItem) order.noteEnd();
}

/** The reading of one answer, slice by slice. */
class ListScan {
  readonly #bytes: Buffer;
  readonly #stateTag: number;
  readonly #firstUnknownTag: number;
  readonly #counters: WireCounters;
  readonly #order: FieldOrder;
  // The position in the answer. Reading a varint moves it, so that no method has to return two numbers.
  #at = 0;
  #hasSeenItem = false;

  constructor(bytes: Buffer, shape: ListShape, counters: WireCounters, order: FieldOrder) {
    this.#bytes = bytes;
    this.#stateTag = shape.stateField << 3;
    this.#firstUnknownTag = (shape.lastKnownField + 1) << 3;
    this.#counters = counters;
    this.#order = order;
  }

  get hasSeenItem(): boolean {
    return this.#hasSeenItem;
  }

  /** Visits items until their cost reaches `budget`. Returns false at the end of the answer. */
  step(budget: number, visit: ItemVisitor): boolean {
    const total = this.#bytes.length;
    let cost = 0;
    while (this.#at < total) {
      if (cost >= budget) return true;
      const tag = this.#varint();
      if (tag !== ITEM_TAG) {
        this.#counters.unknownFields++;
        this.#skip(tag);
        continue;
      }
      const end = this.#varint() + this.#at;
      if (end > total) throw new RangeError('an item reaches beyond the end of the answer');
      this.#hasSeenItem = true;
      cost += this.#order.ascends ? this.#itemToItsState(end, visit) : this.#item(end, visit);
    }
    if (this.#at > total) throw new RangeError('a field reaches beyond the end of the answer');
    return false;
  }

  /**
   * Reads an item only up to its state, as fields ascend and neither id nor state follows.
   *
   * It repeats code of `#item` on purpose: a call for each field would cost more than its work, and this runs
   * for every container each second.
   */
  #itemToItsState(end: number, visit: ItemVisitor): number {
    const bytes = this.#bytes;
    const start = this.#at;
    const stateTag = this.#stateTag;
    let at = start;
    let idStart = 0;
    let idEnd = 0;
    let state = 0;
    while (at < end) {
      // Tags this low take one byte, and so do most lengths.
      const tag = bytes[at]!;
      if (tag >= stateTag) {
        this.#at = at;
        if (this.#varint() === stateTag) state = this.#int32();
        at = this.#at;
        break;
      }
      if ((tag & 7) !== 2) {
        this.#at = at + 1;
        this.#skip(tag);
        at = this.#at;
        continue;
      }
      let length = bytes[++at]!;
      if (length < 0x80) at++;
      else {
        this.#at = at;
        length = this.#varint();
        at = this.#at;
      }
      if (tag === ID_TAG) {
        idStart = at;
        idEnd = at + length;
      }
      at += length;
    }
    if (at > end) throw new RangeError('a field reaches beyond the end of its item');
    this.#at = start;
    // Its id may come later.
    if (idStart === idEnd) return this.#item(end, visit);
    const cost = visit(idStart, idEnd, state, start, end);
    // A new item shows whether its fields ascend too.
    if (cost > 1) this.#item(end, () => cost);
    this.#at = end;
    return cost;
  }

  /** Reads an item to its end, in any order of its fields, and notes that order. */
  #item(end: number, visit: ItemVisitor): number {
    const bytes = this.#bytes;
    const start = this.#at;
    const stateTag = this.#stateTag;
    const firstUnknownTag = this.#firstUnknownTag;
    let at = start;
    let idStart = 0;
    let idEnd = 0;
    let state = 0;
    let lastTag = 0;
    while (at < end) {
      // Nearly every tag and length here is one byte; the rest goes the long way.
      let tag = bytes[at]!;
      if (tag < 0x80) at++;
      else {
        this.#at = at;
        tag = this.#varint();
        at = this.#at;
      }
      if (tag < lastTag || (tag === stateTag && tag === lastTag)) this.#order.noteDisorder();
      lastTag = tag;
      if ((tag & 7) === 2) {
        let length = bytes[at]!;
        if (length < 0x80) at++;
        else {
          this.#at = at;
          length = this.#varint();
          at = this.#at;
        }
        if (tag === ID_TAG) {
          idStart = at;
          idEnd = at + length;
        } else if (tag >= firstUnknownTag) this.#counters.unknownFields++;
        at += length;
      } else if (tag === stateTag) {
        this.#at = at;
        state = this.#int32();
        at = this.#at;
      } else {
        if (tag >= firstUnknownTag) this.#counters.unknownFields++;
        this.#at = at;
        this.#skip(tag);
        at = this.#at;
      }
    }
    if (at !== end) throw new RangeError('a field reaches beyond the end of its item');
    this.#at = end;
    return visit(idStart, idEnd, state, start, end);
  }

  #varint(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 0x80) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError('a number reaches beyond the end of the answer');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.#at = at;
        return value;
      }
    }
    throw new RangeError('a number of more than ten bytes');
  }

  /**
   * An enum value. A negative one takes ten bytes, more than a number can hold; its low 32 bits are the
   * value.
   */
  #int32(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError('a number reaches beyond the end of the answer');
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.#at = at;
        return value;
      }
    }
    throw new RangeError('a number of more than ten bytes');
  }

  /** Skips the value that belongs to a tag; `depth` is the number of enclosing groups. */
  #skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case 0:
        this.#varint();
        return;
      case 1:
        this.#at += 8;
        return;
      case 2: {
        // Not `this.#at += …`: that reads the position before the length has moved it.
        const length = this.#varint();
        this.#at += length;
        return;
      }
      case 3:
        if (depth >= DEEPEST_GROUP) throw new RangeError(`groups nested too deep at byte ${this.#at}`);
        for (let inner = this.#varint(); inner !== tag + 1; inner = this.#varint())
          this.#skip(inner, depth + 1);
        return;
      case 5:
        this.#at += 4;
        return;
      default:
        throw new RangeError(`wire type ${tag & 7} at byte ${this.#at}`);
    }
  }
}
