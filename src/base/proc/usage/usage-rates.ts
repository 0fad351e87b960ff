/** A reading of a CPU counter. */
interface Sample {
  readonly atMs: number;
  readonly totalNs: bigint;
}

/** Shorter windows would show single time slices instead of a usage. */
const SHORTEST_WINDOW_MS = 1_000;
/** Keys that were not requested for this long are forgotten, at the next call for any key. */
const FORGET_AFTER_MS = 30 * 60_000;

/**
 * CPU usage over a window, in nanoseconds of CPU time per second (CRI's usageNanoCores).
 *
 * The window reaches from an earlier call, at least a second ago, to this one: nothing is measured without
 * calls. The first call's window begins with the container if its age is known. Otherwise that call starts
 * the first window, and the result is undefined until the window is long enough.
 */
export class UsageRates {
  readonly #samples = new Map<string, { base: Sample; last: Sample }>();
  #sweptAtMs = 0;

  /**
   * Computes the present usage of `key`.
   *
   * @param totalNs its CPU time since its start.
   * @param nowMs monotonic milliseconds.
   * @param ageMs how long it has been running, for the first call; undefined if unknown.
   */
  compute(key: string, totalNs: bigint, nowMs: number, ageMs: number | undefined): bigint | undefined {
    this.#sweep(nowMs);
    const sample = { atMs: nowMs, totalNs };
    const known = this.#samples.get(key);
    // A counter that went back belongs to something new under an old name.
    if (known === undefined || totalNs < known.last.totalNs) {
      // A clock that was set back can make its age negative.
      const base = ageMs === undefined || ageMs <= 0 ? sample : { atMs: nowMs - ageMs, totalNs: 0n };
      this.#samples.set(key, { base, last: sample });
      return base === sample ? undefined : rate(base, sample);
    }
    if (nowMs - known.last.atMs >= SHORTEST_WINDOW_MS) {
      this.#samples.set(key, { base: known.last, last: sample });
      return rate(known.last, sample);
    }
    return known.base === known.last ? undefined : rate(known.base, sample);
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptAtMs < FORGET_AFTER_MS) return;
    this.#sweptAtMs = nowMs;
    for (const [key, { last }] of this.#samples) {
      if (nowMs - last.atMs > FORGET_AFTER_MS) this.#samples.delete(key);
    }
  }
}

function rate(from: Sample, to: Sample): bigint {
  const elapsedMs = to.atMs - from.atMs;
  return BigInt(Math.round((Number(to.totalNs - from.totalNs) / elapsedMs) * 1_000));
}
