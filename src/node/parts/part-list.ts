/**
 * The parts of an agent in the order of its life: each starts with what those before it have made, and they
 * stop in reverse order.
 *
 * In: {@link Part}s, one after another. Out: what each has made. When a part does not start, whoever starts
 * them stops the list, and nothing is left behind: a part that rejects takes back what it has done itself.
 *
 * ```
 * start    root directory ─► runtime ─► … ─► API ─► sync loop
 * stop     root directory ◄─ runtime ◄─ … ◄─ API ◄─ sync loop
 * ```
 *
 * @module
 */
import { setMaxListeners } from 'node:events';
import { settlesWithin } from '#base/async/settles-within.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';

/** One part in the life of an agent. */
export interface Part<Made> {
  /** For the log. */
  readonly name: string;
  /** Makes what later parts get. Leaves nothing behind when it rejects; the signal asks it to do so. */
  start(signal: AbortSignal): Made | Promise<Made>;
  /**
   * Takes back what {@link Part.start} has made, in at most `limitMs` (default: there is nothing to take back).
   *
   * A part that consists of several returns the end of each by its name.
   */
  stop?(made: Made, limitMs: number): PartStop;
  /** The same for what needs no time (default: nothing). */
  release?(made: Made): void;
}

/** The end of a part, or the ends of the several that it consists of. */
export type PartStop = Promise<unknown> | readonly PartEnd[];

/** The name of a part that is ending, and its end. */
export type PartEnd = readonly [name: string, ending: Promise<unknown>];

/** What runs by its name until its signal aborts, and resolves then. */
export type Loop = readonly [name: string, run: (signal: AbortSignal) => Promise<unknown>];

/** Options of {@link PartList}. */
export interface PartListOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** For all parts together, each time that they are stopped, in milliseconds. */
  readonly stopLimitMs: number;
  /** Called before each part starts; an error ends the start there (default: nothing). */
  readonly onStart?: ((name: string) => void) | undefined;
}

/** A part that keeps to its limit by itself has this much longer, in milliseconds. */
const MARGIN_MS = 100;

/** See the module. */
export class PartList {
  readonly #options: PartListOptions;
  readonly #started: { readonly name: string; readonly stop: (limitMs: number) => PartStop | undefined }[] =
    [];

  constructor(options: PartListOptions) {
    this.#options = options;
  }

  /** How many parts have started and not stopped. */
  get length(): number {
    return this.#started.length;
  }

  /** Starts a part after those before it, and returns what it has made. */
  async start<Made>(part: Part<Made>, signal: AbortSignal): Promise<Made> {
    this.#options.onStart?.(part.name);
    const made = await part.start(signal);
    this.#started.push({ name: part.name, stop: (limitMs) => stopPart(part, made, limitMs) });
    return made;
  }

  /**
   * Stops the parts behind the first `keep`, the last one first.
   *
   * Never rejects: the log names parts that do not end well or in time.
   */
  async stop(keep = 0): Promise<void> {
    const { clock, logger, stopLimitMs: limitMs } = this.#options;
    const ending = new AgentEnding({ clock, logger, limitMs });
    while (this.#started.length > keep) {
      const { name, stop } = this.#started.pop()!;
      const ends = stop(ending.remainingMs);
      if (ends === undefined) continue;
      if (ends instanceof Promise) await ending.of(name, ends, MARGIN_MS);
      else await ending.ofAll(ends);
    }
  }
}

/** A part of loops that begin in this order, are asked to end together, and run until then. */
export function loopsPart(
  name: string,
  loops: readonly Loop[],
  onFailure: (error: unknown) => void,
): Part<{ readonly asked: AbortController; readonly running: readonly PartEnd[] }> {
  return {
    name,
    start: () => {
      const asked = new AbortController();
      // Every loop waits on it; that is no leak.
      setMaxListeners(0, asked.signal);
      const running = loops.map(([each, run]) => [each, run(asked.signal)] as const);
      for (const [, loop] of running) loop.catch(onFailure);
      return { asked, running };
    },
    stop: ({ asked, running }) => {
      asked.abort();
      return running;
    },
  };
}

/** Something that throws at once has not ended well either. */
function stopPart<Made>(part: Part<Made>, made: Made, limitMs: number): PartStop | undefined {
  try {
    part.release?.(made);
    return part.stop?.(made, limitMs);
  } catch (error) {
    return Promise.resolve().then(() => {
      throw error;
    });
  }
}

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
