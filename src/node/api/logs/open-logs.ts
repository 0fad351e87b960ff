import { type FileHandle, open } from 'node:fs/promises';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { type LogFile, type LogFolder } from './log-folder.js';

/** A file of a log as it was found: by its name, or held open where its name is about to change. */
interface FoundFile extends LogFile {
  readonly held?: FileHandle;
}

/** More are read by their names: a pod that ships logs may have put there as many as it likes. */
const MOST_HELD = 8;

/**
 * The files of a log at one moment. A reader who takes his time finds in each what it was then: what is not compressed
 * yet is held open, as it may be compressed, and the log be rotated once more, before he comes to it.
 */
export class OpenLogs implements AsyncDisposable {
  readonly #folder: LogFolder;
  readonly #rotated: readonly FoundFile[];
  #current: FileHandle | undefined;

  /** Those of the log `name`. */
  static async open(folder: LogFolder, name: string): Promise<OpenLogs> {
    // First: what is rotated from here on has been held already, and is not found a second time.
    const current = await folder.openFile(name);
    const held: FileHandle[] = current === undefined ? [] : [current];
    try {
      const ino = (await current?.stat())?.ino;
      const rotated: FoundFile[] = [];
      for (const found of (await folder.list(name)).slice(0, -1).reverse()) {
        if (found.isCompressed || held.length > MOST_HELD) {
          rotated.unshift(found);
          continue;
        }
        const file = await folder.openFile(found.name);
        // Compressed since it was listed, if it is there at all.
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

  /** What it was rotated into, oldest first. */
  get rotated(): readonly LogFile[] {
    return this.#rotated;
  }

  /** The file that is written to; undefined where there is none. */
  get current(): FileHandle | undefined {
    return this.#current;
  }

  /** The file that is written to, to be closed by the caller from now on. */
  takeCurrent(): FileHandle | undefined {
    const current = this.#current;
    this.#current = undefined;
    return current;
  }

  /** Opens one of {@link rotated}, for the caller to close; undefined where it is gone, or is no file. */
  async openRotated(file: FoundFile): Promise<FileHandle | undefined> {
    return file.held === undefined ? this.#folder.openFile(file.name) : open(pathOfHandle(file.held));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.takeCurrent()?.close();
    for (const { held } of this.#rotated) await held?.close();
  }
}
