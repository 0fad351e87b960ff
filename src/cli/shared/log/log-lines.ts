import { type LogTarget } from './log-target.js';

/** What may wait for the reader of a log, in bytes: some ten thousand lines. */
const MAX_WAITING = 4 * 1024 * 1024;

/** A line is written all the same; it is just not waited for. */
const WITHOUT_WAITING = AbortSignal.abort();

/**
 * Writes the lines of a log, and never waits for their reader: while he does not read (a journald that hangs, a pipe or a
 * disk that is full) the agent goes on, up to `mostWaiting` bytes are kept, and newer lines are dropped and counted. Once
 * there is room again a line says how many.
 */
export class LogLines {
  readonly #output: LogTarget;
  readonly #mostWaiting: number;
  readonly #describe: (dropped: number) => string;
  #dropped = 0;
  #droppedInAll = 0;

  /** `describe` formats the line that reports dropped lines. */
  constructor(options: {
    readonly output: LogTarget;
    readonly describe: (dropped: number) => string;
    readonly mostWaiting?: number;
  }) {
    this.#output = options.output;
    this.#describe = options.describe;
    this.#mostWaiting = options.mostWaiting ?? MAX_WAITING;
  }

  /** How many lines were dropped so far. */
  get dropped(): number {
    return this.#droppedInAll;
  }

  /** Why lines do not arrive at the moment; undefined while no error is known. */
  findProblem(): string | undefined {
    return this.#output.findProblem();
  }

  /** Takes a line, without its break. Never waits, never throws. */
  write(line: string): void {
    if (this.#output.waitingBytes + line.length > this.#mostWaiting) {
      this.#dropped++;
      this.#droppedInAll++;
      return;
    }
    if (this.#dropped > 0) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      void this.#output.writeLine(this.#describe(dropped), WITHOUT_WAITING);
    }
    void this.#output.writeLine(line, WITHOUT_WAITING);
  }
}
