import { type JournalRecord } from '../journal/journal-record.js';
import { type Clock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';

/** Options of {@link RepeatFolder}. */
export interface RepeatFolderOptions {
  readonly clock: Clock;
  readonly append: (record: JournalRecord) => void;
}

/** Additional facts about a record. */
export interface RepeatFacts {
  /** How long it took this time; the maximum is recorded with the count. */
  readonly durationMs?: number;
  /** Records it even if it was recorded a moment ago. */
  readonly isNews?: boolean;
}

interface Run {
  count: number;
  readonly firstAtMs: number;
  longestMs: number;
  /** Monotonic milliseconds. */
  lastMs: number;
  writtenMs: number;
  /** The last occurrence that is not recorded yet. */
  unwritten: { readonly record: JournalRecord; readonly durationMs: number } | undefined;
}

const RECORD_AGAIN_MS = 60_000;
/** What has not happened for this long starts over. */
const FORGET_MS = 10 * 60_000;
const MAX_RUNS = 1_000;

/**
 * Prevents repeated records from filling a history.
 *
 * The first occurrence is recorded, and then the last one once a minute, with the count. The rest is recorded
 * when it ends, or has stopped for a minute, so that no count is lost.
 */
export class RepeatFolder {
  readonly #options: RepeatFolderOptions;
  /** By key, in the order of the last occurrence. */
  readonly #runs = new Map<string, Run>();
  /** Those with an unrecorded occurrence. */
  readonly #waiting = new Set<Run>();

  constructor(options: RepeatFolderOptions) {
    this.#options = options;
  }

  /** Notes another occurrence. */
  fold(key: string, record: JournalRecord, { durationMs = 0, isNews = false }: RepeatFacts = {}): void {
    const nowMs = this.#options.clock.monotonicMs();
    const run = this.#findRun(key, nowMs) ?? {
      ...{ count: 0, firstAtMs: record.atMs, lastMs: nowMs },
      ...{ longestMs: 0, writtenMs: -Infinity, unwritten: undefined },
    };
    run.count++;
    run.lastMs = nowMs;
    run.longestMs = Math.max(run.longestMs, durationMs);
    run.unwritten = { record, durationMs };
    this.#waiting.add(run);
    this.#runs.delete(key);
    this.#runs.set(key, run);
    if (isNews || nowMs - run.writtenMs >= RECORD_AGAIN_MS) this.#writeRest(run);
    if (this.#runs.size > MAX_RUNS) this.#forget(this.#runs.keys().next().value!);
  }

  /** Records what has waited for a minute. */
  look(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const run of this.#waiting) if (nowMs - run.writtenMs >= RECORD_AGAIN_MS) this.#writeRest(run);
  }

  /**
   * Ends all with this prefix of the key: their rest is recorded, and the next occurrence counts as the
   * first.
   */
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
    if (run !== undefined) this.#writeRest(run);
  }

  #writeRest(run: Run): void {
    const { unwritten, count, firstAtMs, longestMs } = run;
    this.#waiting.delete(run);
    if (unwritten === undefined) return;
    run.unwritten = undefined;
    run.writtenMs = this.#options.clock.monotonicMs();
    const { record, durationMs } = unwritten;
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
