import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { JournalStore, toStoreError } from './journal-store.js';

/** Options of a {@link StoreKeeper}. */
export interface StoreKeeperOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly logger: Logger;
  /** Called when a store was opened; `last` is the id of its newest record. */
  readonly onOpened: (last: string | undefined) => void;
}

/** More than opening a store needs, which rewrites the content of its log. */
const ROOM = Buffer.alloc(2 * 1024 * 1024);
const ROOM_FILE = 'room.tmp';

/**
 * Owns the store of a history: opens it, reopens it after a failed write, and sets it aside when it is
 * damaged.
 *
 * ```
 *           open                write failed                  room again
 * nothing ───────► open ───────────────────────► only read ──────────────► nothing
 *    ▲               │ damaged                        │ damaged
 *    └── set aside ──┴────────────────────────────────┘
 * ```
 */
export class StoreKeeper {
  readonly #options: StoreKeeperOptions;
  #store: JournalStore | undefined;
  #isReadOnly = false;
  #isOpening = false;

  constructor(options: StoreKeeperOptions) {
    this.#options = options;
  }

  /** The store for reading; undefined if there is none at the moment. */
  get readable(): JournalStore | undefined {
    return this.#store;
  }

  /** Whether there will soon be a store to read, or an error. */
  get isOpening(): boolean {
    return this.#isOpening;
  }

  /** The store for writing. Rejects with a JournalStoreError if there is none. */
  async open(): Promise<JournalStore> {
    if (this.#store !== undefined && !this.#isReadOnly) return this.#store;
    const { folder, maxBytes, onOpened } = this.#options;
    // Reopening requires closing it, and if reopening then failed it could not be read any more.
    if (this.#store !== undefined) await assertRoom(folder);
    this.#isOpening = true;
    try {
      await this.close();
      const store = await JournalStore.open({ folder, maxBytes });
      this.#store = store;
      await rm(join(folder, ROOM_FILE), { force: true }).catch(() => undefined);
      onOpened((await store.findEnds())?.last);
      return store;
    } finally {
      this.#isOpening = false;
    }
  }

  /** Notes a failed write; the store stays open for readers. */
  keepForReading(): void {
    this.#isReadOnly = true;
  }

  /** Moves a damaged store away; resolves with its new place, or with the error that prevented that. */
  async setAside(): Promise<{ readonly aside: string } | { readonly error: unknown }> {
    const { folder } = this.#options;
    const aside = `${folder}.damaged`;
    this.#isOpening = true;
    await this.close();
    try {
      await rm(aside, { recursive: true, force: true });
      await rename(folder, aside);
      return { aside };
    } catch (error) {
      this.#isOpening = false;
      return { error };
    }
  }

  /** Closes the store. Never rejects. */
  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    this.#isReadOnly = false;
    await store?.close().catch((error: unknown) => {
      this.#options.logger.error('History cannot be closed', error, { folder: this.#options.folder });
    });
  }
}

/** Rejects with the error if nothing can be written to a folder. */
async function assertRoom(folder: string): Promise<void> {
  const file = join(folder, ROOM_FILE);
  try {
    await writeFile(file, ROOM);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}
