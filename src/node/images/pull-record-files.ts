import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { type RecordFile } from '#base/fs/record-file.js';
import { type LoadedRecords, RecordFolder } from '#base/fs/record-folder.js';
import { isRecord } from '#base/text/is-record.js';
import { readIfThere, syncPath, writeWhole } from '#base/fs/whole-file.js';
import { type PulledNames, type UsedLogin } from './pulled-names.js';

/** The stored record of an image. */
export interface KeptRecord {
  /** Undefined for an unreadable record: it has no names, either. */
  readonly id: string | undefined;
  readonly names: PulledNames;
  /** The runtimes that pulled it. */
  readonly runtimes: readonly string[];
}

/** The stored beginning of a pull. */
export interface KeptBeginning {
  /** For people; empty if it is unreadable. */
  readonly name: string;
  /** The runtimes in which it has begun. */
  readonly runtimes: readonly string[];
}

/** What earlier agents have left. Keys come from {@link keyOf}. */
export interface KeptPulls {
  /** By the key of the image's id; an unreadable record has no names. */
  readonly pulled: ReadonlyMap<string, KeptRecord>;
  /** Pulls that have begun without a recorded end, by the key of the image's full name. */
  readonly begun: ReadonlyMap<string, KeptBeginning>;
  /** There may be more of either, as a folder cannot be read. */
  readonly isPartial: boolean;
  /** Undefined if there is none. */
  readonly hashKey: Buffer | undefined;
}

const PULLED = 'pulled';
const PULLING = 'pulling';
const HASH_KEY = 'key';
const HASH_KEY_BYTES = 32;
const KEY = /^[0-9a-f]{64}$/;

/** The key of an image's id or name in file names. Pure. */
export function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Adds one if it is missing. Pure. */
export function withRuntime(runtimes: readonly string[], one: string): readonly string[] {
  return runtimes.includes(one) ? runtimes : [...runtimes, one];
}

/** Removes one. Pure. */
export function withoutRuntime(runtimes: readonly string[], one: string): readonly string[] {
  return runtimes.filter((each) => each !== one);
}

/**
 * The files of pull records, each written as a whole and readable only for the agent:
 *
 * ```
 *   key                   the key of the hashes of logins
 *   pulled/<key>.json     how an image was pulled, by the key of its id
 *   pulling/<key>.json    a pull with a login has begun, by the key of the image's name
 * ```
 *
 * The name of a file says what it is about, even if its content is unreadable.
 */
export class PullRecordFiles {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #made = new Set<string>();
  readonly #pulled: RecordFolder<KeptRecord>;
  readonly #pulling: RecordFolder<KeptBeginning>;

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
    const names = {
      toName: (key: string) => key,
      toKey: (name: string) => (KEY.test(name) ? name : undefined),
    };
    this.#pulled = new RecordFolder<KeptRecord>({
      ...{ folder: join(folder, PULLED), names, parse: parseRecord, check: checkKey },
      format: ({ id, names: written, runtimes }) => ({ id, names: Object.fromEntries(written), runtimes }),
    });
    this.#pulling = new RecordFolder<KeptBeginning>({
      ...{ folder: join(folder, PULLING), names, parse: parseBeginning },
    });
  }

  /**
   * Reads all files; never rejects. Unreadable ones are logged, and count as pulled in an unknown way.
   *
   * A file that names no runtime belongs to `runtime`.
   */
  async load(runtime: string): Promise<KeptPulls> {
    const [records, beginnings] = [await this.#list(this.#pulled), await this.#list(this.#pulling)];
    const withAny = <Kept extends KeptRecord | KeptBeginning>(kept: Kept): Kept =>
      kept.runtimes.length > 0 ? kept : { ...kept, runtimes: [runtime] };
    const pulled = new Map([...(records?.values ?? [])].map(([key, record]) => [key, withAny(record)]));
    for (const { key, path, error } of records?.unreadable ?? []) {
      this.#complain('Record of a pulled image cannot be read, the image is to be pulled again', error, path);
      pulled.set(key, { id: undefined, names: new Map(), runtimes: [runtime] });
    }
    const begun = new Map([...(beginnings?.values ?? [])].map(([key, begin]) => [key, withAny(begin)]));
    // The existence of the file is most of its information.
    for (const { key } of beginnings?.unreadable ?? []) begun.set(key, { name: '', runtimes: [runtime] });
    const isPartial = records === undefined || beginnings === undefined;
    return { pulled, begun, isPartial, hashKey: await this.#readHashKey() };
  }

  async writeRecord(key: string, record: KeptRecord): Promise<void> {
    await this.#make(join(this.#folder, PULLED));
    await this.#pulled.fileOf(key).write(record);
  }

  async writeBegun(key: string, beginning: KeptBeginning): Promise<void> {
    await this.#make(join(this.#folder, PULLING));
    await this.#pulling.fileOf(key).write(beginning);
  }

  async writeHashKey(hashKey: Buffer): Promise<void> {
    await this.#make(this.#folder);
    await writeWhole(join(this.#folder, HASH_KEY), `${hashKey.toString('hex')}\n`);
  }

  /** Never rejects: a leftover record only asks for a login where none is needed. */
  async removeRecord(key: string): Promise<void> {
    await this.#remove(this.#pulled.fileOf(key));
  }

  /** Like {@link removeRecord}. */
  async removeBegun(key: string): Promise<void> {
    await this.#remove(this.#pulling.fileOf(key));
  }

  async #list<Value>(folder: RecordFolder<Value>): Promise<LoadedRecords<Value> | undefined> {
    try {
      return await folder.load();
    } catch (error) {
      const message = 'Records of pulled images cannot be read, all images are to be pulled again';
      this.#complain(message, error, folder.path);
      return undefined;
    }
  }

  async #readHashKey(): Promise<Buffer | undefined> {
    const path = join(this.#folder, HASH_KEY);
    try {
      const text = await readIfThere(path);
      if (text === undefined) return undefined;
      const hashKey = Buffer.from(text.trim(), 'hex');
      if (hashKey.length !== HASH_KEY_BYTES)
        throw new Error(`it is not ${HASH_KEY_BYTES} bytes in hexadecimal`);
      return hashKey;
    } catch (error) {
      this.#complain('Key of the hashes of logins cannot be read, logins are to be tried again', error, path);
      return undefined;
    }
  }

  /** Creates a folder and flushes its name to disk, as a file in it is otherwise not safe. */
  async #make(folder: string): Promise<void> {
    if (this.#made.has(folder)) return;
    await makeFolder(folder, 0o700);
    await syncPath(dirname(folder));
    await syncPath(dirname(this.#folder));
    this.#made.add(folder);
  }

  async #remove(file: Pick<RecordFile<never>, 'path' | 'remove'>): Promise<void> {
    try {
      await file.remove();
    } catch (error) {
      this.#complain('Record of a pull cannot be removed', error, file.path);
    }
  }

  #complain(message: string, error: unknown, path: string): void {
    this.#logger.error(message, error, { path });
  }
}

/** Throws if it is not exactly what was written. */
function parseRecord({ id, names, runtimes }: Readonly<Record<string, unknown>>): KeptRecord {
  if (!isRecord(names)) throw new Error('it has no names');
  const entries = Object.entries(names);
  if (id !== undefined && typeof id !== 'string') throw new Error('it names no image');
  const isWhole = entries.every(([, access]) => access === 'anyone' || isLogins(access));
  if (!isWhole) throw new Error('it does not say who may use the image');
  return {
    id,
    names: new Map(entries as [string, 'anyone' | readonly UsedLogin[]][]),
    runtimes: toRuntimes(runtimes),
  };
}

function checkKey(key: string, { id, names }: KeptRecord): void {
  const isUnknown = id === undefined && names.size === 0;
  if (!isUnknown && (id === undefined || keyOf(id) !== key)) {
    throw new Error('it is about another image than its name');
  }
}

function parseBeginning({ name, runtimes }: Readonly<Record<string, unknown>>): KeptBeginning {
  return { name: typeof name === 'string' ? name : '', runtimes: toRuntimes(runtimes) };
}

/** Empty if it names none. */
function toRuntimes(value: unknown): readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : [];
}

function isLogins(value: unknown): boolean {
  return Array.isArray(value) && value.every(isLogin);
}

function isLogin(value: unknown): boolean {
  const { hash, secret, account } = (value ?? {}) as Partial<Record<keyof UsedLogin, unknown>>;
  return typeof hash === 'string' && hash !== '' && [secret, account].every(isObjectId);
}

function isObjectId(value: unknown): boolean {
  if (value === undefined) return true;
  const { uid, namespace, name } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return [uid, namespace, name].every((each) => typeof each === 'string' && each !== '');
}
