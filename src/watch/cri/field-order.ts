/**
 * Whether the items of a runtime's lists have their fields in ascending order and the state no more than once.
 *
 * The wire format promises no order, yet every serializer known has this one, and with it all that follows the state
 * can be left unread. So it is not assumed but watched: items are read to their end until a whole list was as
 * hoped, new items always are, and the first that is not ends it. A list of nothing shows nothing. It holds for one
 * connection: another release may be behind the next.
 */
export class FieldOrder {
  #connection: number | undefined;
  #seen: 'nothing' | 'ascending' | 'other' = 'nothing';

  /** True once that was seen of a whole list, and of every item since. */
  get ascends(): boolean {
    return this.#seen === 'ascending';
  }

  /**
   * Tells over which connection the next list came, undefined when nobody knows; what was seen on another one is
   * forgotten.
   */
  useConnection(generation: number | undefined): void {
    if (generation !== undefined && generation === this.#connection) return;
    this.#connection = generation;
    this.#seen = 'nothing';
  }

  /** An item was not in order. */
  noteDisorder(): void {
    this.#seen = 'other';
  }

  /** A list was read to its end, at least one item. */
  noteEnd(): void {
    if (this.#seen === 'nothing') this.#seen = 'ascending';
  }
}
