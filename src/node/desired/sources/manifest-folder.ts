import { type BigIntStats, constants } from 'node:fs';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { SliceYielder } from '#base/async/slices.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { manifestNameKind } from '../manifests/manifest-names.js';
import { LARGEST_MANIFEST_BYTES } from '../manifests/manifest-reader.js';
import { SyncStats } from './sync-stats.js';

/** The result of one reading of the folder. */
export type FolderLook = PresentLook | { readonly kind: 'missing' };

/** A reading of a folder that could be listed. */
export interface PresentLook {
  readonly kind: 'present';
  /** The folder that was listed, to be watched. */
  readonly folder: string;
  /** Changes when the folder was replaced. */
  readonly identity: string;
  /** The only name that counts, for a single file. */
  readonly onlyName: string | undefined;
  /**
   * Manifests by name, in the order of names: a sign that changes with the content, and the size.
   *
   * The same map as before when nothing in it has changed.
   */
  readonly files: ReadonlyMap<string, FileSign>;
  /** Names that are no manifests but may have been meant as such. */
  readonly others: readonly string[];
}

/** Distinguishes contents of a file without reading it. */
export interface FileSign {
  readonly sign: string;
  /** In bytes. */
  readonly size: number;
  /** It is no link and has no other name, so every write to it is reported under this name. */
  readonly isSole: boolean;
}

/** A file's content, or why there is none. */
export type FileContent =
  | { readonly kind: 'read'; readonly bytes: Uint8Array; readonly sign: string }
  /** It was changed meanwhile. */
  | { readonly kind: 'moved' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Where manifests are read. */
export interface ManifestFiles {
  /** `wasFile`: the path was a single file before. Rejects when the folder cannot be listed. */
  look(wasFile: boolean): Promise<FolderLook>;
  /** Never rejects. */
  read(folder: string, name: string): Promise<FileContent>;
}

/** A file as of a reading. */
interface SeenFile extends FileSign {
  /** The inputs of {@link FileSign.sign}; undefined if they could not be read. */
  readonly facts: SignFacts | undefined;
}

type SignFacts = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs'>;

/** Between two turns of the event loop; a few microseconds each. */
const FILES_PER_SLICE = 256;
const NO_FILES: ReadonlyMap<string, SeenFile> = new Map();

/**
 * A folder of manifests, or a single file, on disk.
 *
 * It reads files directly in the folder, and follows links. All calls run one after the other: on a network
 * disk that hangs they must not take all of Node's threads. Most readings find nothing new, so known files
 * are checked in a cheaper way if that cannot hang.
 */
export class ManifestFolder implements ManifestFiles {
  readonly #path: string;
  /** Of the last reading. */
  #seen: { readonly folder: string; readonly files: ReadonlyMap<string, SeenFile> } | undefined;

  constructor(path: string) {
    this.#path = resolve(path);
  }

  async look(wasFile: boolean): Promise<FolderLook> {
    const top = await statIfThere(this.#path);
    if (top?.isDirectory() === true) return this.#list(this.#path, top, undefined);
    if (top === undefined && !wasFile) return { kind: 'missing' };
    const folder = dirname(this.#path);
    const parent = await statIfThere(folder);
    if (parent === undefined) return { kind: 'missing' };
    return this.#list(folder, parent, basename(this.#path));
  }

  async read(folder: string, name: string): Promise<FileContent> {
    try {
      // Without O_NONBLOCK, a pipe in the file's place would hang the reader.
      await using file = await open(join(folder, name), constants.O_RDONLY | constants.O_NONBLOCK);
      const before = await file.stat({ bigint: true });
      if (!before.isFile()) return { kind: 'unreadable', why: 'it is no regular file' };
      // One more byte shows that it is too large.
      const buffer = Buffer.allocUnsafe(Math.min(Number(before.size), LARGEST_MANIFEST_BYTES) + 1);
      let size = 0;
      while (size < buffer.length) {
        const { bytesRead } = await file.read(buffer, size, buffer.length - size);
        if (bytesRead === 0) break;
        size += bytesRead;
      }
      const sign = signOf(before);
      if (signOf(await file.stat({ bigint: true })) !== sign) return { kind: 'moved' };
      return { kind: 'read', bytes: buffer.subarray(0, size), sign };
    } catch (error) {
      const code = systemCodeOf(error);
      return { kind: 'unreadable', why: code === 'ENOENT' ? BROKEN_LINK : messageOf(error) };
    }
  }

  async #list(folder: string, top: BigIntStats, onlyName: string | undefined): Promise<PresentLook> {
    const seen = this.#seen?.folder === folder ? this.#seen.files : NO_FILES;
    const files = new Map<string, SeenFile>();
    const others: string[] = [];
    let isAsSeen = true;
    const slices = new SliceYielder({ itemsPerSlice: FILES_PER_SLICE });
    const quick = await SyncStats.in(folder);
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((one, other) => compare(one.name, other.name))) {
      if (slices.isFull()) await slices.nextSlice();
      const { name } = entry;
      if (onlyName !== undefined && name !== onlyName) continue;
      const kind = onlyName === undefined ? manifestNameKind(name) : 'manifest';
      if (kind === 'hidden') continue;
      const known = seen.get(name);
      const path = `${folder}/${name}`;
      // A file with a mount of its own is on an unchecked file system.
      const isQuick = entry.isFile() && known?.isSole === true && known.facts?.dev === top.dev;
      const isUnchanged = isQuick && isAsBefore(known, quick.find(path));
      const found = isUnchanged ? known : await this.#sign(path, entry.isSymbolicLink());
      if (found === undefined) continue;
      if (kind === 'other' || found === 'no file') {
        others.push(name);
        continue;
      }
      const isSame = known?.sign === found.sign && known.isSole === found.isSole;
      files.set(name, isSame ? known : found);
      isAsSeen &&= isSame;
    }
    const identity = `${top.dev}:${top.ino}`;
    const current = isAsSeen && files.size === seen.size ? seen : files;
    this.#seen = { folder, files: current };
    return { kind: 'present', folder, identity, onlyName, files: current, others };
  }

  /** Undefined for a folder, and for what disappeared after the list. */
  async #sign(path: string, isLink: boolean): Promise<SeenFile | 'no file' | undefined> {
    try {
      const facts = await stat(path, { bigint: true });
      if (facts.isDirectory()) return undefined;
      if (!facts.isFile()) return 'no file';
      const { dev, ino, size, mtimeNs, ctimeNs } = facts;
      const isSole = !isLink && facts.nlink === 1n;
      return { sign: signOf(facts), size: Number(size), isSole, facts: { dev, ino, size, mtimeNs, ctimeNs } };
    } catch (error) {
      const code = systemCodeOf(error);
      // A dangling link exists, and so does a file that may not be read.
      const isGone = code === 'ENOENT' && (await lstatIfThere(path)) === undefined;
      const sign = `error ${code === '' ? messageOf(error) : code}`;
      return isGone ? undefined : { sign, size: 0, isSole: false, facts: undefined };
    }
  }
}

/** By code units, like a sort without a comparison. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

const BROKEN_LINK = 'it is a link that leads nowhere, or it vanished';

/** ctime besides mtime: copying a file with its times leaves mtime unchanged. */
function signOf({ dev, ino, size, mtimeNs, ctimeNs }: SignFacts): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

function isAsBefore({ facts: before }: SeenFile, now: BigIntStats | undefined): boolean {
  return (
    before !== undefined &&
    now?.isFile() === true &&
    now.nlink === 1n &&
    now.ctimeNs === before.ctimeNs &&
    now.mtimeNs === before.mtimeNs &&
    now.size === before.size &&
    now.ino === before.ino &&
    now.dev === before.dev
  );
}

async function statIfThere(path: string): Promise<BigIntStats | undefined> {
  return ifThere(async () => stat(path, { bigint: true }));
}

async function lstatIfThere(path: string): Promise<BigIntStats | undefined> {
  return ifThere(async () => lstat(path, { bigint: true }));
}

async function ifThere(look: () => Promise<BigIntStats>): Promise<BigIntStats | undefined> {
  try {
    return await look();
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
