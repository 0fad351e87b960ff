/**
 * Whether the items of a runtime's lists have their fields in ascending order, and the state at most once.
 *
 * The wire format promises no order, but every known serializer writes fields in ascending order, and then
 * everything after the state can be left unread. The order is verified, not assumed: items are read to their
 * end until a whole list was in order. New items are always read to their end, and the first one out of order
 * ends the shortcut. An empty list proves nothing. The finding is valid for one connection, as another
 * release of the runtime may answer on the next.
 */
export class FieldOrder {
  #connection: number | undefined;
  #seen: 'nothing' | 'ascending' | 'other' = 'nothing';

  /** True once a whole list was in order, and every item since then. */
  get ascends(): boolean {
    return this.#seen === 'ascending';
  }

  /**
   * Sets the connection that the next list came over, undefined if that is unclear. A different connection
   * resets the finding.
   */
  useConnection(generation: number | undefined): void {
    if (generation !== undefined && generation === this.#connection) return;
    this.#connection = generation;
    this.#seen = 'nothing';
  }

  /** Notes an item that was not in order. */
  noteDisorder(): void {
    this.#seen = 'other';
  }

  /** Notes that a list with at least one item was read to its end. */
  noteEnd(): void {
    if (this.#seen === 'nothing') this.#seen = 'ascending';
  }
}
