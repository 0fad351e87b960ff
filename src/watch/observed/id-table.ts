/** Ids of containers and sandboxes have 64 bytes; longer ones are stored separately. */
const ID_BYTES = 64;
const FIRST_CAPACITY = 256;
const NONE = -1;

/**
 * Finds ids by their bytes, and gives each a slot: a small number to store other data under.
 *
 * A list answer has thousands of ids, nearly all of them known. Making a string of each, hashing it and
 * looking it up costs several times what comparing its bytes does, and leaves the strings to the garbage
 * collector. Slots of removed ids are reused.
 */
export class IdTable {
  #capacity = FIRST_CAPACITY;
  // Chains of slots by hash: `heads` by the hash's low bits, `next` for the rest of each chain and for the
  // free slots.
  #heads = new Int32Array(2 * FIRST_CAPACITY).fill(NONE);
  #next = new Int32Array(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);
  #lengths = new Uint8Array(FIRST_CAPACITY);
  #ids = new DataView(new ArrayBuffer(FIRST_CAPACITY * ID_BYTES));
  readonly #longIds = new Map<string, number>();
  readonly #longIdOf = new Map<number, string>();
  #free = NONE;
  #end = 0;
  #size = 0;

  /** The number of ids. */
  get size(): number {
    return this.#size;
  }

  /** One more than the largest slot ever used. */
  get end(): number {
    return this.#end;
  }

  /** The slot of the id in `[start, end)`, or -1. */
  find(view: DataView, start: number, end: number): number {
    const length = end - start;
    if (length > ID_BYTES) return this.#longIds.get(keyOf(view, start, end)) ?? NONE;
    const hash = hashOf(view, start, end);
    let slot = this.#heads[hash & (this.#heads.length - 1)]!;
    while (slot !== NONE) {
      if (
        this.#hashes[slot] === hash &&
        this.#lengths[slot] === length &&
        this.#holds(slot, view, start, end)
      )
        return slot;
      slot = this.#next[slot]!;
    }
    return NONE;
  }

  /** Adds an id that is not in the table, and returns its slot. Copies the bytes. */
  add(view: DataView, start: number, end: number): number {
    if (this.#free === NONE && this.#end === this.#capacity) this.#grow();
    const slot = this.#free === NONE ? this.#end++ : this.#free;
    if (slot === this.#free) this.#free = this.#next[slot]!;
    this.#size++;
    if (end - start > ID_BYTES) {
      const key = keyOf(view, start, end);
      this.#longIds.set(key, slot);
      this.#longIdOf.set(slot, key);
      return slot;
    }
    for (let at = start, to = slot * ID_BYTES; at < end; at++, to++)
      this.#ids.setUint8(to, view.getUint8(at));
    this.#lengths[slot] = end - start;
    this.#hashes[slot] = hashOf(view, start, end);
    this.#link(slot);
    return slot;
  }

  /** Removes the id of a slot; the slot may be reused. */
  remove(slot: number): void {
    const longId = this.#longIdOf.get(slot);
    if (longId !== undefined) {
      this.#longIds.delete(longId);
      this.#longIdOf.delete(slot);
    } else {
      this.#unlink(slot);
    }
    this.#next[slot] = this.#free;
    this.#free = slot;
    this.#size--;
  }

  #holds(slot: number, view: DataView, start: number, end: number): boolean {
    const ids = this.#ids;
    let own = slot * ID_BYTES;
    let at = start;
    for (; at + 4 <= end; at += 4, own += 4) if (ids.getInt32(own) !== view.getInt32(at)) return false;
    for (; at < end; at++, own++) if (ids.getUint8(own) !== view.getUint8(at)) return false;
    return true;
  }

  #link(slot: number): void {
    const head = this.#hashes[slot]! & (this.#heads.length - 1);
    this.#next[slot] = this.#heads[head]!;
    this.#heads[head] = slot;
  }

  #unlink(slot: number): void {
    const head = this.#hashes[slot]! & (this.#heads.length - 1);
    if (this.#heads[head] === slot) {
      this.#heads[head] = this.#next[slot]!;
      return;
    }
    let before = this.#heads[head]!;
    while (this.#next[before] !== slot) before = this.#next[before]!;
    this.#next[before] = this.#next[slot]!;
  }

  /** Doubles the table. Only called when every slot is taken, so that each slot has an id to be relinked. */
  #grow(): void {
    this.#capacity *= 2;
    const { buffer } = this.#ids;
    this.#ids = new DataView(new ArrayBuffer(this.#capacity * ID_BYTES));
    new Uint8Array(this.#ids.buffer).set(new Uint8Array(buffer));
    this.#hashes = grown(this.#hashes, new Int32Array(this.#capacity));
    this.#lengths = grown(this.#lengths, new Uint8Array(this.#capacity));
    this.#next = new Int32Array(this.#capacity);
    this.#heads = new Int32Array(2 * this.#capacity).fill(NONE);
    for (let slot = 0; slot < this.#end; slot++) if (!this.#longIdOf.has(slot)) this.#link(slot);
  }
}

/** A view for {@link IdTable} over the same bytes, without a copy. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function grown<T extends Int32Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** One character for each byte, so that different bytes give different keys. */
function keyOf(view: DataView, start: number, end: number): string {
  return Buffer.from(view.buffer, view.byteOffset + start, end - start).toString('latin1');
}

function hashOf(view: DataView, start: number, end: number): number {
  let hash = end - start;
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mix(hash, view.getInt32(at));
  for (; at < end; at++) hash = mix(hash, view.getUint8(at));
  return hash;
}

function mix(hash: number, value: number): number {
  // The constant is 2^32 divided by the golden ratio; the shift moves the high bits to where slots are
  // chosen.
  const product = Math.imul(hash ^ value, 0x9e3779b1);
  return product ^ (product >>> 15);
}
