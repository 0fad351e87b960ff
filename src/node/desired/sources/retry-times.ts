import { Backoff } from '#base/async/backoff.js';

/** The result of reading a file: parsed, with or without problems, or nothing to parse. */
export type ReadVerdict = 'judged' | 'unreadable' | 'gave-up';

interface Retry {
  atMs: number;
  readonly backoff: Backoff;
}

/** A file that took seconds without a result is retried less often than one that the disk refused. */
const GAVE_UP_BACKOFF = { initialMs: 60_000, maxMs: 600_000 } as const;

/** When to read files again although nothing about them has changed. Times are monotonic. */
export class RetryTimes {
  readonly #periodMs: number;
  readonly #retries = new Map<string, Retry>();

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  /** Records an attempt. */
  note(name: string, verdict: ReadVerdict, nowMs: number): void {
    if (verdict === 'judged') {
      this.#retries.delete(name);
      return;
    }
    const backoff = this.#retries.get(name)?.backoff ?? new Backoff(GAVE_UP_BACKOFF);
    const delayMs = verdict === 'gave-up' ? backoff.nextMs() : this.#periodMs;
    this.#retries.set(name, { atMs: nowMs + delayMs, backoff });
  }

  /** The names to retry now; each is returned once. */
  takeDue(nowMs: number): string[] {
    const due = [...this.#retries].filter(([, { atMs }]) => atMs <= nowMs);
    for (const [, retry] of due) retry.atMs = Infinity;
    return due.map(([name]) => name);
  }

  /** These files are gone. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#retries.delete(name);
  }
}
