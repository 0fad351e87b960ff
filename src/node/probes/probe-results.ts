import { PodloopError } from '#base/errors/errors.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type Clock } from '#base/time/clock.js';
import { type ProbeResult } from './probe-result.js';

/** Options of {@link ProbeResults}. */
export interface ProbeResultsOptions {
  readonly clock: Clock;
  /** Called once, when it is closed. */
  readonly onClose: (results: ProbeResults) => void;
}

/**
 * The results of probes for one reader, in the order in which they came.
 *
 * Only the newest result per container and probe type is queued, so that a slow reader does not fall behind,
 * and the number of probes limits the queue. One reader at a time.
 */
export class ProbeResults implements AsyncIterable<ProbeResult>, AsyncDisposable {
  readonly #options: ProbeResultsOptions;
  readonly #waiting = new Map<string, ProbeResult>();
  readonly #arrival = new Wakeup();
  readonly #never = new AbortController().signal;
  #closed = false;
  #reading = false;
  #folded = 0;

  constructor(options: ProbeResultsOptions) {
    this.#options = options;
  }

  /** The number of queued results. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** The number of results that a newer one replaced before they were read. */
  get folded(): number {
    return this.#folded;
  }

  /** Adds a result; never waits, never throws. */
  push(result: ProbeResult): void {
    if (this.#closed) return;
    const key = `${result.type}/${result.containerId}`;
    if (this.#waiting.delete(key)) this.#folded++;
    this.#waiting.set(key, result);
    this.#arrival.wake();
  }

  /** The next queued result, if any, without waiting. */
  take(): ProbeResult | undefined {
    for (const [key, result] of this.#waiting) {
      this.#waiting.delete(key);
      return result;
    }
    return undefined;
  }

  /** Ends the iteration after what is queued. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.onClose(this);
    this.#arrival.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ProbeResult, void, undefined> {
    // Before the `try`: a second reader must not close what the first one reads.
    if (this.#reading) {
      throw new PodloopError('SUBSCRIPTION_IN_USE', 'results have one reader; subscribe once per reader');
    }
    this.#reading = true;
    try {
      for (;;) {
        const result = this.take();
        if (result !== undefined) yield result;
        else if (this.#closed) return;
        else await this.#arrival.wait(this.#options.clock, undefined, this.#never);
      }
    } finally {
      this.#reading = false;
      this.close();
    }
  }
}
