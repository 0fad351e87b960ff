import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger } from '../../util/logger.js';
import { readIfThere, writeWhole } from '../record-file.js';
import { decodeAttachment, type AttachmentRecord } from './attachment-record.js';

/** What {@link AttachmentStore.open} takes. */
export interface AttachmentStoreOptions {
  /** Folder of the records, one file for each sandbox. */
  readonly dir: string;
  readonly logger: Logger;
}

const SUFFIX = '.json';

/** The records of all attachments: in memory, and on the disk before it is acted upon. */
export class AttachmentStore {
  readonly #dir: string;
  readonly #records = new Map<string, AttachmentRecord>();

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /** Reads what an earlier runtime has left. A record that cannot be read is put aside under another name. */
  static async open({ dir, logger }: AttachmentStoreOptions): Promise<AttachmentStore> {
    const store = new AttachmentStore(dir);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    for (const name of await readdir(dir)) {
      const path = join(dir, name);
      if (name.endsWith('.tmp')) await rm(path, { force: true });
      if (!name.endsWith(SUFFIX)) continue;
      try {
        const record = decodeAttachment((await readIfThere(path)) ?? '');
        store.#records.set(record.sandboxId, record);
      } catch (error) {
        // For people to look at; what it stood for is found as a link without a record.
        const aside = `${path}.unreadable`;
        logger.error('Record of a network attachment not readable, put aside', error, { path: aside });
        await rename(path, aside);
      }
    }
    return store;
  }

  /** In no order. */
  get all(): readonly AttachmentRecord[] {
    return [...this.#records.values()];
  }

  find(sandboxId: string): AttachmentRecord | undefined {
    return this.#records.get(sandboxId);
  }

  /** Where the record of a sandbox is; while it stands, the sandbox is attached or being so. */
  pathOf(sandboxId: string): string {
    return join(this.#dir, `${sandboxId}${SUFFIX}`);
  }

  /** Remembers a record from this moment, and brings it to the disk; forgets it again when that fails. */
  async put(record: AttachmentRecord): Promise<void> {
    const { sandboxId } = record;
    const before = this.#records.get(sandboxId);
    this.#records.set(sandboxId, record);
    try {
      // Links and addresses end with the boot, so a record of them need not survive the loss of power. What CNI
      // plugins write down does.
      const durable = record.cni !== undefined;
      await writeWhole(this.pathOf(sandboxId), JSON.stringify(record), { durable });
    } catch (error) {
      if (before === undefined) this.#records.delete(sandboxId);
      else this.#records.set(sandboxId, before);
      throw error;
    }
  }

  /** Forgets a record; that there is none is fine. */
  async delete(sandboxId: string): Promise<void> {
    await rm(this.pathOf(sandboxId), { force: true });
    this.#records.delete(sandboxId);
  }
}
