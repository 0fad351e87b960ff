import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger } from '#base/log/logger.js';
import { SharedLook } from '#base/async/shared-look.js';

/** What a {@link CachedFact} needs. */
export interface CachedFactOptions<Value> {
  /** What it is, for the log: `images`. */
  readonly name: string;
  readonly look: (signal: AbortSignal) => Promise<Value>;
  /** After which nobody waits for a look any more. */
  readonly deadlineMs: number;
  /** For how long what was found is not looked up again (default: 0). */
  readonly freshForMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A fact that is read repeatedly. While it cannot be read, the last value stays; each problem is logged once. */
export class CachedFact<Value> {
  readonly #options: CachedFactOptions<Value>;
  readonly #looks: SharedLook<Value>;
  #value: Value | undefined;
  #complaint: string | undefined;
  #foundAtMs = -Infinity;

  constructor(options: CachedFactOptions<Value>) {
    this.#options = options;
    const { name, look, deadlineMs, clock } = options;
    const late = (): Error => new Error(`${name}: not found out within ${formatGoDuration(deadlineMs)}`);
    this.#looks = new SharedLook({ clock, deadlineMs, late, look });
  }

  /** As it was last found; undefined before. */
  get value(): Value | undefined {
    return this.#value;
  }

  /**
   * Looks once, or waits for the look that is under way, unless what is known is fresh. Resolves when that is over or late;
   * rejects only when aborted.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    const { name, logger, clock, freshForMs = 0 } = this.#options;
    if (clock.monotonicMs() - this.#foundAtMs < freshForMs) return;
    try {
      this.#value = await this.#looks.get(signal);
      this.#foundAtMs = clock.monotonicMs();
      this.#complaint = undefined;
    } catch (error) {
      signal.throwIfAborted();
      const complaint = messageOf(error);
      if (complaint !== this.#complaint) {
        logger.error('Failed to set some node status fields', error, { fact: name });
      }
      this.#complaint = complaint;
    }
  }
}
