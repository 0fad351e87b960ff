import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { messageOf } from '#base/errors/errors.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { END_KEY, findId, FIRST_KEY } from './journal-id.js';

/**
 * Why a store cannot be used: `missing`: there is none; `locked`: another process has it; `damaged`: what is there is not
 * what was written; `unavailable`: the disk or the rights to it.
 */
export type StoreTrouble = 'missing' | 'locked' | 'damaged' | 'unavailable';

/** An error of the store, by what can be done about it. */
export class JournalStoreError extends Error {
  override readonly name = 'JournalStoreError';
  readonly trouble: StoreTrouble;

  constructor(trouble: StoreTrouble, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.trouble = trouble;
  }
}

/** How a store is opened. */
export interface JournalStoreOptions {
  readonly folder: string;
  /** What it may take on the disk: its files are made in proportion. Only who writes has to say so. */
  readonly maxBytes?: number;
  /** Makes one where there is none (default: true). */
  readonly create?: boolean;
}

/** A key and what lies under it. */
export type StoredPair = [key: string, value: string];

const KIB = 1_024;
const MIB = 1_024 * KIB;
/** Without a bound: who only reads. */
const USUAL_MAX_BYTES = 64 * MIB;
const READ_BYTES = 256 * KIB;

/**
 * The records of a history in LevelDB: written in batches that are there as a whole or not at all, read in pages by key.
 *
 * One process at a time has it. Every method rejects with a {@link JournalStoreError}; once a write has failed all
 * further ones do, until it is closed and opened anew.
 */
export class JournalStore {
  readonly #folder: string;
  readonly #level: ClassicLevel;

  /** Opens the store, and what a killed process has left in its log with it. */
  static async open(options: JournalStoreOptions): Promise<JournalStore> {
    const { folder, maxBytes = USUAL_MAX_BYTES, create = true } = options;
    // LevelDB's own way to make folders tries for ever below /proc.
    if (create) await telling(makeFolder(folder, 0o700));
    else await assertThere(folder);
    const share = (part: number, least: number, most: number): number =>
      Math.min(most, Math.max(least, Math.floor(maxBytes / part)));
    const level = new ClassicLevel<string, string>(folder, {
      ...{ keyEncoding: 'utf8', valueEncoding: 'utf8' },
      writeBufferSize: share(16, 128 * KIB, MIB),
      maxFileSize: share(32, 128 * KIB, 2 * MIB),
      ...{ cacheSize: MIB, maxOpenFiles: 64 },
    });
    await telling(level.open());
    return new JournalStore(folder, level);
  }

  private constructor(folder: string, level: ClassicLevel) {
    this.#folder = folder;
    this.#level = level;
  }

  /** Writes all of them or none. `sync`: resolves when the disk has them. */
  async write(pairs: readonly StoredPair[], sync: boolean): Promise<void> {
    const batch = pairs.map(([key, value]) => ({ type: 'put' as const, key, value }));
    await telling(this.#level.batch(batch, { sync }));
  }

  /** Up to so many pairs behind a key, in order. */
  async readAfter(key: string, limit: number): Promise<StoredPair[]> {
    const pairs = this.#level.iterator({
      ...{ gt: key, lt: END_KEY, limit },
      ...{ highWaterMarkBytes: READ_BYTES, fillCache: false },
    });
    return await telling(pairs.all());
  }

  /** Up to so many pairs before a key, the last one first. */
  async readBefore(key: string, limit: number): Promise<StoredPair[]> {
    const range = { gt: FIRST_KEY, lt: key, limit, reverse: true };
    return await telling(this.#level.iterator({ ...range, fillCache: false }).all());
  }

  /** The keys of all records in order, in pages. */
  async *keys(pageSize: number): AsyncGenerator<string[], void, undefined> {
    for (let last = FIRST_KEY; ;) {
      const keys = this.#level.keys({ gt: last, lt: END_KEY, limit: pageSize, fillCache: false });
      const page = await telling(keys.all());
      if (page.length === 0) return;
      yield page;
      last = page.at(-1)!;
    }
  }

  /** Whether there is something under that key. */
  async has(key: string): Promise<boolean> {
    return await telling(this.#level.has(key, { fillCache: false }));
  }

  /** The ids of the oldest and the newest record; undefined when there is none. */
  async findEnds(): Promise<{ first: string; last: string } | undefined> {
    const range = { gt: FIRST_KEY, lt: END_KEY, limit: 1 };
    const [first] = await telling(this.#level.keys(range).all());
    const [last] = await telling(this.#level.keys({ ...range, reverse: true }).all());
    // LevelDB passes over what it cannot read, and says so only to who reads to the end.
    await telling(this.#level.keys({ gt: last ?? FIRST_KEY, lt: END_KEY }).all());
    const ids = [findId(first ?? ''), findId(last ?? '')];
    return ids[0] === undefined || ids[1] === undefined ? undefined : { first: ids[0], last: ids[1] };
  }

  /** Removes all records below a key and gives their room back. */
  async removeBelow(key: string): Promise<void> {
    await telling(this.#level.clear({ gt: FIRST_KEY, lt: key }));
    await telling(this.#level.compactRange(FIRST_KEY, key));
  }

  /** What its files take, in bytes. */
  async measure(): Promise<number> {
    const names = await telling(readdir(this.#folder));
    const sizes = names.map(async (name) =>
      // LevelDB removes files when it likes.
      stat(join(this.#folder, name))
        .then(({ size }) => size)
        .catch(() => 0),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  /** Gives the store back, once what is under way has ended. Idempotent. */
  async close(): Promise<void> {
    await telling(this.#level.close());
  }
}

async function assertThere(folder: string): Promise<void> {
  try {
    await access(join(folder, 'CURRENT'));
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw toStoreError(error);
    throw new JournalStoreError('missing', `there is no history in ${folder}`, { cause: error });
  }
}

async function telling<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw toStoreError(error);
  }
}

/** LevelDB's errors have the reason in a code of the cause, and the words of the system in its message. */
export function toStoreError(error: unknown): JournalStoreError {
  const { cause } = error as { cause?: unknown };
  const inner = cause instanceof Error ? cause : error;
  const { code } = inner as { code?: unknown };
  const message = messageOf(inner);
  return new JournalStoreError(troubleOf(code, message), message, { cause: error });
}

function troubleOf(code: unknown, message: string): StoreTrouble {
  if (code === 'LEVEL_LOCKED') return 'locked';
  if (code === 'LEVEL_CORRUPTION') return 'damaged';
  // A file that others name and that is gone.
  return code === 'LEVEL_IO_ERROR' && message.includes('No such file') ? 'damaged' : 'unavailable';
}
