import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';

/** Something about the node that is read repeatedly. */
export interface NodeReading {
  /** Its name in the log: `name servers`. */
  readonly name: string;
  /** Reads and stores it; the last value stays until then. */
  readonly read: () => Promise<void>;
  /** Minimum interval for what hardly ever changes, in milliseconds (default: with every refresh). */
  readonly everyMs?: number;
}

/** What {@link NodeReadings} need. */
export interface NodeReadingsOptions {
  readonly readings: readonly NodeReading[];
  /** Nothing waits longer for a reading. */
  readonly deadlineMs: number;
  readonly clock: Pick<Clock, 'setTimer' | 'monotonicMs'>;
  readonly logger: Logger;
}

interface Reading {
  readonly startedAtMs: number;
  isLogged: boolean;
}

/**
 * Parallel, independent readings.
 *
 * One that hangs (a mount that does not answer) is logged once, and does not start again before it has ended.
 * It cannot be cancelled, and each takes one of the few threads that wait for disks.
 */
export class NodeReadings {
  readonly #options: NodeReadingsOptions;
  readonly #underWay = new Map<NodeReading, Reading>();
  readonly #complaints = new Map<NodeReading, string>();
  /** When each was last started, in monotonic milliseconds. */
  readonly #begunAtMs = new Map<NodeReading, number>();

  constructor(options: NodeReadingsOptions) {
    this.#options = options;
  }

  /**
   * Starts each that is due and not under way, and waits until they end, the deadline passes or the signal
   * aborts.
   *
   * Never rejects: failures are logged once.
   */
  async refresh(signal?: AbortSignal): Promise<void> {
    const { readings, deadlineMs, clock } = this.#options;
    const begun = readings.filter((each) => this.#isDue(each) && !this.#underWay.has(each));
    const over = Promise.all(begun.map(async (each) => this.#read(each)));
    const isOver = await settlesWithin(abortable(over, signal), deadlineMs, clock);
    if (!isOver) for (const each of begun) this.#logLate(each);
  }

  #isDue(reading: NodeReading): boolean {
    const { everyMs = 0 } = reading;
    return this.#options.clock.monotonicMs() - (this.#begunAtMs.get(reading) ?? -Infinity) >= everyMs;
  }

  async #read(reading: NodeReading): Promise<void> {
    const { clock, logger } = this.#options;
    const { name } = reading;
    const current: Reading = { startedAtMs: clock.monotonicMs(), isLogged: false };
    this.#underWay.set(reading, current);
    this.#begunAtMs.set(reading, current.startedAtMs);
    try {
      await reading.read();
      this.#complaints.delete(reading);
    } catch (error) {
      const complaint = messageOf(error);
      if (complaint !== this.#complaints.get(reading)) {
        logger.error('Facts of the node cannot be read, what was read before holds', error, {
          reading: name,
        });
      }
      this.#complaints.set(reading, complaint);
      this.#begunAtMs.delete(reading);
    }
    this.#underWay.delete(reading);
    if (!current.isLogged) return;
    const tookMs = clock.monotonicMs() - current.startedAtMs;
    logger.info('Reading facts of the node has come to its end', { reading: name, tookMs });
  }

  #logLate(reading: NodeReading): void {
    const current = this.#underWay.get(reading);
    if (current === undefined) return;
    current.isLogged = true;
    const { deadlineMs, logger } = this.#options;
    logger.warn('Reading facts of the node hangs, what was read before holds', {
      ...{ reading: reading.name, afterMs: deadlineMs },
    });
  }
}
