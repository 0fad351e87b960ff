import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachAtOnce } from '../async/for-each-at-once.js';
import { RecordFile, type RecordFileOptions } from './record-file.js';
import { namesIn } from './names-in.js';
import { readIfThere } from './whole-file.js';

/** Options of {@link RecordFolder}. */
export interface RecordFolderOptions<Value> extends Omit<RecordFileOptions<Value>, 'path'> {
  /** A missing one has no records, and has to be created before something is written. */
  readonly folder: string;
  /** How keys appear in names of files (default: as they are). */
  readonly names?: KeyNames;
  /** Throws if a value does not belong to the key that its file is named after. */
  readonly check?: (key: string, value: Value) => void;
}

/** How keys appear in names of files. */
export interface KeyNames {
  readonly toName: (key: string) => string;
  /** Undefined for a name of another kind of file. */
  readonly toKey: (name: string) => string | undefined;
}

/** All records of a folder, by key. */
export interface LoadedRecords<Value> {
  readonly values: Map<string, Value>;
  /** Files that stay as they are, because they cannot be read. */
  readonly unreadable: readonly UnreadableRecord[];
}

/** A record that cannot be read. */
export interface UnreadableRecord {
  readonly key: string;
  readonly path: string;
  readonly error: unknown;
  /** What is left of it; undefined if the system refuses to read it. */
  readonly text: string | undefined;
}

const SUFFIX = '.json';
/** What {@link RecordFile} leaves behind when the process ends in the middle of a write. */
const UNFINISHED = `${SUFFIX}.tmp`;
/** A start waits for all of them, and each read may take a while on a busy machine. */
const READS_AT_ONCE = 16;
const AS_THEY_ARE: KeyNames = { toName: (key) => key, toKey: (name) => name };

/** A folder with a {@link RecordFile} for each key. */
export class RecordFolder<Value> {
  readonly path: string;
  readonly #options: RecordFolderOptions<Value>;
  readonly #names: KeyNames;

  constructor(options: RecordFolderOptions<Value>) {
    this.path = options.folder;
    this.#options = options;
    this.#names = options.names ?? AS_THEY_ARE;
  }

  /** Reads all records, and removes what unfinished writes left. Rejects only if the folder cannot be listed. */
  async load(): Promise<LoadedRecords<Value>> {
    const { folder, check } = this.#options;
    const values = new Map<string, Value>();
    const unreadable: UnreadableRecord[] = [];
    await forEachAtOnce((await namesIn(folder)).sort(), READS_AT_ONCE, async (name) => {
      const path = join(folder, name);
      if (name.endsWith(UNFINISHED)) await rm(path, { force: true }).catch(() => undefined);
      const key = name.endsWith(SUFFIX) ? this.#names.toKey(name.slice(0, -SUFFIX.length)) : undefined;
      if (key === undefined) return;
      try {
        const value = await this.fileOf(key).read();
        if (value === undefined) return;
        check?.(key, value);
        values.set(key, value);
      } catch (error) {
        const text = await readIfThere(path).catch(() => undefined);
        unreadable.push({ key, path, error, text });
      }
    });
    return { values, unreadable };
  }

  /** The file of a key. A new object each time: only writes through the same one run one after another. */
  fileOf(key: string): RecordFile<Value> {
    const path = join(this.#options.folder, `${this.#names.toName(key)}${SUFFIX}`);
    return new RecordFile({ ...this.#options, path });
  }
}
