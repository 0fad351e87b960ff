/** What a label says of values beyond those that it has room for. */
export const OTHER = 'other';

/**
 * Keeps the values of a label few, whatever comes from outside: the first `capacity` different ones are taken as they
 * are, all later ones are called `other`.
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
