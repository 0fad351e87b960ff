import { dirname } from 'node:path';

/** What one layer has brought so far: its whiteouts are for what was there before, wherever they stand in it. */
export class FreshPaths {
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
