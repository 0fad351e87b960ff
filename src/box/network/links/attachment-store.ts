import { rename } from 'node:fs/promises';
import { type Logger } from '#base/log/logger.js';
import { RecordFolder } from '#base/fs/record-folder.js';
import { parseAttachment, type AttachmentRecord } from './attachment-record.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What {@link AttachmentStore.open} takes. */
export interface AttachmentStoreOptions {
  /** Folder of the records, one file for each sandbox. */
  readonly dir: string;
  readonly logger: Logger;
}

/** The records of all attachments: in memory, and on the disk before it is acted upon. */
export class AttachmentStore {
  readonly #lasting: RecordFolder<AttachmentRecord>;
  readonly #passing: RecordFolder<AttachmentRecord>;
  readonly #records = new Map<string, AttachmentRecord>();
  readonly #unreadable = new Set<string>();

  private constructor(folder: string) {
    const options = { folder, parse: parseAttachment, check: checkSandbox };
    this.#lasting = new RecordFolder(options);
    // Links and addresses end with the boot, so a record of them need not survive the loss of power. What CNI
    // plugins write down does.
    this.#passing = new RecordFolder({ ...options, durable: false });
  }

  /** Reads what an earlier runtime has left. A record that cannot be read is left where it is, see {@link unreadable}. */
  static async open({ dir, logger }: AttachmentStoreOptions): Promise<AttachmentStore> {
    const store = new AttachmentStore(dir);
    await makeFolder(dir, 0o700);
    const { values, unreadable } = await store.#lasting.load();
    for (const [sandboxId, record] of values) store.#records.set(sandboxId, record);
    for (const { key, path, error } of unreadable) {
      store.#unreadable.add(key);
      logger.error('Record of a network attachment not readable, left alone', error, { path });
    }
    return store;
  }

  /** In no order. */
  get all(): readonly AttachmentRecord[] {
    return [...this.#records.values()];
  }

  /**
   * Sandboxes whose records exist but cannot be read: what they have on the network belongs to
   * somebody, and nobody else may have it.
   */
  get unreadable(): ReadonlySet<string> {
    return this.#unreadable;
  }

  find(sandboxId: string): AttachmentRecord | undefined {
    return this.#records.get(sandboxId);
  }

  /** Where the record of a sandbox is; while it stands, the sandbox is attached or being so. */
  pathOf(sandboxId: string): string {
    return this.#lasting.fileOf(sandboxId).path;
  }

  /** Remembers a record from this moment, and brings it to the disk; forgets it again when that fails. */
  async put(record: AttachmentRecord): Promise<void> {
    const { sandboxId } = record;
    const before = this.#records.get(sandboxId);
    this.#records.set(sandboxId, record);
    try {
      const folder = record.cni === undefined ? this.#passing : this.#lasting;
      await folder.fileOf(sandboxId).write(record);
      this.#unreadable.delete(sandboxId);
    } catch (error) {
      if (before === undefined) this.#records.delete(sandboxId);
      else this.#records.set(sandboxId, before);
      throw error;
    }
  }

  /** Forgets a record that cannot be read: the file stays for people to look at, under another name. */
  async setAside(sandboxId: string): Promise<void> {
    const path = this.pathOf(sandboxId);
    await rename(path, `${path}.unreadable`);
    this.#unreadable.delete(sandboxId);
  }

  /** Forgets a record; that there is none is fine. */
  async delete(sandboxId: string): Promise<void> {
    await this.#lasting.fileOf(sandboxId).remove();
    this.#records.delete(sandboxId);
  }
}

function checkSandbox(key: string, { sandboxId }: AttachmentRecord): void {
  if (sandboxId !== key) throw new Error(`it is of sandbox ${sandboxId}`);
}
