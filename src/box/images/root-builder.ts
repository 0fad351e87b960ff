import { type Stats } from 'node:fs';
import { join, dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isFull } from '#base/fs/disk-errors.js';
import { refused } from '../rpc-error.js';
import { link, lstat, mkdir, readdir, rm, symlink, unlink, utimes } from './archive/blocking-files.js';
import { splitEntryPath } from './archive/entry-path.js';
import { EntryWriter, type UnpackReport } from './archive/entry-writer.js';
import { assertOwner } from './archive/entry-facts.js';
import { ignoreAbsence, ignorePresence, RootPaths } from './root-paths.js';
import { type TarEntry } from '#base/wire/tar/tar-entry.js';
import { diskIsFull, UnpackMeter, type UnpackLimits } from './archive/unpack-limits.js';

/** What {@link RootBuilder} takes. */
export interface RootBuilderOptions {
  /** An empty folder, which nobody else writes to; nor to the one that it is in. */
  readonly root: string;
  /** Whether owners, setuid bits and devices can be made: true for root. */
  readonly privileged: boolean;
  readonly limits: UnpackLimits;
  /** Ends the work half way, with its reason. */
  readonly signal: AbortSignal;
}

/** How long it goes on without letting anything else of its thread have a turn. */
const SLICE_MS = 5;
const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';

/**
 * Unpacks the layers of an image one over the other into one folder.
 *
 * Nothing is written outside of the root, whatever the archive says: a path is taken apart and walked step by step,
 * links being followed as in a chroot; a file is always a new one, so that nothing is written through a link. What comes
 * of it is what containerd with overlayfs shows.
 */
export class RootBuilder {
  readonly #root: string;
  readonly #signal: AbortSignal;
  readonly #meter: UnpackMeter;
  readonly #paths: RootPaths;
  readonly #writer: EntryWriter;
  /** Of the layer at hand. */
  #fresh: FreshPaths;

  constructor({ root, privileged, limits, signal }: RootBuilderOptions) {
    this.#root = root;
    this.#signal = signal;
    this.#meter = new UnpackMeter(limits, root);
    this.#writer = new EntryWriter({ root, privileged, meter: this.#meter, signal });
    this.#paths = new RootPaths(root, (path) => this.#fresh.has(path));
    this.#fresh = new FreshPaths(root);
  }

  /** Puts one layer over what is there. */
  async addLayer(entries: AsyncIterable<TarEntry>): Promise<void> {
    this.#fresh = new FreshPaths(this.#root);
    this.#paths.forget();
    let restAtMs = performance.now() + SLICE_MS;
    for await (const entry of entries) {
      if (performance.now() >= restAtMs) {
        await nextTurn();
        restAtMs = performance.now() + SLICE_MS;
      }
      this.#signal.throwIfAborted();
      this.#meter.addEntry(entry.size);
      try {
        await this.#add(entry);
      } catch (error) {
        this.#signal.throwIfAborted();
        throw explain(error, entry);
      }
    }
  }

  /** To be called after the last layer. */
  async finish(): Promise<UnpackReport> {
    for (const [path, mtime] of this.#writer.folderTimes) {
      // It may have been removed meanwhile, and a link may stand where the way to it was.
      const parts = splitEntryPath(path.slice(this.#root.length));
      const folder = await this.#paths.findFolder(parts, { make: false });
      if (folder === path) await utimes(path, mtime, mtime);
    }
    return this.#writer.report;
  }

  async #add(entry: TarEntry): Promise<void> {
    assertOwner(entry);
    const parts = splitEntryPath(entry.name);
    const name = parts.pop();
    if (name === undefined) {
      if (entry.kind !== 'folder') throw new Error('the root of an image is a folder');
      await this.#writer.setFacts(this.#root, entry);
      return;
    }
    if (name.startsWith(WHITEOUT)) {
      await this.#whiteOut(parts, name);
      return;
    }
    const folder = (await this.#paths.findFolder(parts, { make: true }))!;
    const path = join(folder, name);
    const made = await this.#place(entry, path);
    this.#fresh.add(path);
    if (entry.kind === 'folder') this.#paths.note([...parts, name], path);
    if (made) await this.#writer.setFacts(path, entry);
    await this.#writer.addAttributes(entry, path);
  }

  /** Makes it in the place of what is there. False where nothing was made whose mode, owner and times are to be set. */
  async #place(entry: TarEntry, path: string): Promise<boolean> {
    // Nearly always nothing is there, and asking first would cost as much as making it.
    if (entry.kind === 'file' || entry.kind === 'folder' || entry.kind === 'symlink') {
      const made = await this.#make(entry, path, undefined).catch(ignorePresence);
      if (made !== undefined) return made;
    }
    const old = await lstat(path).catch(ignoreAbsence);
    // Check the target of a hard link before anything is removed.
    const keeps = entry.kind === 'link' || (entry.kind === 'folder' && old?.isDirectory() === true);
    if (old !== undefined && !keeps) await this.#remove(path, old);
    return this.#make(entry, path, old);
  }

  async #make(entry: TarEntry, path: string, old: Stats | undefined): Promise<boolean> {
    switch (entry.kind) {
      case 'folder':
        if (old?.isDirectory() !== true) await mkdir(path, 0o700);
        return true;
      case 'file':
        await this.#writer.writeFile(entry, path);
        return false;
      case 'symlink':
        if (entry.linkName === '' || entry.linkName.includes('\0'))
          throw new Error('a link has to lead somewhere');
        await symlink(entry.linkName, path);
        return true;
      case 'link':
        await this.#makeHardLink(entry, path, old);
        return false;
      case 'fifo':
      case 'character':
      case 'block':
        return this.#writer.makeSpecial(entry, path);
    }
  }

  async #makeHardLink(entry: TarEntry, path: string, old: Stats | undefined): Promise<void> {
    const parts = splitEntryPath(entry.linkName);
    const name = parts.pop();
    const folder = await this.#paths.findFolder(parts, { make: false });
    const target = name === undefined || folder === undefined ? undefined : join(folder, name);
    const facts = target === undefined ? undefined : await lstat(target).catch(ignoreAbsence);
    if (target === undefined || facts === undefined || facts.isDirectory())
      throw new Error(`it is a hard link to "${entry.linkName.slice(0, 200)}", and there is no such file`);
    if (old?.ino === facts.ino) return;
    if (old !== undefined) await this.#remove(path, old);
    // It is the link itself that is linked to, should the target be one.
    await link(target, path);
  }

  /** `.wh.NAME` removes what lower layers have of that name, `.wh..wh..opq` all that they have in the folder. */
  async #whiteOut(parts: readonly string[], name: string): Promise<void> {
    // A folder that is not there is made, as containerd does.
    const folder = (await this.#paths.findFolder(parts, { make: true }))!;
    if (name === OPAQUE) {
      for (const child of await readdir(folder)) await this.#removeOld(join(folder, child));
      return;
    }
    // Other names of this kind are notes of file systems of old.
    if (name.startsWith(WHITEOUT + WHITEOUT)) return;
    const hidden = name.slice(WHITEOUT.length);
    if (hidden === '' || hidden === '.' || hidden === '..') throw new Error('it removes no file');
    await this.#removeOld(join(folder, hidden));
  }

  /** Removes what an earlier layer brought, and keeps what is of this one. */
  async #removeOld(path: string): Promise<void> {
    const facts = await lstat(path).catch(ignoreAbsence);
    if (facts === undefined) return;
    const isFolder = facts.isDirectory();
    // A folder that this layer has only filled, without an entry of its own, stays with what is new in it.
    if (isFolder && (this.#fresh.has(path) || this.#fresh.hasBelow(path))) await this.#removeOldBelow(path);
    else if (!this.#fresh.has(path)) await this.#remove(path, facts);
  }

  async #removeOldBelow(folder: string): Promise<void> {
    for (const child of await readdir(folder)) await this.#removeOld(join(folder, child));
  }

  async #remove(path: string, facts: Stats): Promise<void> {
    if (facts.isDirectory()) await rm(path, { recursive: true });
    else await unlink(path);
    if (facts.isDirectory() || facts.isSymbolicLink()) this.#paths.forget();
  }
}

function explain(error: unknown, { name }: TarEntry): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (typeof code === 'number') return error;
  if (isFull(error)) return diskIsFull();
  // Node's messages name paths of this machine, which mean nothing to the client.
  return refused(`the layer's entry "${name.slice(0, 200)}" cannot be unpacked: ${code ?? message}`);
}

/** What one layer has brought so far: its whiteouts are for what was there before, wherever they stand in it. */
class FreshPaths {
  readonly #root: string;
  readonly #paths = new Set<string>();
  /** All folders above those, up to the root. */
  readonly #folders = new Set<string>();

  /** `root` is the folder that all paths are below. */
  constructor(root: string) {
    this.#root = root;
  }

  add(path: string): void {
    this.#paths.add(path);
    for (let folder = dirname(path); folder.length > this.#root.length; folder = dirname(folder)) {
      if (this.#folders.has(folder)) return;
      this.#folders.add(folder);
    }
  }

  /** Whether the layer has an entry for this very path. */
  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /** Whether the layer has an entry for something below this folder. */
  hasBelow(folder: string): boolean {
    return this.#folders.has(folder);
  }
}
