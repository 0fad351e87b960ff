import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';

/** Options of {@link AgentEnding}. */
export interface AgentEndingOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** For all parts together, from now, in milliseconds. */
  readonly limitMs: number;
}

const LEAST_MS = 1_000;

/**
 * Ends an agent part by part within one limit for all; names parts that do not end in time, and leaves them
 * behind.
 *
 * Once the limit is up, each remaining part gets a second for what it can do at once.
 */
export class AgentEnding {
  readonly #options: AgentEndingOptions;
  readonly #startedMs: number;
  readonly #left: string[] = [];

  constructor(options: AgentEndingOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
  }

  /** Milliseconds left for the next part. */
  get remainingMs(): number {
    const { clock, limitMs } = this.#options;
    return Math.max(LEAST_MS, this.#startedMs + limitMs - clock.monotonicMs());
  }

  /** Names of the parts that did not end in time. */
  get left(): readonly string[] {
    return this.#left;
  }

  /** Waits for the end of a part, whether it succeeds or fails; `marginMs` longer than for others. */
  async of(name: string, ending: Promise<unknown>, marginMs = 0): Promise<void> {
    const { clock, logger } = this.#options;
    ending.catch((error: unknown) => {
      logger.error('Part of the agent does not end well', error, { part: name });
    });
    if (await settlesWithin(ending, this.remainingMs + marginMs, clock)) return;
    this.#left.push(name);
    logger.error('Part of the agent does not end in time and is left to itself', undefined, { part: name });
  }

  /** The same for several parts that end in parallel. */
  async ofAll(parts: readonly (readonly [name: string, ending: Promise<unknown>])[]): Promise<void> {
    await Promise.all(parts.map(([name, ending]) => this.of(name, ending)));
  }
}
