import { join } from 'node:path';
import { systemCodeOf } from '#base/errors/system-code.js';
import { chmod, lstat, mkdir, readlink, unlink } from './archive/blocking-files.js';
import { MAX_LINKS, splitPath } from './path-in-root.js';

const MAX_CACHED = 50_000;

/**
 * Finds folders in a root that is being unpacked, following links as a process would whose `/` this root is: a link
 * leads to a place inside of the root, whatever it says.
 *
 * It asks the disk what is there before each step, so nobody else may write to the root meanwhile.
 */
export class RootPaths {
  readonly #root: string;
  readonly #isFresh: (path: string) => boolean;
  /** Real paths by the parts as they were asked for, of folders only: found to be filled, … */
  readonly #made = new Map<string, string>();
  /** … and found as they are, which may be through a link that would have to give way to a folder. */
  readonly #found = new Map<string, string>();

  /** `isFresh` says of a path whether the layer at hand has brought it. */
  constructor(root: string, isFresh: (path: string) => boolean) {
    this.#root = root;
    this.#isFresh = isFresh;
  }

  /** Forgets what was found: to be called after a folder or a link was removed, and before each layer. */
  forget(): void {
    this.#made.clear();
    this.#found.clear();
  }

  /** Notes a folder that was just made: `parts` lead to no link. */
  note(parts: readonly string[], path: string): void {
    if (this.#made.size < MAX_CACHED) this.#made.set(parts.join('/'), path);
  }

  /**
   * The real path of a folder, absolute. Without `make`, it is undefined when it is not there.
   *
   * With `make`, folders that are not there are made, 0755. What a lower layer has on the way that is no folder, links
   * too, gives way to one: with overlayfs each layer is unpacked by itself, and a folder hides what is below. It throws
   * when the layer itself has brought something that is in the way, or links that go round in a circle.
   */
  async findFolder(parts: readonly string[], { make }: { make: boolean }): Promise<string | undefined> {
    const key = parts.join('/');
    const known = this.#made.get(key) ?? (make ? undefined : this.#found.get(key));
    if (known !== undefined) return known;
    const found = await this.#walk(parts, make);
    const cache = make ? this.#made : this.#found;
    if (found !== undefined && cache.size < MAX_CACHED) cache.set(key, found);
    return found;
  }

  /** The longest beginning of the parts that is known. */
  #findKnown(parts: readonly string[]): { readonly path: string; readonly length: number } {
    for (let length = parts.length - 1; length > 0; length--) {
      const path = this.#made.get(parts.slice(0, length).join('/'));
      if (path !== undefined) return { path, length };
    }
    return { path: this.#root, length: 0 };
  }

  async #walk(parts: readonly string[], make: boolean): Promise<string | undefined> {
    const { path: known, length } = this.#findKnown(parts);
    const left = parts.slice(length).reverse();
    // The real parts so far: never a link among them, never a `..`.
    let at = splitPath(known.slice(this.#root.length));
    let links = 0;
    for (let part = left.pop(); part !== undefined; part = left.pop()) {
      if (part === '..') {
        at.pop();
        continue;
      }
      const path = join(this.#root, ...at, part);
      let facts = await lstat(path).catch(ignoreAbsence);
      if (make && facts?.isDirectory() === false && !this.#isFresh(path)) {
        await unlink(path);
        this.forget();
        facts = undefined;
      }
      if (facts === undefined) {
        if (!make) return undefined;
        await mkdir(path);
        // What this process masks has no say in it.
        await chmod(path, 0o755);
        at.push(part);
      } else if (facts.isDirectory()) at.push(part);
      else if (facts.isSymbolicLink()) {
        if (++links > MAX_LINKS) {
          if (make) throw new Error(`links go round in a circle at "${parts.join('/')}"`);
          return undefined;
        }
        const target = await readlink(path);
        if (target.startsWith('/')) at = [];
        left.push(...splitPath(target).reverse());
      } else if (make)
        throw new Error(`"${[...at, part].join('/')}" is no folder, but has to hold something`);
      else return undefined;
    }
    return join(this.#root, ...at);
  }
}

/** For `catch`: what is not there is undefined, any other error goes on. */
export function ignoreAbsence(error: unknown): undefined {
  const code = systemCodeOf(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}

/** For `catch`: what is already there is undefined, any other error goes on. */
export function ignorePresence(error: unknown): undefined {
  if (systemCodeOf(error) !== 'EEXIST') throw error;
}
