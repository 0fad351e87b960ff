/** Keeps things in order until they may be done: once it is open they are done at once. */
export class Gate {
  #waiting: (() => void)[] | undefined;

  /** Whether things wait, or would. */
  get isClosed(): boolean {
    return this.#waiting !== undefined;
  }

  close(): void {
    this.#waiting ??= [];
  }

  open(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const act of waiting) act();
  }

  /** Forgets what waits. */
  clear(): void {
    if (this.#waiting !== undefined) this.#waiting = [];
  }

  do(act: () => void): void {
    if (this.#waiting === undefined) act();
    else this.#waiting.push(act);
  }
}
