/**
 * How much of complete answers waits for clients to read it.
 *
 * A shared answer counts once. Beyond the limit, the clients that have taken longest are cut off, and the
 * newest one stays: a slow reader costs other slow readers, and never one that reads.
 */
export class WaitingBytes {
  readonly #maxBytes: number;
  /** By body, the oldest first: functions that break off its answers. */
  readonly #waiting = new Map<Uint8Array, Set<() => void>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The present total. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts an answer until the returned function is called; `breakOff` is called at most once. */
  add(body: Uint8Array, breakOff: () => void): () => void {
    const sharers = this.#waiting.get(body) ?? new Set();
    if (sharers.size === 0) this.#bytes += body.length;
    // A shared body is as old as its newest reader: the others cost nothing more.
    this.#waiting.delete(body);
    this.#waiting.set(body, sharers.add(breakOff));
    this.#makeRoom();
    return () => {
      if (!sharers.delete(breakOff) || sharers.size > 0) return;
      this.#bytes -= body.length;
      this.#waiting.delete(body);
    };
  }

  #makeRoom(): void {
    for (const [body, sharers] of this.#waiting) {
      if (this.#bytes <= this.#maxBytes || this.#waiting.size === 1) return;
      this.#waiting.delete(body);
      this.#bytes -= body.length;
      for (const breakOff of [...sharers]) {
        sharers.delete(breakOff);
        breakOff();
      }
    }
  }
}
