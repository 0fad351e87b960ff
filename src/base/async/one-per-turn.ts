import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Runs tasks one per turn of the event loop, in order; the first one at once.
 *
 * It is meant for work triggered by many answers that arrive together: what a task sends leaves the process
 * before the next task begins, instead of after the last.
 */
export class OnePerTurn {
  readonly #yieldToLoop: () => Promise<unknown>;
  #waiting: (() => void)[] = [];
  #next = 0;
  #isTaken = false;

  /** `yieldToLoop` lets the event loop turn once (default: setImmediate). */
  constructor(yieldToLoop: () => Promise<unknown> = nextTurn) {
    this.#yieldToLoop = yieldToLoop;
  }

  /** Runs `task` now, or in its own turn if this turn has had one or others wait. */
  run(task: () => void): void {
    if (this.#isTaken) {
      this.#waiting.push(task);
      return;
    }
    this.#take();
    task();
  }

  #take(): void {
    this.#isTaken = true;
    void this.#yieldToLoop().then(() => this.#turn());
  }

  #turn(): void {
    const task = this.#waiting[this.#next++];
    if (task === undefined) {
      this.#isTaken = false;
      this.#waiting = [];
      this.#next = 0;
      return;
    }
    // Before the task, as one that throws must not block those behind it.
    this.#take();
    task();
  }
}
