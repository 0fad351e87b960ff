/** The last one is for all further failures. */
const WAITS_MS = [250, 500, 1_000, 2_000, 5_000] as const;

/** How long to wait before the next attempt to connect: longer from failure to failure. */
export class ReconnectWaits {
  #failures = 0;

  /** After another failure. */
  nextMs(): number {
    return WAITS_MS[Math.min(this.#failures++, WAITS_MS.length - 1)]!;
  }

  /** The connection is there. */
  reset(): void {
    this.#failures = 0;
  }
}
