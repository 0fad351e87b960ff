import { constants, type Stats } from 'node:fs';
import { copyFile, lstat, mkdir, open, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { makeFolder } from '../../util/make-folder.js';
import { isBelow } from '../../util/mountinfo.js';
import { failure } from '../command-failure.js';
import { type TarEntry } from './read-tar.js';
import { EntryKind } from './tar-header.js';

/** Where a tar is unpacked to. */
export interface UnpackOptions {
  /** What each name in the tar begins with; it is replaced by the target. */
  readonly prefix: string;
  /** The path here. */
  readonly target: string;
  /** Told of everything that is left out, and why. */
  readonly warn: (message: string) => Promise<void>;
}

/**
 * Unpacks what a container has sent, of which nothing is believed: nothing is written outside of the target, links are
 * not made, and none that is there already is followed out of it.
 *
 * Rejects with a CommandFailure when a name has not the prefix: then it is not what was asked for.
 */
export class TarUnpacker {
  readonly #options: UnpackOptions;
  readonly #target: string;
  /** The target with all links resolved, once it is there. */
  #root: string | undefined;
  /** What was written, by its name in the tar: hard links are copies of it. */
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
    for await (const entry of entries) await this.#unpackOne(entry);
  }

  async #unpackOne({ header, content }: TarEntry): Promise<void> {
    const { prefix, warn } = this.#options;
    const name = withoutLastSlashes(header.name.replace(/^(\.?\/)+/, ''));
    const bare = name === '.' ? '' : name;
    if (bare !== prefix && prefix !== '' && !bare.startsWith(`${prefix}/`))
      throw failure('tar contents corrupted');
    const rest = bare.slice(prefix.length).replace(/^\/+/, '');
    const path = await this.#placeOf(rest, header.kind);
    if (path === undefined || !(await this.#isInside(path))) {
      const shown = JSON.stringify(join(this.#target, rest));
      await warn(`warning: file ${shown} is outside target destination, skipping`);
      return;
    }
    switch (header.kind) {
      case EntryKind.folder:
        await makeFolder(path, 0o755);
        return;
      case EntryKind.file:
        await this.#write(path, content);
        this.#written.set(bare, path);
        return;
      case EntryKind.hardLink:
        await this.#copy(path, header.target.replace(/^(\.?\/)+/, ''), bare);
        return;
      case EntryKind.link:
        await warn(`warning: skipping symlink: ${JSON.stringify(path)} -> ${JSON.stringify(header.target)}`);
        return;
      default:
        await warn(`warning: skipping special file: ${JSON.stringify(path)}`);
    }
  }

  /** Where an entry belongs; undefined when that is not below the target. */
  async #placeOf(rest: string, kind: string): Promise<string | undefined> {
    if (rest.includes('\0') || rest.split('/').includes('..')) return undefined;
    const path = join(this.#target, rest);
    // A single file is put into a folder that is there.
    if (
      rest === '' &&
      kind === EntryKind.file &&
      (await statOrNothing(this.#target))?.isDirectory() === true
    ) {
      return join(this.#target, basename(this.#options.prefix));
    }
    return path;
  }

  /** Makes the folder above a path, and tells whether that lies within the target, whatever links are on the way. */
  async #isInside(path: string): Promise<boolean> {
    if (path === this.#target) return true;
    const parts = relative(this.#target, dirname(path))
      .split(sep)
      .filter((part) => part !== '');
    let folder = this.#target;
    await makeFolder(folder, 0o755);
    this.#root ??= await realpath(folder);
    for (const part of parts) {
      folder = join(folder, part);
      const found = await lstatOrNothing(folder);
      if (found === undefined) await mkdir(folder, { mode: 0o755 });
      else if (found.isSymbolicLink() && !isBelow(await realpath(folder).catch(() => sep), this.#root))
        return false;
    }
    const last = await lstatOrNothing(path);
    return last?.isSymbolicLink() !== true;
  }

  async #write(path: string, content: AsyncIterable<Buffer>): Promise<void> {
    if (path === this.#target) await makeFolder(dirname(path), 0o755);
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    // The target itself was named by who calls; what is in it was not.
    const noFollow = path === this.#target ? 0 : O_NOFOLLOW;
    const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | noFollow, 0o666);
    try {
      for await (const chunk of content) await file.writeFile(chunk);
    } finally {
      await file.close();
    }
  }

  async #copy(path: string, source: string, name: string): Promise<void> {
    const written = this.#written.get(source);
    if (written === undefined) {
      await this.#options.warn(
        `warning: skipping hard link: ${JSON.stringify(path)} -> ${JSON.stringify(source)}`,
      );
      return;
    }
    await copyFile(written, path);
    this.#written.set(name, path);
  }
}

/** Not by an expression, which would try each of many slashes as the first of the last. */
function withoutLastSlashes(name: string): string {
  let end = name.length;
  while (name[end - 1] === '/') end--;
  return name.slice(0, end);
}

function lstatOrNothing(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined);
}

function statOrNothing(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}
