import { type HeaderField } from './header-field.js';

/** What every entry counts beyond its bytes (RFC 7541, section 4.1). */
const ENTRY_OVERHEAD_BYTES = 32;

/** The fields that one connection has added in one direction; the newest has index 0. */
export class DynamicTable {
  /** From the oldest, which are gone up to `#first`, to the newest. */
  #entries: HeaderField[] = [];
  #first = 0;
  #bytes = 0;
  #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#entries.length - this.#first;
  }

  get bytes(): number {
    return this.#bytes;
  }

  find(index: number): HeaderField | undefined {
    return index < this.length ? this.#entries[this.#entries.length - 1 - index] : undefined;
  }

  /** Adds a field; older ones make room. One that is larger than the table empties it. */
  add(field: HeaderField): void {
    this.#entries.push(field);
    this.#bytes += sizeOf(field);
    this.#evict();
  }

  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes) this.#bytes -= sizeOf(this.#entries[this.#first++]!);
    // Not at every eviction: moving all entries for one is what this table avoids.
    if (this.#first > 64 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#first = 0;
    }
  }
}

function sizeOf({ name, value }: HeaderField): number {
  return name.length + value.length + ENTRY_OVERHEAD_BYTES;
}
