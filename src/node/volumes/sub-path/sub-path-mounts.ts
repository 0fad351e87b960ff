/**
 * Subpaths of volumes, and volumes that containers can swap, mounted where only the agent can change the path
 * to them.
 *
 * In: a volume, and a path in it that a container may change at any moment. Out: an owned path at which
 * exactly that file or folder is mounted, for the runtime to bind. The check and the mount use the same
 * open handle, so they concern the same file. Binding the path itself would let a container swap it for a
 * link to the node's files.
 *
 * It assumes one caller at a time for each pod.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath
 *
 * @module
 */
import { type FileHandle, lstat, mkdir, readlink, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isBelow, type MountEntry } from '#base/proc/mountinfo.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type BoundedLooks } from '../bounded-looks.js';
import { type Mounter } from '../mounter.js';
import { type OpenedPlace, openBelow } from '#base/fs/open-below.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** Options of {@link SubPathMounts}. */
export interface SubPathMountsOptions {
  readonly mounter: Pick<Mounter, 'bindDescriptor' | 'makeSlave' | 'unmount'>;
  /** Reads the node's present mounts. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  /** Volumes may be on file servers that are gone. */
  readonly looks: BoundedLooks;
}

/** Opens a volume that containers can swap; rejects if that would lead elsewhere. */
export type OpenVolume = () => Promise<OpenedPlace>;

/** One subpath of a volume for one mount of a container. */
export interface SubPathMount {
  /** Where the volume is on the node, or how it is opened. */
  readonly volume: string | OpenVolume;
  /** Relative, without `..`. */
  readonly subPath: string;
  /** Where to mount the subpath: without links, and below the pod's own folder. */
  readonly target: string;
}

/** A whole volume for one mount of a container. */
export interface WholeMount {
  readonly open: OpenVolume;
  /** What the container mounts in it appears in the original, too. */
  readonly isBidirectional: boolean;
  /** Where to mount the volume: without links, and below the pod's own folder. */
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
  async mount({ volume, subPath, target }: SubPathMount): Promise<void> {
    await using place = await this.#openPart(volume, subPath);
    await this.#clear(target);
    await makeTarget(target, place);
    await this.#options.mounter.bindDescriptor(place.handle.fd, target);
  }

  /** Likewise for a whole volume, with what is mounted below it. */
  async mountWhole({ open, isBidirectional, target }: WholeMount): Promise<void> {
    const { mounter } = this.#options;
    await using place = await open();
    await unmountTree(target, this.#options);
    await removeTarget(target);
    await makeTarget(target, place);
    await mounter.bindDescriptor(place.handle.fd, target, { recursive: true, slave: !isBidirectional });
  }

  async #openPart(volume: string | OpenVolume, subPath: string): Promise<OpenedPlace> {
    const { looks } = this.#options;
    const close = ({ handle }: OpenedPlace): void => void handle.close().catch(() => undefined);
    if (typeof volume === 'string') {
      const path = join(volume, subPath);
      return looks.run(path, async () => openPart(volume, subPath, (await stat(volume)).mode), close);
    }
    await using whole = await volume();
    const path = join(await readlink(pathOfHandle(whole.handle)), subPath);
    // Before the volume is closed.
    return await looks.run(path, async () => openPart(whole.handle, subPath, whole.facts.mode), close);
  }

  /** Removes everything of an earlier start at the target: mount and file. */
  async #clear(target: string): Promise<void> {
    const { mounter, readMounts } = this.#options;
    for (const { mountPoint } of await readMounts()) if (mountPoint === target) await mounter.unmount(target);
    await removeTarget(target);
  }
}

function openPart(volume: string | FileHandle, subPath: string, mode: number): Promise<OpenedPlace> {
  return openBelow(volume, subPath, mode & NEW_MODE_BITS);
}

/**
 * Unmounts what is mounted at a copy of a volume and below it, nowhere else: until the copy is a slave, what is
 * unmounted in it is unmounted in the original, too.
 */
export async function unmountTree(
  target: string,
  { mounter, readMounts }: Pick<SubPathMountsOptions, 'mounter' | 'readMounts'>,
  unmount: (mount: MountEntry) => Promise<void> = ({ mountPoint }) => mounter.unmount(mountPoint),
): Promise<void> {
  const mounts = (await readMounts()).filter(({ mountPoint }) => isBelow(mountPoint, target));
  if (mounts.some(({ shared }) => shared)) await mounter.makeSlave(target);
  // Later mounts are on top of or inside earlier ones.
  for (const mount of mounts.reverse()) await unmount(mount);
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
  await makeFolder(dirname(target), 0o750);
  if (facts.isDirectory()) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, '', { flag: 'wx', mode: 0o640 });
}
