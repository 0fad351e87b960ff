import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { ignoreAbsence } from './root-paths.js';
import { runTool } from './run-tool.js';

/**
 * A folder for what is not finished yet and for what is not wanted any more. Nothing in it outlives the next start.
 *
 * Things leave their place at once, by a rename. They are removed soon after, by a process that is not this one: a
 * container may leave trees that are deeper than a path can be long.
 */
export class Trash {
  readonly #folder: string;
  readonly #logger: Logger;
  #waiting: string[] = [];
  #removing: Promise<void> | undefined;

  private constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  static async open(folder: string, logger: Logger): Promise<Trash> {
    const isNew = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
    if (isNew) await spreadFolders(folder);
    const trash = new Trash(folder, logger);
    trash.#remove((await readdir(folder)).map((name) => join(folder, name)));
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
    if (moved === true) this.#remove([grave]);
  }

  /** Resolves once everything discarded so far is removed. */
  async empty(): Promise<void> {
    await this.#removing;
  }

  #remove(paths: readonly string[]): void {
    this.#waiting.push(...paths);
    if (paths.length > 0) this.#removing ??= this.#removeWaiting();
  }

  async #removeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const paths = this.#waiting.splice(0, MAX_AT_ONCE);
      try {
        // Without root, folders that a container has closed cannot be read.
        await removeTrees(paths).catch(() =>
          runTool('chmod', ['-R', 'u+rwX', '--', ...paths]).then(() => removeTrees(paths)),
        );
      } catch (error) {
        this.#logger.warn('Something is left that is not wanted any more', { paths, err: messageOf(error) });
      }
    }
    // Here and not when the promise settles: what comes in between would stay.
    this.#removing = undefined;
  }
}

/**
 * Lets ext4 put each folder that is made in this one somewhere else on the disk. Beside what was removed within the last minutes it
 * looks at each of those files whenever one is made, so that an image is unpacked ten times as slowly. Others have no such mark.
 * Source: chattr(1), attribute T; `recently_deleted` in fs/ext4/ialloc.c.
 */
async function spreadFolders(folder: string): Promise<void> {
  await runTool('chattr', ['+T', folder]).catch(() => undefined);
}

/** A command line has room for many more. */
const MAX_AT_ONCE = 100;

function removeTrees(paths: readonly string[]): Promise<void> {
  return runTool('rm', ['-rf', '--one-file-system', '--', ...paths]);
}
