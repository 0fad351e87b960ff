/**
 * Knows which logs are unchanged since their last check, so that they need not be checked again.
 *
 * In: the result of each check of a log. Out: whether a log is still. A log that stays the same for some
 * checks is watched from then on, and is still once a further check has found no change, as neither saw
 * writes between the last check and the watch. The first event ends both, and the log is checked as before;
 * so a busy log costs only its checks, whatever it writes.
 *
 * It assumes that the kernel reports writes, as it does for local programs (inotify). Where it does not, or
 * has no watches left, logs are checked each time; and a still one is checked now and then all the same.
 *
 * @module
 */
import { type Stats, watch } from 'node:fs';
import { type Clock } from '#base/time/clock.js';

/**
 * Reports once that something may have happened to a file, or that it cannot report any more; until it is
 * closed.
 *
 * Throws when it cannot watch.
 */
export type WatchFile = (path: string, onNews: () => void) => { close(): void };

/** What {@link UnchangedLogs} needs. */
export interface StillLogsOptions {
  readonly clock: Clock;
  /** Default: inotify. */
  readonly watch?: WatchFile;
}

/** The facts that show that a file was written to, or replaced. */
type LogFacts = Pick<Stats, 'dev' | 'ino' | 'size'>;

interface SeenLog {
  facts: LogFacts;
  /** Checks in a row without a change. */
  same: number;
  /** How often a change came without an event. */
  untold: number;
  watch: { close(): void } | undefined;
  /** Until when it need not be checked, in monotonic milliseconds; undefined when it is not still. */
  stillUntilMs: number | undefined;
}

/** A log that grows at every second check is better checked than watched again each time. */
const SAME_BEFORE_WATCH = 3;
/** How long the watch is trusted, in milliseconds. */
const STILL_MS = 10 * 60_000;
/** On old kernels a user has some thousands of watches in total, and others need some, too. */
const MAX_WATCHED = 2_000;
/** How long no watch is tried after a failure, in milliseconds. */
const NO_WATCH_MS = 5 * 60_000;
/** A file system that so often changes files without an event is no longer trusted. */
const MAX_UNANNOUNCED = 3;

/** See the module. */
export class UnchangedLogs {
  readonly #clock: Clock;
  readonly #watch: WatchFile;
  readonly #seen = new Map<string, SeenLog>();
  #watched = 0;
  #noWatchUntilMs = -Infinity;

  constructor({ clock, watch: watchPath = watchFile }: StillLogsOptions) {
    this.#clock = clock;
    this.#watch = watchPath;
  }

  /** Whether nothing was written to the log since its last check. */
  isStill(path: string): boolean {
    const stillUntilMs = this.#seen.get(path)?.stillUntilMs;
    return stillUntilMs !== undefined && this.#clock.monotonicMs() < stillUntilMs;
  }

  /** Records a check. `openPath`: a present path to it, without links that others may have put there. */
  note(path: string, openPath: string, { dev, ino, size }: LogFacts): void {
    const facts = { dev, ino, size };
    const log = this.#seen.get(path);
    if (log === undefined) {
      this.#seen.set(path, { facts, same: 0, untold: 0, watch: undefined, stillUntilMs: undefined });
      return;
    }
    if (!isSame(log.facts, facts)) {
      log.facts = facts;
      if (log.stillUntilMs !== undefined) log.untold++;
      this.#stir(log);
      return;
    }
    log.same++;
    if (log.watch === undefined) this.#follow(log, openPath);
    else log.stillUntilMs = this.#clock.monotonicMs() + STILL_MS;
  }

  /** Forgets a log that cannot be read, or was replaced. */
  forget(path: string): void {
    const log = this.#seen.get(path);
    if (log === undefined) return;
    this.#stir(log);
    this.#seen.delete(path);
  }

  /** Forgets all but these. */
  keepOnly(paths: ReadonlySet<string>): void {
    if (this.#seen.size === 0) return;
    for (const path of this.#seen.keys()) if (!paths.has(path)) this.forget(path);
  }

  /** Ends all watches. */
  close(): void {
    this.keepOnly(new Set());
  }

  #follow(log: SeenLog, openPath: string): void {
    if (log.same < SAME_BEFORE_WATCH || log.untold >= MAX_UNANNOUNCED || this.#watched >= MAX_WATCHED) return;
    if (this.#clock.monotonicMs() < this.#noWatchUntilMs) return;
    try {
      log.watch = this.#watch(openPath, () => this.#stir(log));
      this.#watched++;
    } catch {
      this.#noWatchUntilMs = this.#clock.monotonicMs() + NO_WATCH_MS;
    }
  }

  /** It may have been written to. */
  #stir(log: SeenLog): void {
    log.same = 0;
    log.stillUntilMs = undefined;
    if (log.watch === undefined) return;
    log.watch.close();
    log.watch = undefined;
    this.#watched--;
  }
}

function isSame(one: LogFacts, other: LogFacts): boolean {
  return one.size === other.size && one.ino === other.ino && one.dev === other.dev;
}

/** Watches by inotify. */
function watchFile(path: string, onNews: () => void): { close(): void } {
  const watcher = watch(path, { persistent: false }, onNews);
  watcher.on('error', onNews);
  return { close: () => watcher.close() };
}
