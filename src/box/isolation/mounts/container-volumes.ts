import { realpath, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { MountPropagation, type Mount } from '#watch/messages';
import { invalidArgument, refused, unimplemented } from '../../rpc-error.js';
import {
  findMountOf,
  isBelow,
  parseMountinfo,
  readOwnMountinfo,
  type NumberedMount,
} from '#base/proc/mountinfo.js';
import { isPlainDevice } from './devices.js';
import { resolveInRoot } from '../../images/path-in-root.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/** Something of the host that a container sees at a path of its own. */
export interface Volume {
  /** Absolute, without links. */
  readonly source: string;
  /** Absolute and normal; see findLinkFreePath for what links of the container's own files make of it. */
  readonly target: string;
  readonly folder: boolean;
  readonly readonly: boolean;
  readonly propagation: 'rprivate' | 'rslave' | 'rshared';
  /** What must stay set when something else is set, such as read-only: `nosuid` and the like. */
  readonly restrictions: readonly string[];
  /** Whether it is a device that every container has anyway. */
  readonly plainDevice: boolean;
  /** Whether what is mounted below the source becomes read-only, too. */
  readonly readonlyBelow: boolean;
}

const PROPAGATIONS: Partial<Record<MountPropagation, Volume['propagation']>> = {
  [MountPropagation.PROPAGATION_PRIVATE]: 'rprivate',
  [MountPropagation.PROPAGATION_HOST_TO_CONTAINER]: 'rslave',
  [MountPropagation.PROPAGATION_BIDIRECTIONAL]: 'rshared',
};

/** Throws INVALID_ARGUMENT or UNIMPLEMENTED for a mount that cannot be, whatever the host has. */
export function checkMount(mount: Mount): void {
  const { containerPath, hostPath, readonly, recursiveReadOnly } = mount;
  if (containerPath.includes('\0') || hostPath.includes('\0'))
    throw invalidArgument('a mount path holds a NUL byte');
  if (!containerPath.startsWith('/') || posix.normalize(containerPath) === '/') {
    throw invalidArgument(`container_path "${containerPath}" of a mount is not a place below /`);
  }
  if (isImageVolume(mount)) {
    checkImageVolume(mount);
    return;
  }
  if (!hostPath.startsWith('/')) throw invalidArgument(`host_path "${hostPath}" of a mount is not absolute`);
  if (mount.uidMappings.length + mount.gidMappings.length > 0)
    throw unimplemented(`${NOT}: mounts with mapped ids`);
  if (PROPAGATIONS[mount.propagation] === undefined) {
    throw invalidArgument(`unknown propagation ${mount.propagation} of a mount`);
  }
  if (recursiveReadOnly && (!readonly || mount.propagation !== MountPropagation.PROPAGATION_PRIVATE)) {
    throw invalidArgument('recursive_read_only needs readonly and private propagation');
  }
  if (isBelow(normalTarget(containerPath), '/proc')) {
    throw refused(`"${containerPath}" cannot be mounted, as it is inside of /proc`);
  }
}

/** Whether an image is to be mounted and not something of the host. */
export function isImageVolume({ image }: Mount): boolean {
  return image !== undefined && image.image !== '';
}

function checkImageVolume({ hostPath, readonly, imageSubPath, propagation, containerPath }: Mount): void {
  if (hostPath !== '') throw invalidArgument('a mount has both an image and a host_path');
  if (!readonly) throw invalidArgument(`the image volume at "${containerPath}" must be readonly`);
  if (propagation !== MountPropagation.PROPAGATION_PRIVATE) {
    throw invalidArgument('an image volume has private propagation');
  }
  if (imageSubPath.startsWith('/') || imageSubPath.split('/').includes('..') || imageSubPath.includes('\0')) {
    throw invalidArgument(`image_sub_path "${imageSubPath}" is not a path below the image's root`);
  }
}

const NOT = 'not supported by the embedded runtime';

/**
 * Finds what the mounts of a request mean on this host, in the order in which they are to be made. Folders that do
 * not exist are made. Throws UNKNOWN for a propagation that the source does not allow.
 *
 * @param imageFolders where the files of image volumes are, by the mount's place in the list.
 */
export async function findVolumes(
  mounts: readonly Mount[],
  imageFolders: ReadonlyMap<number, string>,
): Promise<readonly Volume[]> {
  if (mounts.length === 0) return [];
  const table = parseMountinfo(await readOwnMountinfo());
  const volumes = await Promise.all(
    mounts.map((mount, at) => {
      const folder = imageFolders.get(at);
      return folder === undefined ? findVolume(mount, table) : findImageVolume(mount, folder);
    }),
  );
  // Later ones for the same target hide earlier ones anyway.
  const last = new Map(volumes.map((volume) => [volume.target, volume]));
  return inOrderOfDepth([...last.values()]);
}

/** Those on which others may lie first. */
export function inOrderOfDepth(volumes: readonly Volume[]): readonly Volume[] {
  const depth = ({ target }: Volume) => target.split('/').length;
  return volumes.toSorted((a, b) => depth(a) - depth(b));
}

async function findVolume(mount: Mount, table: readonly NumberedMount[]): Promise<Volume> {
  const source = await resolveSource(mount.hostPath);
  const propagation = PROPAGATIONS[mount.propagation] ?? 'rprivate';
  const on = findMountOf(table, source);
  const fits =
    propagation === 'rprivate' || on?.shared === true || (propagation === 'rslave' && on?.slave === true);
  if (!fits) {
    const wanted = propagation === 'rslave' ? 'shared or slave' : 'shared';
    throw refused(
      `path "${source}" is mounted on "${on?.mountPoint ?? '/'}" but it is not a ${wanted} mount`,
    );
  }
  const facts = await stat(source);
  return {
    source,
    target: normalTarget(mount.containerPath),
    folder: facts.isDirectory(),
    readonly: mount.readonly,
    propagation,
    restrictions: on?.restrictions ?? [],
    plainDevice: isPlainDevice(source, facts, on?.fsType),
    readonlyBelow: mount.recursiveReadOnly,
  };
}

/** The path on the host of what an image volume shows; throws UNKNOWN when the image does not have it. */
export async function resolveImagePath({ image, imageSubPath }: Mount, folder: string): Promise<string> {
  const path = await resolveInRoot(folder, imageSubPath);
  if (path === undefined) throw refused(`image "${image?.image ?? ''}" has no "${imageSubPath}"`);
  return path;
}

async function findImageVolume(mount: Mount, folder: string): Promise<Volume> {
  const source = await resolveImagePath(mount, folder);
  return {
    source,
    target: normalTarget(mount.containerPath),
    folder: (await stat(source)).isDirectory(),
    readonly: true,
    propagation: 'rprivate',
    restrictions: ['nodev'],
    plainDevice: false,
    readonlyBelow: false,
  };
}

async function resolveSource(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
  await makeFolder(path, 0o755);
  return realpath(path);
}

function normalTarget(path: string): string {
  return posix.normalize(path).replace(/\/$/, '');
}
