import { type JournalRecord } from '../journal/journal-record.js';
import { type Clock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';

/** What {@link Repeats} needs. */
export interface RepeatsOptions {
  readonly clock: Clock;
  readonly append: (record: JournalRecord) => void;
}

/** What is known of a record beside it. */
export interface RepeatFacts {
  /** How long it took this time; the longest of all is told with their count. */
  readonly durationMs?: number;
  /** It is told whether or not it was just now. */
  readonly isNews?: boolean;
}

interface Run {
  count: number;
  readonly firstAtMs: number;
  longestMs: number;
  /** Monotonic. */
  lastMs: number;
  toldMs: number;
  /** The last time, while nobody has been told of it. */
  untold: { readonly record: JournalRecord; readonly durationMs: number } | undefined;
}

const TELL_AGAIN_MS = 60_000;
/** What has not happened for so long begins anew. */
const FORGET_MS = 10 * 60_000;
const MOST_RUNS = 1_000;

/**
 * Keeps what happens again and again from filling a history: it is told the first time, and from then on once a minute
 * with its count, as it was the last time. What has come since is told when it ends, or has been quiet for a minute: no
 * count is lost.
 */
export class Repeats {
  readonly #options: RepeatsOptions;
  /** By what it is, the one that happened last at the end. */
  readonly #runs = new Map<string, Run>();
  /** Those of which there is something untold. */
  readonly #waiting = new Set<Run>();

  constructor(options: RepeatsOptions) {
    this.#options = options;
  }

  /** It happened once more. */
  tell(key: string, record: JournalRecord, { durationMs = 0, isNews = false }: RepeatFacts = {}): void {
    const nowMs = this.#options.clock.monotonicMs();
    const run = this.#findRun(key, nowMs) ?? {
      ...{ count: 0, firstAtMs: record.atMs, lastMs: nowMs },
      ...{ longestMs: 0, toldMs: -Infinity, untold: undefined },
    };
    run.count++;
    run.lastMs = nowMs;
    run.longestMs = Math.max(run.longestMs, durationMs);
    run.untold = { record, durationMs };
    this.#waiting.add(run);
    this.#runs.delete(key);
    this.#runs.set(key, run);
    if (isNews || nowMs - run.toldMs >= TELL_AGAIN_MS) this.#tellRest(run);
    if (this.#runs.size > MOST_RUNS) this.#forget(this.#runs.keys().next().value!);
  }

  /** Tells what has waited for a minute. */
  look(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const run of this.#waiting) if (nowMs - run.toldMs >= TELL_AGAIN_MS) this.#tellRest(run);
  }

  /** All whose keys begin like this are over: the rest of them is told, and the next time is news. */
  end(beginning: string): void {
    for (const key of [...this.#runs.keys()]) if (key.startsWith(beginning)) this.#forget(key);
  }

  #findRun(key: string, nowMs: number): Run | undefined {
    const run = this.#runs.get(key);
    if (run === undefined || nowMs - run.lastMs <= FORGET_MS) return run;
    this.#forget(key);
    return undefined;
  }

  #forget(key: string): void {
    const run = this.#runs.get(key);
    this.#runs.delete(key);
    if (run !== undefined) this.#tellRest(run);
  }

  #tellRest(run: Run): void {
    const { untold, count, firstAtMs, longestMs } = run;
    this.#waiting.delete(run);
    if (untold === undefined) return;
    run.untold = undefined;
    run.toldMs = this.#options.clock.monotonicMs();
    const { record, durationMs } = untold;
    const { message, details } = record;
    const longest =
      longestMs <= durationMs
        ? {}
        : {
            message: `${message}; the longest of ${count} took ${formatGoDuration(Math.round(longestMs))}`,
            details: { ...details, longestMs: Math.round(longestMs) },
          };
    this.#options.append({ ...record, ...longest, count, firstAtMs });
  }
}
