import { readFile } from 'node:fs/promises';

/** The fields of a line in /proc/PID/mountinfo that are used here; see proc_pid_mountinfo(5). */
export interface MountEntry {
  readonly mountPoint: string;
  /** Whether mounts made here appear in its peers, and vice versa. */
  readonly shared: boolean;
  /** Whether mounts made in its master appear here. */
  readonly slave: boolean;
  /** `ro`, `nosuid`, `nodev`, `noexec`, `nosymfollow` if they are set: a remount must repeat them. */
  readonly restrictions: readonly string[];
  /** For example `ext4` or `tmpfs`. */
  readonly fsType: string;
}

/** A mount entry with its ids. */
export interface NumberedMount extends MountEntry {
  readonly id: number;
  /** The id of its parent mount. */
  readonly parentId: number;
}

const RESTRICTIONS = ['ro', 'nosuid', 'nodev', 'noexec', 'nosymfollow'];

/** Parses the text of a mountinfo file, in the order of mounting. */
export function parseMountinfo(text: string): readonly NumberedMount[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const fields = line.split(' ');
      const separator = fields.indexOf('-', 6);
      const tags = fields.slice(6, separator);
      return {
        id: Number(fields[0]),
        parentId: Number(fields[1]),
        mountPoint: unescapeField(fields[4] ?? ''),
        shared: tags.some((tag) => tag.startsWith('shared:')),
        restrictions: (fields[5] ?? '').split(',').filter((option) => RESTRICTIONS.includes(option)),
        slave: tags.some((tag) => tag.startsWith('master:')),
        fsType: fields[separator + 1] ?? '',
      };
    });
}

/** The mount that contains a path without links; the one mounted last if several are on top of each other. */
export function findMountOf<T extends Pick<MountEntry, 'mountPoint'>>(
  mounts: readonly T[],
  path: string,
): T | undefined {
  let best: T | undefined;
  for (const mount of mounts) {
    if (!isBelow(path, mount.mountPoint)) continue;
    if (best === undefined || mount.mountPoint.length >= best.mountPoint.length) best = mount;
  }
  return best;
}

/** The first mount at a folder without links, or below it. */
export function findMountBelow(mounts: readonly MountEntry[], folder: string): MountEntry | undefined {
  return mounts.find(({ mountPoint }) => isBelow(mountPoint, folder));
}

/** The text of this process's own table of mounts. */
export function readOwnMountinfo(): Promise<string> {
  return readFile('/proc/self/mountinfo', 'utf8');
}

/** This process's own table of mounts, in the order of mounting. */
export async function readOwnMounts(): Promise<readonly MountEntry[]> {
  return parseMountinfo(await readOwnMountinfo());
}

/** Whether a path equals another one, or is below it. */
export function isBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above.endsWith('/') ? above : `${above}/`);
}

/** Decodes a field of a mountinfo file, in which blanks and the like are written as `\040`. */
export function unescapeField(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** The origin of a mount: which part of which file system it shows; see proc_pid_mountinfo(5). */
export interface MountOrigin {
  readonly mountPoint: string;
  /** `major:minor` of the file system. */
  readonly device: string;
  /** The path of the mounted part, from the root of its file system. */
  readonly root: string;
  readonly isReadOnly: boolean;
  readonly fsType: string;
  /** What was mounted: a device, `server:/path` of NFS, or a word. */
  readonly source: string;
  /** Those of the file system itself, which all its mounts share. */
  readonly superOptions: readonly string[];
}

/** Parses the origins of mounts from the text of a mountinfo file, in the order of mounting. */
export function parseMountOrigins(text: string): readonly MountOrigin[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const fields = line.split(' ');
      const separator = fields.indexOf('-', 6);
      return {
        mountPoint: unescapeField(fields[4] ?? ''),
        device: fields[2] ?? '',
        root: unescapeField(fields[3] ?? ''),
        isReadOnly: (fields[5] ?? '').split(',').includes('ro'),
        fsType: fields[separator + 1] ?? '',
        source: unescapeField(fields[separator + 2] ?? ''),
        superOptions: (fields[separator + 3] ?? '').split(','),
      };
    });
}

/** Whether nothing can be written to the file system, whatever its mounts say. */
export function isFileSystemReadOnly(mount: Pick<MountOrigin, 'superOptions'>): boolean {
  return mount.superOptions.includes('ro') || isFileSystemClosed(mount);
}

/** Whether the kernel says that it has closed the file system for writing after an error; older ones do not say so. */
export function isFileSystemClosed({ superOptions }: Pick<MountOrigin, 'superOptions'>): boolean {
  return superOptions.includes('emergency_ro') || superOptions.includes('shutdown');
}

/** The path of a part of a file system in another table of mounts; undefined if it is not reachable there. */
export function pathOfOrigin(
  mounts: readonly MountOrigin[],
  { device, root }: Pick<MountOrigin, 'device' | 'root'>,
): string | undefined {
  const above = mounts.find((mount) => mount.device === device && isBelow(root, mount.root));
  if (above === undefined) return undefined;
  const rest = above.root === '/' ? root : root.slice(above.root.length);
  return `${above.mountPoint === '/' ? '' : above.mountPoint}${rest === '/' ? '' : rest}` || '/';
}
