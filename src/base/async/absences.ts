/** The minimum time between the two scans that must both miss a thing: less than the node's scan period. */
const APART_MS = 4 * 60_000;

/**
 * Counts something as gone only after two scans in a row, some minutes apart, have missed it.
 *
 * A runtime that has just started may not list everything yet.
 */
export class Absences {
  /** Monotonic time at which the first scan that missed each key began. */
  readonly #sinceMs = new Map<string, number>();

  /** Notes that the key exists. */
  saw(key: string): void {
    this.#sinceMs.delete(key);
  }

  /**
   * Notes that a scan, which began at this monotonic time, missed the key. Returns whether it counts as gone.
   */
  missed(key: string, lookedAtMs: number): boolean {
    const sinceMs = this.#sinceMs.get(key);
    if (sinceMs === undefined) this.#sinceMs.set(key, lookedAtMs);
    return sinceMs !== undefined && lookedAtMs - sinceMs >= APART_MS;
  }
}
