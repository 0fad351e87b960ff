import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Where shared memory is on Linux. */
const HOST_SHM = '/dev/shm';

/**
 * The /dev/shm of pods: a folder each in the host's own, so that the containers of a pod share it although none of
 * them has a mount that another one could see.
 */
export class SandboxShm {
  readonly #folder: string;
  readonly #usable: boolean;

  private constructor(folder: string, usable: boolean) {
    this.#folder = folder;
    this.#usable = usable;
  }

  /** @param rootDir the runtime's root: no two runtimes have the same folder. */
  static async open(rootDir: string): Promise<SandboxShm> {
    const mark = createHash('sha256').update(rootDir).digest('hex').slice(0, 12);
    const usable = await stat(HOST_SHM).then(
      (facts) => facts.isDirectory(),
      () => false,
    );
    return new SandboxShm(join(HOST_SHM, `.podloop-${mark}`), usable);
  }

  /** Undefined where the host has none: containers get one of their own then. */
  async make(sandboxId: string): Promise<void> {
    if (!this.#usable) return;
    await mkdir(this.#pathOf(sandboxId), { recursive: true, mode: 0o700 });
    await chmod(this.#pathOf(sandboxId), 0o1777);
  }

  async find(sandboxId: string): Promise<string | undefined> {
    const path = this.#pathOf(sandboxId);
    return stat(path).then(
      () => path,
      () => undefined,
    );
  }

  async remove(sandboxId: string): Promise<void> {
    await rm(this.#pathOf(sandboxId), { recursive: true, force: true });
    // Only when it is empty.
    await rmdir(this.#folder).catch(() => undefined);
  }

  /** Removes what belongs to none of these sandboxes. */
  async prune(live: ReadonlySet<string>): Promise<void> {
    for (const id of await readdir(this.#folder).catch(() => [])) if (!live.has(id)) await this.remove(id);
  }

  #pathOf(sandboxId: string): string {
    return join(this.#folder, sandboxId);
  }
}
