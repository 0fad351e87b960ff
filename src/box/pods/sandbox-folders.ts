import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { ContainerFiles } from '../container/container-files.js';
import { containerRecordFile, type ContainerRecord } from '../container/container-record.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { syncPath } from '#base/fs/whole-file.js';
import { readSandboxRecord, Sandbox } from './sandbox.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What {@link PodFolders} needs. */
export interface PodFoldersOptions {
  readonly rootDir: string;
  readonly bootId: string;
  /** Path of the program. */
  readonly mkfifo: string;
  readonly logger: Logger;
}

/** A folder that is being made or unmade; what is found under this name after a crash is thrown away. */
const UNFINISHED = '.unfinished-';

/**
 * The folders of sandboxes and containers on the disk.
 *
 * ```
 * ROOT/sandboxes/ID/     sandbox.json (sandbox-stopped.json of a stopped one), the holder's record, files for /etc
 * ROOT/containers/ID/    container.json, scripts, and what the supervisor writes
 * ```
 */
export class PodFolders {
  readonly #options: PodFoldersOptions;

  constructor(options: PodFoldersOptions) {
    this.#options = options;
  }

  sandboxDir(id: string): string {
    return join(this.#options.rootDir, 'sandboxes', id);
  }

  containerFiles(id: string): ContainerFiles {
    const { rootDir } = this.#options;
    return new ContainerFiles(join(rootDir, 'containers', id), rootDir);
  }

  /** The ids of all that there is, readable or not. What was not finished is thrown away first. */
  async list(): Promise<{ sandboxIds: readonly string[]; containerIds: readonly string[] }> {
    const { rootDir } = this.#options;
    return {
      sandboxIds: await listFinished(join(rootDir, 'sandboxes')),
      containerIds: await listFinished(join(rootDir, 'containers')),
    };
  }

  /** Undefined when it has no record, and then nothing was made of it, or one that cannot be read. */
  async readSandbox(id: string): Promise<Sandbox | undefined> {
    const { bootId, logger } = this.#options;
    const dir = this.sandboxDir(id);
    try {
      const isFolder = (await stat(dir)).isDirectory();
      const record = isFolder ? await readSandboxRecord(dir) : undefined;
      if (record === undefined) {
        await rm(dir, { recursive: true, force: true });
        return undefined;
      }
      const sandbox = new Sandbox({ record, dir, bootId });
      await sandbox.restore();
      return sandbox;
    } catch (error) {
      logger.error('Sandbox record not readable, left alone', error, { path: dir });
      return undefined;
    }
  }

  /** Undefined when the record cannot be read. */
  async readContainer(id: string): Promise<ContainerRecord | undefined> {
    const { dir, recordPath } = this.containerFiles(id);
    try {
      const record = await containerRecordFile(recordPath).read();
      if (record === undefined) throw new Error('there is no record');
      return record;
    } catch (error) {
      this.#options.logger.error('Container record not readable, left alone', error, { path: dir });
      return undefined;
    }
  }

  /**
   * Makes the folder of a container. It appears whole: made under another name, brought to the disk, renamed.
   *
   * @param pipes which pipes it needs; here and not in the supervisor, so that the start waits for no process more.
   */
  async writeContainer(
    record: ContainerRecord,
    pipes: Parameters<ContainerFiles['makePipes']>[1],
  ): Promise<void> {
    const { dir } = this.containerFiles(record.id);
    const draft = new ContainerFiles(unfinished(dir));
    try {
      await mkdir(draft.dir, { mode: 0o700 });
      await draft.makePipes(this.#options.mkfifo, pipes);
      await draft.reserveExit();
      await containerRecordFile(draft.recordPath).write(record);
      await rename(draft.dir, dir);
      await syncPath(dirname(dir));
    } catch (error) {
      await rm(draft.dir, { recursive: true, force: true });
      throw error;
    }
  }

  /** Removes a folder. The rename is the moment of removal; what follows may be cut short by a crash. */
  async remove(dir: string): Promise<void> {
    await rename(dir, unfinished(dir)).catch((error: unknown) => {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    });
    await rm(unfinished(dir), { recursive: true, force: true });
  }
}

function unfinished(dir: string): string {
  return join(dirname(dir), `${UNFINISHED}${basename(dir)}`);
}

async function listFinished(folder: string): Promise<readonly string[]> {
  await makeFolder(folder, 0o700);
  const names = await readdir(folder);
  for (const name of names) {
    if (name.startsWith(UNFINISHED)) await rm(join(folder, name), { recursive: true, force: true });
  }
  return names.filter((name) => !name.startsWith(UNFINISHED));
}
