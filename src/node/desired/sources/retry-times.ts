import { Backoff } from '#base/async/backoff.js';

/** What became of a file that was read: well or not, it was judged; or there was nothing to judge. */
export type ReadVerdict = 'judged' | 'unreadable' | 'gave-up';

interface Retry {
  atMs: number;
  readonly backoff: Backoff;
}

/** A file that took seconds and gave nothing is not tried as often as one that the disk refused. */
const GAVE_UP_BACKOFF = { initialMs: 60_000, maxMs: 600_000 } as const;

/** When files are to be read again although nothing about them changed. Times are monotonic. */
export class RetryTimes {
  readonly #periodMs: number;
  readonly #retries = new Map<string, Retry>();

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  /** Takes note of an attempt. */
  note(name: string, verdict: ReadVerdict, nowMs: number): void {
    if (verdict === 'judged') {
      this.#retries.delete(name);
      return;
    }
    const backoff = this.#retries.get(name)?.backoff ?? new Backoff(GAVE_UP_BACKOFF);
    const delayMs = verdict === 'gave-up' ? backoff.nextMs() : this.#periodMs;
    this.#retries.set(name, { atMs: nowMs + delayMs, backoff });
  }

  /** The names that are to be tried now; each is named once. */
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
