import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger } from '../../util/logger.js';
import { ignoreAbsence } from './root-paths.js';
import { runTool } from './run-tool.js';

/**
 * A folder for what is not finished yet and for what is not wanted any more. Nothing in it outlives the next start.
 *
 * Things leave their place at once, by a rename, and are removed one after another, by a process of its own: a container
 * may leave trees that are deeper than a path can be long.
 */
export class Trash {
  readonly #folder: string;
  readonly #logger: Logger;
  #removing: Promise<void> = Promise.resolve();

  private constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  static async open(folder: string, logger: Logger): Promise<Trash> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const trash = new Trash(folder, logger);
    for (const name of await readdir(folder)) trash.#remove(join(folder, name));
    return trash;
  }

  /** A new empty folder, to be renamed away when it is finished, or thrown away. */
  async makeFolder(): Promise<string> {
    const path = join(this.#folder, randomUUID());
    await mkdir(path, { mode: 0o700 });
    return path;
  }

  /** Takes a file or folder from its place; one that is not there is none. It is removed soon after. */
  async discard(path: string): Promise<void> {
    const grave = join(this.#folder, randomUUID());
    const moved = await rename(path, grave).then(() => true, ignoreAbsence);
    if (moved === true) this.#remove(grave);
  }

  /** Resolves once everything discarded so far is removed. */
  async empty(): Promise<void> {
    await this.#removing;
  }

  #remove(path: string): void {
    this.#removing = this.#removing.then(async () => {
      try {
        // Whoever is not root cannot look into folders that a container has closed.
        await removeTree(path).catch(() =>
          runTool('chmod', ['-R', 'u+rwX', '--', path]).then(() => removeTree(path)),
        );
      } catch (error) {
        this.#logger.warn('Something is left that is not wanted any more', { path, err: String(error) });
      }
    });
  }
}

function removeTree(path: string): Promise<void> {
  return runTool('rm', ['-rf', '--one-file-system', '--', path]);
}
