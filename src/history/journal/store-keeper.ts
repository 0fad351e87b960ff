import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { JournalStore, toStoreError } from './journal-store.js';

/** What a {@link StoreKeeper} needs. */
export interface StoreKeeperOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly logger: Logger;
  /** A store was opened, and `last` is the id of its newest record. */
  readonly onOpened: (last: string | undefined) => void;
}

/** More than a store needs to be opened: what is in its log, once more. */
const ROOM = Buffer.alloc(2 * 1024 * 1024);
const ROOM_FILE = 'room.tmp';

/**
 * Holds the store of a history: opens it, opens it anew when a write has failed, and sets it aside when it is damaged.
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

  /** Where records can be read now; undefined while there is nowhere. */
  get readable(): JournalStore | undefined {
    return this.#store;
  }

  /** There will be something to read in a moment, or an error. */
  get isOpening(): boolean {
    return this.#isOpening;
  }

  /** The store, to be written to. Rejects with a JournalStoreError while there is none. */
  async open(): Promise<JournalStore> {
    if (this.#store !== undefined && !this.#isReadOnly) return this.#store;
    const { folder, maxBytes, onOpened } = this.#options;
    // To be opened anew it must be closed, and could not be read any more if that failed.
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

  /** A write has failed; it stays open for who reads. */
  keepForReading(): void {
    this.#isReadOnly = true;
  }

  /** Moves a damaged store out of the way; resolves with where it lies then, or what was in the way of that. */
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

  /** Gives the store back. Never rejects. */
  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    this.#isReadOnly = false;
    await store?.close().catch((error: unknown) => {
      this.#options.logger.error('History cannot be closed', error, { folder: this.#options.folder });
    });
  }
}

/** Rejects with why nothing can be written to a folder. */
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
