import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { systemCodeOf } from '#base/errors/system-code.js';
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

const FORMAT = 1;
const PULLED = 'pulled';
const PULLING = 'pulling';
const HASH_KEY = 'key';
const ENDING = '.json';
const HASH_KEY_BYTES = 32;
const FILE_NAME = /^[0-9a-f]{64}\.json$/;

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

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  /**
   * Reads all files; never rejects. Unreadable ones are logged, and count as pulled in an unknown way.
   *
   * A file that names no runtime belongs to `runtime`.
   */
  async load(runtime: string): Promise<KeptPulls> {
    const [records, beginnings] = [await this.#list(PULLED), await this.#list(PULLING)];
    const pulled = await Promise.all(
      (records ?? []).map(async (key) => [key, await this.#readRecord(key, runtime)] as const),
    );
    const begun = await Promise.all(
      (beginnings ?? []).map(async (key) => [key, await this.#readBegun(key, runtime)] as const),
    );
    const isPartial = records === undefined || beginnings === undefined;
    const hashKey = await this.#readHashKey();
    return { pulled: new Map(pulled), begun: new Map(begun), isPartial, hashKey };
  }

  async writeRecord(key: string, { id, names, runtimes }: KeptRecord): Promise<void> {
    await this.#write(PULLED, key, { format: FORMAT, id, names: Object.fromEntries(names), runtimes });
  }

  async writeBegun(key: string, { name, runtimes }: KeptBeginning): Promise<void> {
    await this.#write(PULLING, key, { format: FORMAT, name, runtimes });
  }

  async writeHashKey(hashKey: Buffer): Promise<void> {
    await this.#make(this.#folder);
    await writeWhole(join(this.#folder, HASH_KEY), `${hashKey.toString('hex')}\n`);
  }

  /** Never rejects: a leftover record only asks for a login where none is needed. */
  async removeRecord(key: string): Promise<void> {
    await this.#remove(this.#pathOf(PULLED, key));
  }

  /** Like {@link removeRecord}. */
  async removeBegun(key: string): Promise<void> {
    await this.#remove(this.#pathOf(PULLING, key));
  }

  async #list(kind: string): Promise<string[] | undefined> {
    const folder = join(this.#folder, kind);
    let files: string[];
    try {
      files = await readdir(folder);
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return [];
      this.#complain(
        'Records of pulled images cannot be read, all images are to be pulled again',
        error,
        folder,
      );
      return undefined;
    }
    // The power failed during the write.
    for (const file of files) if (file.endsWith('.tmp')) await this.#remove(join(folder, file));
    return files.filter((file) => FILE_NAME.test(file)).map((file) => file.slice(0, -ENDING.length));
  }

  async #readRecord(key: string, runtime: string): Promise<KeptRecord> {
    const path = this.#pathOf(PULLED, key);
    try {
      return parseRecord(await readFile(path, 'utf8'), key, runtime);
    } catch (error) {
      this.#complain('Record of a pulled image cannot be read, the image is to be pulled again', error, path);
      return { id: undefined, names: new Map(), runtimes: [runtime] };
    }
  }

  /** The existence of the file is most of its information. */
  async #readBegun(key: string, runtime: string): Promise<KeptBeginning> {
    try {
      const written: unknown = JSON.parse(await readFile(this.#pathOf(PULLING, key), 'utf8'));
      const { name, runtimes } = (written ?? {}) as Readonly<Record<string, unknown>>;
      return { name: typeof name === 'string' ? name : '', runtimes: toRuntimes(runtimes, runtime) };
    } catch {
      return { name: '', runtimes: [runtime] };
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

  async #write(kind: string, key: string, content: object): Promise<void> {
    await this.#make(join(this.#folder, kind));
    await writeWhole(this.#pathOf(kind, key), `${JSON.stringify(content)}\n`);
  }

  /** Creates a folder and flushes its name to disk, as a file in it is otherwise not safe. */
  async #make(folder: string): Promise<void> {
    if (this.#made.has(folder)) return;
    await makeFolder(folder, 0o700);
    await syncPath(dirname(folder));
    await syncPath(dirname(this.#folder));
    this.#made.add(folder);
  }

  async #remove(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (error) {
      this.#complain('Record of a pull cannot be removed', error, path);
    }
  }

  #complain(message: string, error: unknown, path: string): void {
    this.#logger.error(message, error, { path });
  }

  #pathOf(kind: string, key: string): string {
    return join(this.#folder, kind, `${key}${ENDING}`);
  }
}

/** Throws if it is not exactly what was written. */
function parseRecord(text: string, key: string, runtime: string): KeptRecord {
  const { format, id, names, runtimes } = (JSON.parse(text) ?? {}) as Readonly<Record<string, unknown>>;
  if (format !== FORMAT) throw new Error(`its format is ${JSON.stringify(format)}, and not ${FORMAT}`);
  if (typeof names !== 'object' || names === null) throw new Error('it has no names');
  const entries = Object.entries(names as Readonly<Record<string, unknown>>);
  const isUnknown = id === undefined && entries.length === 0;
  if (!isUnknown && (typeof id !== 'string' || keyOf(id) !== key)) {
    throw new Error('it is about another image than its name');
  }
  const isWhole = entries.every(([, access]) => access === 'anyone' || isLogins(access));
  if (!isWhole) throw new Error('it does not say who may use the image');
  return {
    id: id,
    names: new Map(entries as [string, 'anyone' | readonly UsedLogin[]][]),
    runtimes: toRuntimes(runtimes, runtime),
  };
}

function toRuntimes(value: unknown, runtime: string): readonly string[] {
  const isList = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string');
  return isList ? value : [runtime];
}

function isLogins(value: unknown): boolean {
  return Array.isArray(value) && value.every(isLogin);
}

function isLogin(value: unknown): boolean {
  const { hash, secret } = (value ?? {}) as Partial<Record<keyof UsedLogin, unknown>>;
  if (typeof hash !== 'string' || hash === '') return false;
  if (secret === undefined) return true;
  const { uid, namespace, name } = (secret ?? {}) as Readonly<Record<string, unknown>>;
  return [uid, namespace, name].every((each) => typeof each === 'string' && each !== '');
}
