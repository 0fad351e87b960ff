/** The label of values for which there is no room. */
export const OTHER = 'other';

/**
 * Limits the values of a label, whatever comes from outside.
 *
 * The first `capacity` different values stay as they are; later ones become `other`.
 */
export class BoundedValues {
  readonly #capacity: number;
  readonly #values = new Set<string>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The value, or `other`. */
  take(value: string): string {
    if (this.#values.has(value)) return value;
    if (this.#values.size >= this.#capacity) return OTHER;
    this.#values.add(value);
    return value;
  }
}
