/**
 * Parts of volumes, mounted where nobody but the agent can change the way to them.
 *
 * In: where a volume is, and a path in it that a container may write to while we look. Out: a path of ours at which just
 * that file or folder is mounted, for the runtime to bind. What was looked at and what is mounted are the same, as
 * both go by one open handle: to bind the path itself would let a container swap it for a link to the node's files.
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

/** What {@link SubPathMounts} is made of. */
export interface SubPathMountsOptions {
  readonly mounter: Pick<Mounter, 'bindDescriptor' | 'unmount'>;
  /** The node's mounts as of now. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  /** Volumes may be on file servers, which may be gone. */
  readonly looks: BoundedLooks;
}

/** One part of a volume for one mount of a container. */
export interface SubPathMount {
  /** Where the volume is on the node. */
  readonly volumePath: string;
  /** Relative, without `..`. */
  readonly subPath: string;
  /** Where the part is to be mounted: without links, and below the pod's own folder. */
  readonly target: string;
}

/** What a new folder has of its volume's mode: in that of a tmpfs only owners remove, and the group stays; setuid says nothing. */
const NEW_MODE_BITS = 0o3777;

/** See the module. */
export class SubPathMounts {
  readonly #options: SubPathMountsOptions;

  constructor(options: SubPathMountsOptions) {
    this.#options = options;
  }

  /**
   * Mounts the part anew, whatever was mounted at the target for an earlier start of the container. Folders that the
   * volume does not have are made, with the volume's own mode.
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

  /** Nothing of an earlier start is left at the target, neither mounted nor there. */
  async #clear(target: string): Promise<void> {
    const { mounter, readMounts } = this.#options;
    for (const { mountPoint } of await readMounts()) if (mountPoint === target) await mounter.unmount(target);
    await removeTarget(target);
  }
}

/** Removes what something is mounted on: an empty file or folder. What is not empty is none of ours. */
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
