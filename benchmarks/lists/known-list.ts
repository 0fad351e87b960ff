/**
 * What a careful person would write by hand to find out whether anything of a list changed: one pass over the answer that
 * reads id and state of each item, finds the id among those that are known by its bytes, and compares the state. No string
 * and no object is made. Items come in any order: real runtimes list what they hold in a map.
 *
 * Written apart from the product's decoders on purpose; it shares no code with them.
 *
 * @module
 */

/** Field 1 with a length: of the answer an item, of an item the id. */
const ITEM_TAG = (1 << 3) | 2;
const ID_TAG = ITEM_TAG;
/** Of 64 hexadecimal digits, which is what runtimes give. */
const ID_BYTES = 64;
const EMPTY = -1;

/** What a pass found. */
export interface ListPass {
  readonly seen: number;
  /** Items that are new, or whose state is another; how many known ones are missing follows from `seen`. */
  readonly changed: number;
}

/** The items of one list answer, to hold later answers against. */
export class KnownList {
  readonly #stateTag: number;
  /** Ids one after the other, each at its number times their length. */
  readonly #ids: DataView;
  readonly #states: Int32Array;
  /** Numbers of items by hash; a taken place is passed over to the next. */
  readonly #places: Int32Array;

  /** `items` as a decoder read them from an earlier answer. Throws when an id is not of 64 bytes. */
  constructor(items: readonly { readonly id: string; readonly state: number }[], stateField: number) {
    this.#stateTag = stateField << 3;
    this.#ids = new DataView(new ArrayBuffer(items.length * ID_BYTES));
    this.#states = Int32Array.from(items, ({ state }) => state);
    this.#places = new Int32Array(2 ** Math.ceil(Math.log2(2 * items.length + 2))).fill(EMPTY);
    const bytes = new Uint8Array(this.#ids.buffer);
    for (const [item, { id }] of items.entries()) {
      if (id.length !== ID_BYTES) throw new Error(`"${id}" is not an id of ${ID_BYTES} bytes`);
      bytes.set(Buffer.from(id, 'latin1'), item * ID_BYTES);
      let place = this.#hash(this.#ids, item * ID_BYTES);
      while (this.#places[place] !== EMPTY) place = (place + 1) & (this.#places.length - 1);
      this.#places[place] = item;
    }
  }

  get size(): number {
    return this.#states.length;
  }

  /** Reads an answer. */
  compare(answer: Buffer): ListPass {
    const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
    const stateTag = this.#stateTag;
    let at = 0;
    let seen = 0;
    let changed = 0;
    while (at < answer.length) {
      const tag = readVarint();
      if (tag !== ITEM_TAG) {
        skip(tag);
        continue;
      }
      const end = readVarint() + at;
      let idAt = -1;
      let idLength = 0;
      let state = 0;
      while (at < end) {
        const field = readVarint();
        if (field === ID_TAG) {
          idLength = readVarint();
          idAt = at;
          at += idLength;
        } else if (field === stateTag) {
          state = readVarint();
          // All that is asked for has been read, where the id came before: runtimes write fields in their order.
          if (idAt >= 0) break;
        } else {
          skip(field);
        }
      }
      at = end;
      seen++;
      const item = idLength === ID_BYTES ? this.#find(view, idAt) : EMPTY;
      if (item === EMPTY || this.#states[item] !== state) changed++;
    }
    return { seen, changed };

    function readVarint(): number {
      let byte = answer[at++]!;
      if (byte < 0x80) return byte;
      let value = byte & 0x7f;
      for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
        byte = answer[at++]!;
        value += (byte & 0x7f) * scale;
      }
      return value;
    }

    function skip(tag: number): void {
      const wireType = tag & 7;
      if (wireType === 2) {
        const length = readVarint();
        at += length;
      } else if (wireType === 0) {
        while (answer[at++]! >= 0x80);
      } else if (wireType === 1) {
        at += 8;
      } else if (wireType === 5) {
        at += 4;
      } else {
        throw new Error(`wire type ${wireType} at byte ${at}`);
      }
    }
  }

  #find(view: DataView, at: number): number {
    let place = this.#hash(view, at);
    for (;;) {
      const item = this.#places[place]!;
      if (item === EMPTY || this.#isAt(item, view, at)) return item;
      place = (place + 1) & (this.#places.length - 1);
    }
  }

  #isAt(item: number, view: DataView, at: number): boolean {
    const own = item * ID_BYTES;
    for (let offset = 0; offset < ID_BYTES; offset += 4)
      if (this.#ids.getInt32(own + offset) !== view.getInt32(at + offset)) return false;
    return true;
  }

  /** Of all of the id: digits at its begin may be alike in all of them. (The odd constant is that of FNV-1a.) */
  #hash(view: DataView, at: number): number {
    let hash = 0;
    for (let offset = 0; offset < ID_BYTES; offset += 4) {
      hash = Math.imul(hash ^ view.getInt32(at + offset), 0x01000193);
      hash ^= hash >>> 15;
    }
    return hash & (this.#places.length - 1);
  }
}
