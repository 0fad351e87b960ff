/**
 * Subpaths of volumes, mounted where only the agent can change the path to them.
 *
 * In: the path of a volume, and a path in it that a container may change at any moment. Out: an owned path at
 * which exactly that file or folder is mounted, for the runtime to bind. The check and the mount use the same
 * open handle, so they concern the same file. Binding the path itself would let a container swap it for a
 * link to the node's files.
 *
 * It assumes one caller at a time for each pod.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath
 *
 * @module
 */
import { lstat, mkdir, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type MountEntry } from '#base/proc/mountinfo.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type BoundedLooks } from '../bounded-looks.js';
import { type Mounter } from '../mounter.js';
import { type OpenedPlace, openBelow } from '#base/fs/open-below.js';

/** Options of {@link SubPathMounts}. */
export interface SubPathMountsOptions {
  readonly mounter: Pick<Mounter, 'bindDescriptor' | 'unmount'>;
  /** Reads the node's present mounts. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  /** Volumes may be on file servers that are gone. */
  readonly looks: BoundedLooks;
}

/** One subpath of a volume for one mount of a container. */
export interface SubPathMount {
  /** Where the volume is on the node. */
  readonly volumePath: string;
  /** Relative, without `..`. */
  readonly subPath: string;
  /** Where to mount the subpath: without links, and below the pod's own folder. */
  readonly target: string;
}

/**
 * The bits of the volume's mode that a new folder gets.
 *
 * In that of a tmpfs only owners remove, and the group stays; setuid has no meaning.
 */
const NEW_MODE_BITS = 0o3777;

/** See the module. */
export class SubPathMounts {
  readonly #options: SubPathMountsOptions;

  constructor(options: SubPathMountsOptions) {
    this.#options = options;
  }

  /**
   * Mounts the subpath again, whatever was mounted at the target for an earlier start of the container.
   *
   * Missing folders are created with the volume's own mode.
   */
  async mount({ volumePath, subPath, target }: SubPathMount): Promise<void> {
    const close = ({ handle }: OpenedPlace): void => void handle.close().catch(() => undefined);
    await using place = await this.#options.looks.run(
      join(volumePath, subPath),
      async () => this.#open(volumePath, subPath),
      close,
    );
    await this.#clear(target);
    await makeTarget(target, place);
    await this.#options.mounter.bindDescriptor(place.handle.fd, target);
  }

  async #open(volumePath: string, subPath: string): Promise<OpenedPlace> {
    const { mode } = await stat(volumePath);
    return openBelow(volumePath, subPath, mode & NEW_MODE_BITS);
  }

  /** Removes everything of an earlier start at the target: mount and file. */
  async #clear(target: string): Promise<void> {
    const { mounter, readMounts } = this.#options;
    for (const { mountPoint } of await readMounts()) if (mountPoint === target) await mounter.unmount(target);
    await removeTarget(target);
  }
}

/** Removes a mount point: an empty file or folder. Anything else does not belong to the agent. */
export async function removeTarget(target: string): Promise<void> {
  try {
    if ((await lstat(target)).isDirectory()) await rmdir(target);
    else await unlink(target);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
}

async function makeTarget(target: string, { facts }: OpenedPlace): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  if (facts.isDirectory()) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, '', { flag: 'wx', mode: 0o640 });
}
