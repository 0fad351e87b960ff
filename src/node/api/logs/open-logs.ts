import { type FileHandle, open } from 'node:fs/promises';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { type LogFile, type LogFolder } from './log-folder.js';

/** A found file of a log: by its name, or held open if its name is about to change. */
interface FoundFile extends LogFile {
  readonly held?: FileHandle;
}

/** Limit for open files; more are read by their names, as a pod that ships logs may put any number there. */
const MAX_OPEN = 8;

/**
 * The files of a log at one moment, so that a slow reader finds in each what it was then.
 *
 * Uncompressed files stay open, as they may be compressed, and the log rotated once more, before the reader
 * gets there.
 */
export class OpenLogs implements AsyncDisposable {
  readonly #folder: LogFolder;
  readonly #rotated: readonly FoundFile[];
  #current: FileHandle | undefined;

  /** Opens those of the log `name`. */
  static async open(folder: LogFolder, name: string): Promise<OpenLogs> {
    // First: what is rotated from here on is already open, and is not found a second time.
    const current = await folder.openFile(name);
    const held: FileHandle[] = current === undefined ? [] : [current];
    try {
      const ino = (await current?.stat())?.ino;
      const rotated: FoundFile[] = [];
      for (const found of (await folder.list(name)).slice(0, -1).reverse()) {
        if (found.isCompressed || held.length > MAX_OPEN) {
          rotated.unshift(found);
          continue;
        }
        const file = await folder.openFile(found.name);
        // Compressed since it was listed, if it exists at all.
        if (file === undefined) {
          rotated.unshift({ name: `${found.name}.gz`, isCompressed: true });
          continue;
        }
        held.push(file);
        if ((await file.stat()).ino === ino) await held.pop()!.close();
        else rotated.unshift({ ...found, held: file });
      }
      return new OpenLogs(folder, rotated, current);
    } catch (error) {
      for (const file of held) await file.close();
      throw error;
    }
  }

  private constructor(folder: LogFolder, rotated: readonly FoundFile[], current: FileHandle | undefined) {
    this.#folder = folder;
    this.#rotated = rotated;
    this.#current = current;
  }

  /** The rotated files, oldest first. */
  get rotated(): readonly LogFile[] {
    return this.#rotated;
  }

  /** The current file; undefined if there is none. */
  get current(): FileHandle | undefined {
    return this.#current;
  }

  /** The current file, which the caller has to close from now on. */
  takeCurrent(): FileHandle | undefined {
    const current = this.#current;
    this.#current = undefined;
    return current;
  }

  /** Opens one of {@link rotated}, for the caller to close; undefined when it is gone, or is no file. */
  async openRotated(file: FoundFile): Promise<FileHandle | undefined> {
    return file.held === undefined ? this.#folder.openFile(file.name) : open(pathOfHandle(file.held));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.takeCurrent()?.close();
    for (const { held } of this.#rotated) await held?.close();
  }
}
