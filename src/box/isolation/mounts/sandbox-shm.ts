import { readdir, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCodeOf } from '#base/errors/system-code.js';
import { isFull } from '#base/fs/disk-errors.js';
import { runTool } from '../../images/run-tool.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What a pod's containers may share in memory, as with other runtimes. */
const SIZE_KIB = 64 * 1024;
/** As on a host, and with no way to run or be anything from there. */
const OPTIONS = `mode=1777,size=${SIZE_KIB}k,nosuid,nodev,noexec`;

/**
 * The /dev/shm of pods: a tmpfs each, below the runtime's root, where nobody but root can go. The containers of a pod
 * bind it, so that they share it; no other user of the host and no other pod has a path to it.
 */
export class SandboxShm {
  readonly #folder: string;

  /** @param rootDir the runtime's root. */
  constructor(rootDir: string) {
    this.#folder = join(rootDir, 'shm');
  }

  /** Mounts a pod's. On a full disk there is none, and each container gets one of its own. Idempotent. */
  async make(sandboxId: string): Promise<void> {
    const path = this.#pathOf(sandboxId);
    try {
      await makeFolder(path, 0o700);
    } catch (error) {
      if (isFull(error)) return;
      throw error;
    }
    if (!(await isMount(path))) await runTool('mount', ['-t', 'tmpfs', '-o', OPTIONS, 'shm', path]);
  }

  /** Undefined where there is none: a folder that nothing is mounted at, as after a reboot, is none. */
  async find(sandboxId: string): Promise<string | undefined> {
    const path = this.#pathOf(sandboxId);
    return (await isMount(path)) ? path : undefined;
  }

  /** Takes it away, with all that is in it. Idempotent. */
  async remove(sandboxId: string): Promise<void> {
    const path = this.#pathOf(sandboxId);
    // Should somebody have a file of it open by this path, it goes with the last of them.
    while (await isMount(path)) await runTool('umount', ['-l', path]);
    await rmdir(path).catch(ignoreAbsence);
  }

  /** Removes what belongs to none of these sandboxes. */
  async prune(live: ReadonlySet<string>): Promise<void> {
    for (const id of await readdir(this.#folder).catch(() => [])) if (!live.has(id)) await this.remove(id);
  }

  #pathOf(sandboxId: string): string {
    return join(this.#folder, sandboxId);
  }
}

/** Whether a folder is on another file system than the one around it. False when it does not exist. */
async function isMount(path: string): Promise<boolean> {
  try {
    const [own, around] = await Promise.all([stat(path), stat(dirname(path))]);
    return own.dev !== around.dev;
  } catch (error) {
    ignoreAbsence(error);
    return false;
  }
}

function ignoreAbsence(error: unknown): void {
  if (systemCodeOf(error) !== 'ENOENT') throw error;
}
