import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { messageOf } from '#base/errors/errors.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { END_KEY, findId, FIRST_KEY } from './journal-id.js';

/**
 * Why a store cannot be used.
 *
 * `missing`: there is none; `locked`: another process uses it; `damaged`: its content is not what was
 * written; `unavailable`: a problem with the disk or with permissions.
 */
export type StoreTrouble = 'missing' | 'locked' | 'damaged' | 'unavailable';

/** An error of the store, classified by what can be done about it. */
export class JournalStoreError extends Error {
  override readonly name = 'JournalStoreError';
  readonly trouble: StoreTrouble;

  constructor(trouble: StoreTrouble, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.trouble = trouble;
  }
}

/** Options for opening a store. */
export interface JournalStoreOptions {
  readonly folder: string;
  /** Its maximum size on the disk, to which the size of its files is adapted. Only writers need to set it. */
  readonly maxBytes?: number;
  /** Creates the store if there is none (default: true). */
  readonly create?: boolean;
}

/** A key and its value. */
export type StoredPair = [key: string, value: string];

const KIB = 1_024;
const MIB = 1_024 * KIB;
/** The size for readers, which have no limit. */
const USUAL_MAX_BYTES = 64 * MIB;
const READ_BYTES = 256 * KIB;

/**
 * The records of a history in LevelDB: written in atomic batches, read in pages by key.
 *
 * Only one process can open it at a time. Every method rejects with a {@link JournalStoreError}; after a
 * failed write all further ones fail, until the store is closed and opened again.
 */
export class JournalStore {
  readonly #folder: string;
  readonly #level: ClassicLevel;

  /** Opens the store, including what a killed process has left in its log. */
  static async open(options: JournalStoreOptions): Promise<JournalStore> {
    const { folder, maxBytes = USUAL_MAX_BYTES, create = true } = options;
    // LevelDB's own creation of folders retries for ever below /proc.
    if (create) await telling(makeFolder(folder, 0o700));
    else await assertThere(folder);
    const share = (part: number, least: number, most: number): number =>
      Math.min(most, Math.max(least, Math.floor(maxBytes / part)));
    const level = new ClassicLevel(folder, {
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

  /** Writes all pairs or none. With `sync` it resolves once they are flushed to the disk. */
  async write(pairs: readonly StoredPair[], sync: boolean): Promise<void> {
    const batch = pairs.map(([key, value]) => ({ type: 'put' as const, key, value }));
    await telling(this.#level.batch(batch, { sync }));
  }

  /** Up to `limit` pairs after a key, in order. */
  async readAfter(key: string, limit: number): Promise<StoredPair[]> {
    const pairs = this.#level.iterator({
      ...{ gt: key, lt: END_KEY, limit },
      ...{ highWaterMarkBytes: READ_BYTES, fillCache: false },
    });
    return await telling(pairs.all());
  }

  /** Up to `limit` pairs before a key, the last one first. */
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

  /** Whether the key exists. */
  async has(key: string): Promise<boolean> {
    return await telling(this.#level.has(key, { fillCache: false }));
  }

  /** The ids of the oldest and the newest record; undefined if there are none. */
  async findEnds(): Promise<{ first: string; last: string } | undefined> {
    const range = { gt: FIRST_KEY, lt: END_KEY, limit: 1 };
    const [first] = await telling(this.#level.keys(range).all());
    const [last] = await telling(this.#level.keys({ ...range, reverse: true }).all());
    // LevelDB skips what it cannot read, and reports that only at the end of a full read.
    await telling(this.#level.keys({ gt: last ?? FIRST_KEY, lt: END_KEY }).all());
    const ids = [findId(first ?? ''), findId(last ?? '')];
    return ids[0] === undefined || ids[1] === undefined ? undefined : { first: ids[0], last: ids[1] };
  }

  /** Removes all records below a key and frees their space. */
  async removeBelow(key: string): Promise<void> {
    await telling(this.#level.clear({ gt: FIRST_KEY, lt: key }));
    await telling(this.#level.compactRange(FIRST_KEY, key));
  }

  /** The size of its files in bytes. */
  async measure(): Promise<number> {
    const names = await telling(readdir(this.#folder));
    const sizes = names.map(async (name) =>
      // LevelDB may remove files at any time.
      stat(join(this.#folder, name))
        .then(({ size }) => size)
        .catch(() => 0),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  /** Closes the store, once running operations have ended. Idempotent. */
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

/** Classifies LevelDB's errors by the code of their cause, and by the system's text in its message. */
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
  // A missing file that other files refer to.
  return code === 'LEVEL_IO_ERROR' && message.includes('No such file') ? 'damaged' : 'unavailable';
}
