import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { RecordFolder } from '#base/fs/record-folder.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** An image that was pulled, or was removed while containers use it. */
export interface ImageRecord {
  /** The digest of its config. */
  readonly id: string;
  /** Whether it is in the list. */
  readonly pulled: boolean;
  /** Normalised names, with a tag or a digest: under each of them it can be found. */
  readonly references: readonly string[];
  readonly chainId: string;
  /** In bytes, as it is stored in its layout. */
  readonly size: number;
  /** The config, byte by byte. */
  readonly configText: string;
  /** Digests of what is stored of an image that came from a registry. */
  readonly blobs?: readonly string[];
  /** Counts the changes of all records: of two with the same name the higher one has it. */
  readonly revision: number;
}

/** The records of images on the disk, one file each, and in memory. */
export class ImageRecords {
  readonly #folder: RecordFolder<ImageRecord>;
  readonly #records = new Map<string, ImageRecord>();
  readonly #damaged: Map<string, ReadonlySet<string>>;
  #revision = 0;

  private constructor(
    folder: RecordFolder<ImageRecord>,
    records: Iterable<ImageRecord>,
    damaged: Map<string, ReadonlySet<string>>,
  ) {
    this.#folder = folder;
    this.#damaged = damaged;
    const taken = new Set<string>();
    // The latest first: a name that was moved may still stand in the record that it was taken from.
    for (const record of [...records].sort((a, b) => b.revision - a.revision)) {
      const references = record.references.filter((reference) => !taken.has(reference));
      references.forEach((reference) => taken.add(reference));
      this.#records.set(record.id, { ...record, references });
      this.#revision = Math.max(this.#revision, record.revision);
    }
  }

  /** Reads what is there. A record that cannot be read is left alone and logged, see {@link damaged}. */
  static async open(path: string, logger: Logger): Promise<ImageRecords> {
    await makeFolder(path, 0o700);
    const folder = new RecordFolder<ImageRecord>({ folder: path, parse, check, names: FILE_NAMES });
    const { values, unreadable } = await folder.load();
    const damaged = new Map<string, ReadonlySet<string>>();
    for (const { key, error, text } of unreadable) {
      damaged.set(key, new Set(text?.match(DIGEST)));
      logger.warn('The record of an image cannot be read: it has to be pulled again', {
        id: key,
        err: messageOf(error),
      });
    }
    return new ImageRecords(folder, values.values(), damaged);
  }

  /**
   * Images whose records cannot be read, by id, with all the digests that stand in what is left of each. One that is
   * written again is removed from this map.
   */
  get damaged(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#damaged;
  }

  /** In the order in which they were last changed. */
  get all(): readonly ImageRecord[] {
    return [...this.#records.values()].sort((a, b) => a.revision - b.revision);
  }

  find(id: string): ImageRecord | undefined {
    return this.#records.get(id);
  }

  findByReference(reference: string): ImageRecord | undefined {
    for (const record of this.#records.values()) if (record.references.includes(reference)) return record;
    return undefined;
  }

  /** Writes a record and takes its names from all others. */
  async put(record: Omit<ImageRecord, 'revision'>): Promise<ImageRecord> {
    const written = await this.#write(record);
    for (const other of this.all) {
      const others = other.references.filter((reference) => !written.references.includes(reference));
      if (other.id !== written.id && others.length < other.references.length)
        await this.#write({ ...other, references: others });
    }
    return written;
  }

  async delete(id: string): Promise<void> {
    await this.#folder.fileOf(id).remove();
    this.#records.delete(id);
  }

  async #write(record: Omit<ImageRecord, 'revision'>): Promise<ImageRecord> {
    const revision = ++this.#revision;
    const written = { ...record, revision };
    await this.#folder.fileOf(record.id).write(written);
    this.#records.set(record.id, written);
    this.#damaged.delete(record.id);
    return written;
  }
}

const DIGEST = /sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})/g;
const FILE_NAMES = {
  toName: (id: string) => id.replace(':', '-'),
  toKey: (name: string) => name.replace('-', ':'),
};

/** Throws when it cannot be what was written. */
function parse(content: Readonly<Record<string, unknown>>): ImageRecord {
  const { id, pulled, references, chainId, size, configText, revision, blobs = [] } = content;
  const texts = [id, chainId, configText].every((each) => typeof each === 'string');
  const numbers = [size, revision].every((each) => Number.isSafeInteger(each));
  if (!texts || !numbers || typeof pulled !== 'boolean' || ![references, blobs].every(Array.isArray))
    throw new Error('not the record of an image');
  const stored = content['blobs'] === undefined ? {} : { blobs };
  return { id, pulled, references, chainId, size, configText, revision, ...stored } as ImageRecord;
}

function check(key: string, { id }: ImageRecord): void {
  if (id !== key) throw new Error(`it is of image ${id}`);
}
