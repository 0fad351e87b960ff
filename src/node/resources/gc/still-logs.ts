/**
 * Knows which logs nobody has written to since they were looked at, so that they need not be looked at again.
 *
 * In: what each look at a log has found. Out: whether a log is still. One that stays the same for some looks is watched
 * from then on, and is still once a further look has found it the same: what was written between the look before and the
 * watch was seen by neither. The first word of the watch ends both, and the log is looked at as before; so a busy log
 * costs no more than its looks, whatever it writes.
 *
 * It assumes that the kernel tells of writes, as it does of those of its own programs (inotify). Where it does not, or
 * has no watches left, logs are looked at each time; and a still one is looked at now and then all the same.
 *
 * @module
 */
import { type Stats, watch } from 'node:fs';
import { type Clock } from '#base/time/clock.js';

/** Tells once that something may have happened to a file, or that it can tell no more; until it is closed. Throws when it cannot. */
export type WatchFile = (path: string, onNews: () => void) => { close(): void };

/** What {@link StillLogs} needs. */
export interface StillLogsOptions {
  readonly clock: Clock;
  /** By inotify unless told. */
  readonly watch?: WatchFile;
}

/** What of a file shows that it was written to, or is another one. */
type LogFacts = Pick<Stats, 'dev' | 'ino' | 'size'>;

interface SeenLog {
  facts: LogFacts;
  /** Looks in a row that found the same. */
  same: number;
  /** How often it was found changed although the watch had told nothing. */
  untold: number;
  watch: { close(): void } | undefined;
  /** Until when it need not be looked at, in monotonic milliseconds; undefined when it is not still. */
  stillUntilMs: number | undefined;
}

/** A log that grows at each second look is better looked at than watched anew each time. */
const SAME_BEFORE_WATCH = 3;
/** For so long the watch is believed, in milliseconds. */
const STILL_MS = 10 * 60_000;
/** A user has some thousands of watches in all on old kernels, and others need some, too. */
const MOST_WATCHED = 2_000;
/** So long no watch is tried after one could not be had, in milliseconds. */
const NO_WATCH_MS = 5 * 60_000;
/** A file system that changes files behind the watch's back this often is not believed any more. */
const MOST_UNTOLD = 3;

/** See the module. */
export class StillLogs {
  readonly #clock: Clock;
  readonly #watch: WatchFile;
  readonly #seen = new Map<string, SeenLog>();
  #watched = 0;
  #noWatchUntilMs = -Infinity;

  constructor({ clock, watch: watchPath = watchFile }: StillLogsOptions) {
    this.#clock = clock;
    this.#watch = watchPath;
  }

  /** Whether nothing was written to the log since the last look at it. */
  isStill(path: string): boolean {
    const stillUntilMs = this.#seen.get(path)?.stillUntilMs;
    return stillUntilMs !== undefined && this.#clock.monotonicMs() < stillUntilMs;
  }

  /** A look has found the log so. `openPath`: by which it can be reached now, without links that others may have put there. */
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

  /** Forgets a log that cannot be looked at, or that is another one now. */
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

  /** Watches nothing any more. */
  close(): void {
    this.keepOnly(new Set());
  }

  #follow(log: SeenLog, openPath: string): void {
    if (log.same < SAME_BEFORE_WATCH || log.untold >= MOST_UNTOLD || this.#watched >= MOST_WATCHED) return;
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

/** By inotify. */
function watchFile(path: string, onNews: () => void): { close(): void } {
  const watcher = watch(path, { persistent: false }, onNews);
  watcher.on('error', onNews);
  return { close: () => watcher.close() };
}
