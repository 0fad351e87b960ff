import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { closeOnFailure } from '#base/async/close-on-failure.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { O_PATH, openBelow, type OpenedPlace, openPlaceIn, UnsafePathError } from '#base/fs/open-below.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { writeFully } from '#base/fs/write-fully.js';
import { type TarEntry, type TarKind } from '#base/wire/tar/tar-entry.js';
import { failure } from '../../command-failure.js';
import { naming } from './naming.js';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** How often a file that comes and goes while it is opened is opened again. */
const MAX_TRIES = 10;

/** Where a tar is unpacked to. */
export interface UnpackOptions {
  /** What each name in the tar begins with; it is replaced by the target. */
  readonly prefix: string;
  /** The path here. */
  readonly target: string;
  /** Called for everything that is left out, with the reason. */
  readonly warn: (message: string) => Promise<void>;
}

/**
 * Unpacks an archive from a container, which is not trusted.
 *
 * Nothing is written outside of the target, links are not created, and no existing link is followed out of it.
 *
 * The container may write to the target, too, where that is one of its volumes. So the target is opened once, and all
 * that is in it is reached from there, name by name. Nothing but plain files is written to: a device or a pipe in the
 * place of one is left out. The target itself was named by who calls, and may be a link or a device.
 *
 * Rejects with a CommandFailure when a name has not the prefix: then it is not what was asked for.
 */
export class TarUnpacker {
  readonly #options: UnpackOptions;
  readonly #target: string;
  /** The target, once it is there and a folder. */
  #root: FileHandle | undefined;
  /** The folder of the last file: the next one mostly belongs there, too. */
  #folder: { readonly path: string; readonly place: OpenedPlace } | undefined;
  /** What was written, by its name in the tar, as a path below the target: hard links are copies of it. */
  readonly #written = new Map<string, string>();

  constructor(options: UnpackOptions) {
    this.#options = options;
    this.#target = resolve(options.target);
  }

  /** How many files were written. */
  get count(): number {
    return this.#written.size;
  }

  async unpack(entries: AsyncIterable<TarEntry>): Promise<void> {
    try {
      for await (const entry of entries) await this.#unpackOne(entry);
    } finally {
      await this.#folder?.place.handle.close();
      await this.#root?.close();
      this.#folder = this.#root = undefined;
    }
  }

  async #unpackOne(entry: TarEntry): Promise<void> {
    const { prefix } = this.#options;
    const name = withoutLastSlashes(entry.name.replace(/^(\.?\/)+/, ''));
    const bare = name === '.' ? '' : name;
    if (bare !== prefix && prefix !== '' && !bare.startsWith(`${prefix}/`))
      throw failure('tar contents corrupted');
    const names = bare
      .slice(prefix.length)
      .split('/')
      .filter((each) => each !== '' && each !== '.');
    const below = await this.#belowTarget(names, entry.kind);
    const path = join(this.#target, below);
    const isOutside =
      names.some((each) => each === '..' || each.includes('\0')) ||
      !(await naming(path, () => this.#place(bare, below, entry)));
    if (isOutside)
      await this.#warn(`warning: file ${JSON.stringify(path)} is outside target destination, skipping`);
  }

  /** Makes of an entry what belongs at a path below the target; false when that leads out of it. */
  async #place(bare: string, below: string, entry: TarEntry): Promise<boolean> {
    const { kind, linkName } = entry;
    const path = join(this.#target, below);
    try {
      if (kind === 'folder') {
        await using folder = await openBelow(await this.#openRoot(), below, undefined);
        if (!folder.facts.isDirectory()) throw failure(`${path} is no folder`);
        return true;
      }
      // Also made above what is left out.
      if (below !== '' && (await this.#find(below))?.isSymbolicLink() === true) return false;
    } catch (error) {
      if (error instanceof UnsafePathError || systemCodeOf(error) === 'ELOOP') return false;
      throw error;
    }
    switch (kind) {
      case 'file':
        await this.#write(below, entry, bare);
        break;
      case 'link':
        await this.#copy(below, linkName.replace(/^(\.?\/)+/, ''), bare);
        break;
      case 'symlink':
        await this.#warn(`warning: skipping symlink: ${JSON.stringify(path)} -> ${JSON.stringify(linkName)}`);
        break;
      default:
        await this.#warn(`warning: skipping special file: ${JSON.stringify(path)}`);
    }
    return true;
  }

  /** Where an entry belongs in the target; empty for the target itself. */
  async #belowTarget(names: readonly string[], kind: TarKind): Promise<string> {
    // A single file is put into a folder that is there.
    const isSingle = names.length === 0 && kind === 'file';
    return isSingle && (await isFolder(this.#target)) ? basename(this.#options.prefix) : names.join('/');
  }

  async #openRoot(): Promise<FileHandle> {
    if (this.#root === undefined) {
      await makeFolder(this.#target, 0o755);
      this.#root = await open(this.#target, O_PATH | O_DIRECTORY);
    }
    return this.#root;
  }

  /** A folder in the target, which is made unless it is there; open until the next one is asked for. */
  async #openFolder(path: string): Promise<FileHandle> {
    if (this.#folder?.path !== path) {
      const place = await openBelow(await this.#openRoot(), path, undefined);
      await this.#folder?.place.handle.close();
      this.#folder = { path, place };
    }
    return this.#folder.place.handle;
  }

  /** What is at a path below the target, and no link is followed to it. Makes the folder that it is to be in. */
  async #find(below: string): Promise<Stats | undefined> {
    const folder = await this.#openFolder(dirname(below));
    try {
      await using place = await openPlaceIn(folder, basename(below));
      return place.facts;
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #write(
    below: string,
    { content, size }: Pick<TarEntry, 'content' | 'size'>,
    name: string,
  ): Promise<void> {
    const file = await this.#openFile(below);
    if (file === undefined) return;
    try {
      // The target itself may be a pipe or a device, which has no places.
      const isPlain = (await file.stat()).isFile();
      let end = 0;
      for await (const { offset, data } of content()) {
        if (isPlain) await writeFully(file, data, offset);
        else if (offset === end) await file.writeFile(data);
        else throw failure(`${this.#target} cannot have holes, and the file that is sent has some`);
        end = offset + data.length;
      }
      // What no piece covers is a hole.
      if (isPlain && end < size) await file.truncate(size);
    } finally {
      await file.close();
    }
    this.#written.set(name, below);
  }

  /** An empty file to write to; undefined, and a warning, when something else is in its place. */
  async #openFile(below: string): Promise<FileHandle | undefined> {
    if (below === '') {
      await makeFolder(dirname(this.#target), 0o755);
      return await open(this.#target, O_WRONLY | O_CREAT | O_TRUNC, 0o666);
    }
    const file = await openPlainFile(await this.#openFolder(dirname(below)), basename(below));
    if (file === undefined) {
      const shown = JSON.stringify(join(this.#target, below));
      await this.#warn(`warning: there is no plain file at ${shown}, skipping`);
    }
    return file;
  }

  async #copy(below: string, source: string, name: string): Promise<void> {
    const written = this.#written.get(source);
    if (written === undefined) {
      const path = join(this.#target, below);
      await this.#warn(`warning: skipping hard link: ${JSON.stringify(path)} -> ${JSON.stringify(source)}`);
      return;
    }
    if (written === below) return;
    await using from = await this.#openWritten(written);
    const [one, other] = [await from.stat(), below === '' ? undefined : await this.#find(below)];
    // Linked already, by an earlier copy that was made into links: to empty the one would empty the other.
    if (one.dev === other?.dev && one.ino === other.ino) return;
    await this.#write(below, contentOf(from, one.size), name);
  }

  async #openWritten(below: string): Promise<FileHandle> {
    if (below === '') return await open(this.#target, O_RDONLY);
    await using folder = await openBelow(await this.#openRoot(), dirname(below), undefined);
    await using place = await openPlaceIn(folder.handle, basename(below));
    if (!place.facts.isFile()) throw failure(`${join(this.#target, below)} is not what was written any more`);
    return await open(pathOfHandle(place.handle), O_RDONLY);
  }

  #warn(message: string): Promise<void> {
    return this.#options.warn(message);
  }
}

/**
 * Opens a plain file in a folder to write it from its beginning, or makes it. What is there is looked at before it is
 * opened, by a handle that stays: to open a device or a pipe does something already. Undefined for anything else.
 */
async function openPlainFile(folder: FileHandle, name: string): Promise<FileHandle | undefined> {
  const path = join(pathOfHandle(folder), name);
  for (let tries = 1; ; tries++) {
    try {
      await using place = await openPlaceIn(folder, name);
      if (!place.facts.isFile() && !place.facts.isDirectory()) return undefined;
      const file = await open(pathOfHandle(place.handle), O_WRONLY);
      await closeOnFailure(file, () => file.truncate());
      return file;
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT' || tries === MAX_TRIES) throw error;
    }
    try {
      return await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST' || tries === MAX_TRIES) throw error;
    }
  }
}

/** A file as the content of an entry. */
function contentOf(file: FileHandle, size: number): Pick<TarEntry, 'content' | 'size'> {
  const content = async function* (): ReturnType<TarEntry['content']> {
    let offset = 0;
    for await (const data of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      yield { offset, data };
      offset += data.length;
    }
  };
  return { content, size };
}

/** Links are followed: the path is the caller's own. */
async function isFolder(path: string): Promise<boolean> {
  try {
    await using _ = await open(path, O_PATH | O_DIRECTORY);
    return true;
  } catch {
    return false;
  }
}

/** Not by an expression, which would try each of many slashes as the first of the last. */
function withoutLastSlashes(name: string): string {
  let end = name.length;
  while (name[end - 1] === '/') end--;
  return name.slice(0, end);
}
