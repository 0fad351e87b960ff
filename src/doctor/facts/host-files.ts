import { setMaxListeners } from 'node:events';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  type Stats,
  type StatsFs,
} from 'node:fs';
import { readdir, readFile, readlink, realpath, stat, statfs } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock } from '#base/time/clock.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/** A file that takes longer to be read is on a disk that hangs. */
const READ_LIMIT_MS = 5_000;
/**
 * What the kernel answers from memory whatever state a process is in; unlike `cmdline`, which waits for a process that holds
 * its memory locked, and `meminfo`, which in a container may be a file of lxcfs. Read on the spot it costs a fifth of four ways
 * through Node's threads, and an observer reads hundreds.
 */
const INSTANT =
  /^\/proc\/(?:\d+\/(?:task\/\d+\/)?(?:stat|sched|status|wchan|limits)|sys\/kernel\/ns_last_pid)$/;
/** Until Linux 6.7 this waits for a lock that is held while a cgroup is made or removed. */
const CGROUP = /^\/proc\/\d+\/cgroup$/;
const INSTANT_FOLDER = /^\/proc(?:\/\d+\/(?:task|fd))?$/;
/** A process may have a million files open, whose list takes more than a second; of so many, some five milliseconds. */
const MAX_INSTANT_FILES = 4_096;
const INSTANT_LINK = /^\/proc\/(?:self|\d+\/cwd)$/;
/** Of these, as many are read in one turn of the loop: a millisecond or two. */
const READS_PER_TURN = 64;
/** Node has four threads for files; one that hangs in the kernel is lost until that answers. */
const MAX_SILENT = 4;
/** As many links as the kernel follows. */
const MAX_LINKS = 40;

/** A file system that has not answered in the time that it had. */
export class SilentFilesError extends Error {
  readonly forMs: number;

  constructor(forMs: number) {
    super(`no answer from the file system within ${forMs} ms`);
    this.forMs = forMs;
  }
}

/** Waits for a read, and rejects where it lacks a right; what else goes wrong with it says nothing. */
export async function assertAllowed(read: Promise<unknown>): Promise<void> {
  await read.catch((error: unknown) => {
    if (['EACCES', 'EPERM'].includes(systemCodeOf(error))) throw error;
  });
}

/** By path: since when it has not answered, in milliseconds of the clock that does not jump. */
export type SilentPaths = Map<string, number>;

/** Which files {@link HostFiles} reads. */
export interface HostFilesOptions {
  readonly root: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Paths that hang, for several examinations (default: of this one alone). An operation that hangs occupies one of
   * a few threads, so a path is read again only when the last operation on it has ended.
   */
  readonly silentPaths?: SilentPaths | undefined;
}

/**
 * The files of the examined machine: this one's, or those of a root that is mounted somewhere, as in a
 * container. What hangs is given up, so that a dead disk does not hold up the examination.
 */
export class HostFiles {
  readonly root: string;
  /** The clock of all deadlines. */
  readonly clock: Clock;
  readonly #signal: AbortSignal;
  readonly #silentPaths: SilentPaths;
  readonly #once = new Map<string, Promise<string | undefined>>();
  /** Called when the signal aborts; it has one listener, and only while something waits. */
  readonly #waiting = new Set<(reason: unknown) => void>();
  readonly #isCgroupInstant: boolean;
  #instantReads = 0;

  constructor(options: HostFilesOptions) {
    this.#isCgroupInstant = isAtLeast(release(), [6, 8]);
    this.#silentPaths = options.silentPaths ?? new Map<string, number>();
    this.root = options.root;
    this.clock = options.clock;
    this.#signal = options.signal;
    // Dozens of files are read at once, and each waits for it.
    setMaxListeners(0, options.signal);
  }

  /** Where that absolute path of the machine is here, its links followed as that machine would. */
  async locate(path: string): Promise<string> {
    if (this.root === '/') return path;
    // There are no links in it that matter here, and very many files.
    return join(this.root, path.startsWith('/proc/') ? path : await this.#followLinks(path));
  }

  /** The path without links by which that machine knows a file that is there. */
  async resolve(path: string): Promise<string> {
    return await this.within(this.root === '/' ? realpath(path) : this.#followLinks(path));
  }

  async read(path: string): Promise<string> {
    if (this.#isInstant(path)) {
      return await this.#atOnce(path, (here) => readFileSync(here, 'utf8'));
    }
    return await this.#use(path, async (here) => readFile(here, 'utf8'));
  }

  /** The text, or undefined when it cannot be read. */
  async find(path: string): Promise<string | undefined> {
    try {
      return await this.read(path);
    } catch {
      this.#signal.throwIfAborted();
      return undefined;
    }
  }

  /** As {@link find}, and read only once: for a file whose content stays the same as long as these files are read. */
  async findOnce(path: string): Promise<string | undefined> {
    const reading = this.#once.get(path) ?? this.find(path);
    this.#once.set(path, reading);
    const text = await reading;
    // It may be written a moment later.
    if (text === undefined) this.#once.delete(path);
    return text;
  }

  /**
   * The texts of files that the kernel answers from memory, `/proc/PID/stat` and its kin, in order; undefined for those that
   * cannot be read. For hundreds of them it takes a third of the CPU time of one {@link find} for each.
   */
  async findAllAtOnce(paths: readonly string[]): Promise<(string | undefined)[]> {
    const texts: (string | undefined)[] = [];
    for (const path of paths) {
      if (!this.#isInstant(path)) throw new Error(`${path} may have to be waited for`);
      // Counted over all calls: there may be very many short ones.
      if (++this.#instantReads % READS_PER_TURN === 0) await nextTurn();
      this.#signal.throwIfAborted();
      texts.push(readOrNothing(join(this.root, path)));
    }
    return texts;
  }

  async readLink(path: string): Promise<string> {
    if (INSTANT_LINK.test(path)) return await this.#atOnce(path, (here) => readlinkSync(here));
    return await this.#use(path, async (here) => readlink(here));
  }

  /** Where a link leads, or undefined when it cannot be read. */
  async findLink(path: string): Promise<string | undefined> {
    return await this.readLink(path).catch(() => undefined);
  }

  async list(path: string): Promise<string[]> {
    if (INSTANT_FOLDER.test(path) && !this.#mayBeLong(path)) {
      return await this.#atOnce(path, (here) => readdirSync(here));
    }
    return await this.#use(path, async (here) => readdir(here));
  }

  async stat(path: string): Promise<Stats> {
    return await this.#use(path, async (here) => stat(here));
  }

  /** The room of the file system that a path is on. */
  async statfs(path: string): Promise<StatsFs> {
    return await this.#use(path, async (here) => statfs(here));
  }

  #isInstant(path: string): boolean {
    return INSTANT.test(path) || (this.#isCgroupInstant && CGROUP.test(path));
  }

  /** Whether a folder is that of a process that may have very many files open. */
  #mayBeLong(path: string): boolean {
    if (!path.endsWith('/fd')) return false;
    const status = readOrNothing(join(this.root, path.replace(/fd$/, 'status'))) ?? '';
    const size = /^FDSize:\s*(\d+)$/m.exec(status)?.[1];
    return size === undefined || Number(size) > MAX_INSTANT_FILES;
  }

  /** For what the kernel answers from memory. */
  async #atOnce<T>(path: string, operation: (here: string) => T): Promise<T> {
    this.#instantReads++;
    if (this.#instantReads % READS_PER_TURN === 0) await nextTurn();
    this.#signal.throwIfAborted();
    return operation(join(this.root, path));
  }

  async #use<T>(path: string, operation: (here: string) => Promise<T>): Promise<T> {
    const sinceMs = this.#silentPaths.get(path);
    if (sinceMs !== undefined) throw new SilentFilesError(this.clock.monotonicMs() - sinceMs);
    if (!this.hasThread()) throw this.#toNoThread();
    const startedMs = this.clock.monotonicMs();
    const pending = this.locate(path).then(operation);
    try {
      return await this.within(pending);
    } catch (error) {
      if (error instanceof SilentFilesError) {
        // One that waited for a thread in vain says nothing of its file.
        if (!this.hasThread()) throw this.#toNoThread();
        this.#silentPaths.set(path, startedMs);
        const forget = (): void => void this.#silentPaths.delete(path);
        pending.then(forget, forget);
      }
      throw error;
    }
  }

  /** Waits a moment before something is read again. */
  async pause(forMs: number): Promise<void> {
    await this.clock.sleep(forMs, this.#signal);
  }

  /** Whether a thread is left to read files with: each operation that hangs holds one. */
  hasThread(): boolean {
    return this.#silentPaths.size < MAX_SILENT;
  }

  #toNoThread(): Error {
    const [first] = this.#silentPaths.keys();
    return new Error(
      `${this.#silentPaths.size} files do not answer, so no other is read; the first is ${first}`,
    );
  }

  /**
   * Waits for an operation, and no longer than a disk that works needs. Rejects with {@link SilentFilesError} then. What has
   * answered while this process was held up itself is not late.
   */
  async within<T>(operation: Promise<T>, limitMs = READ_LIMIT_MS): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      const deadline = startFairDeadline({
        clock: this.clock,
        deadlineMs: limitMs,
        onExpired: () => giveUp(new SilentFilesError(limitMs)),
      });
      const leave = (): void => {
        deadline.cancel();
        this.#waiting.delete(giveUp);
        if (this.#waiting.size === 0) this.#signal.removeEventListener('abort', this.#onAbort);
      };
      const giveUp = (reason: unknown): void => {
        leave();
        // The reason is that of whoever aborted, or what the operation itself failed with.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(reason);
      };
      if (this.#waiting.size === 0) this.#signal.addEventListener('abort', this.#onAbort);
      this.#waiting.add(giveUp);
      operation.then((value) => {
        leave();
        resolve(value);
      }, giveUp);
      if (this.#signal.aborted) this.#onAbort();
    });
  }

  readonly #onAbort = (): void => {
    for (const giveUp of this.#waiting) giveUp(this.#signal.reason);
  };

  /** An absolute link means the root of that machine, and nothing leads out of it. */
  async #followLinks(path: string): Promise<string> {
    const ahead = path.split('/');
    let at = '/';
    for (let links = 0; ahead.length > 0;) {
      const next = join(at, ahead.shift()!);
      const target = await readlink(join(this.root, next)).catch(() => undefined);
      if (target === undefined) {
        at = next;
        continue;
      }
      if (++links > MAX_LINKS) throw new Error(`${path}: too many links`);
      if (target.startsWith('/')) at = '/';
      ahead.unshift(...target.split('/'));
    }
    return at;
  }
}

/** Where files are read into; what fills it is read again whole. */
const room = Buffer.allocUnsafeSlow(8_192);

/** In one read, as the kernel gives such a file at once: `readFileSync` asks for its size before and for its end after. */
function readOrNothing(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const bytes = readSync(file, room, 0, room.length, 0);
    return bytes < room.length ? room.toString('utf8', 0, bytes) : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Whether a release of Linux such as `6.12.57-amd64` is as new. */
function isAtLeast(text: string, [major, minor]: readonly [number, number]): boolean {
  const [has = 0, hasMinor = 0] = text.split(/[.-]/).map(Number);
  return has > major || (has === major && hasMinor >= minor);
}
