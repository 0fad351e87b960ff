/** How far apart two looks are, at least, that both have to miss a thing: less than from one look of the node to the next. */
const APART_MS = 4 * 60_000;

/**
 * Takes something for gone that two looks in a row have missed, some minutes apart: a runtime that has just come up may
 * leave out what it has.
 */
export class Absences {
  /** Monotonic times at which the first looks began that missed them. */
  readonly #sinceMs = new Map<string, number>();

  /** It is there, or has come. */
  saw(key: string): void {
    this.#sinceMs.delete(key);
  }

  /** A look that began at that monotonic time did not show it. Returns whether it is gone. */
  missed(key: string, lookedAtMs: number): boolean {
    const sinceMs = this.#sinceMs.get(key);
    if (sinceMs === undefined) this.#sinceMs.set(key, lookedAtMs);
    return sinceMs !== undefined && lookedAtMs - sinceMs >= APART_MS;
  }
}
