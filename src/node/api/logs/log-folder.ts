/**
 * The log files of one container, without a way out of its folder.
 *
 * ```
 * LOGS/<namespace>_<name>_<uid>/<container>/0.log                   what the runtime writes to
 * LOGS/<namespace>_<name>_<uid>/<container>/0.log.20260102-030405   rotated, later ….gz
 * ```
 *
 * Pods that ship logs may write here, so no link is followed, from the pod's folder on. Each step is opened
 * relative to the one before, so that nobody can replace a checked folder by a link.
 *
 * @module
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { goDown, isNoFolder } from '#base/fs/link-free-folder.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** A file of a log. */
export interface LogFile {
  readonly name: string;
  readonly isCompressed: boolean;
}

/** An open folder of logs. */
export class LogFolder implements AsyncDisposable {
  readonly #folder: FileHandle;

  /**
   * `path`: names of folders below `podLogsDir`. Undefined when a folder is missing, or a link is in the way.
   */
  static async open(podLogsDir: string, path: readonly string[]): Promise<LogFolder | undefined> {
    const names = path.map(plain);
    try {
      return new LogFolder(await goDown(await open(podLogsDir, O_RDONLY | O_DIRECTORY), names));
    } catch (error) {
      if (isNoFolder(error)) return undefined;
      throw error;
    }
  }

  private constructor(folder: FileHandle) {
    this.#folder = folder;
  }

  /** A path for watching it. */
  get path(): string {
    return pathOfHandle(this.#folder);
  }

  /** The files of the log `name`, oldest first; the current one is the last. */
  async list(name: string): Promise<LogFile[]> {
    const names = (await readdir(this.path)).filter((each) => each.startsWith(`${name}.`));
    const rotated = names
      // A file that is being compressed still exists unchanged; a compressed one is about to be removed.
      .filter((each) => !each.endsWith('.tmp') && !names.includes(`${each}.gz`))
      .sort()
      .map((each) => ({ name: each, isCompressed: each.endsWith('.gz') }));
    return [...rotated, { name, isCompressed: false }];
  }

  /** Undefined when it is missing, a link, or no file. */
  async openFile(name: string): Promise<FileHandle | undefined> {
    let file: FileHandle | undefined;
    try {
      // Without O_NONBLOCK, a pipe in its place would hang the reader.
      file = await open(join(this.path, plain(name)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      if ((await file.stat()).isFile()) return file;
      await file.close();
      return undefined;
    } catch (error) {
      await file?.close();
      if (isNoFolder(error)) return undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.close();
  }
}

function plain(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) {
    throw new Error(`${JSON.stringify(name)} is no name of a file`);
  }
  return name;
}
