import { readFile } from 'node:fs/promises';

/** A line of /proc/PID/mountinfo, as far as it is of use here; see proc_pid_mountinfo(5). */
export interface MountEntry {
  readonly mountPoint: string;
  /** Whether mounts that are made here appear in its peers, and the other way round. */
  readonly shared: boolean;
  /** Whether mounts that are made in its master appear here. */
  readonly slave: boolean;
  /** `ro`, `nosuid`, `nodev`, `noexec`, `nosymfollow` as far as they are set: what a remount must repeat. */
  readonly restrictions: readonly string[];
  /** Such as `ext4`, `tmpfs`. */
  readonly fsType: string;
}

/** The same with its place among the others. */
export interface NumberedMount extends MountEntry {
  readonly id: number;
  /** The id of the mount that it lies on. */
  readonly parentId: number;
}

const RESTRICTIONS = ['ro', 'nosuid', 'nodev', 'noexec', 'nosymfollow'];

/** Reads the text of a mountinfo file, in the order of mounting. */
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

/** The mount that a path without links is on; the one mounted last when there are several on top of each other. */
export function findMountOf<T extends MountEntry>(mounts: readonly T[], path: string): T | undefined {
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

/** Whether a path is another one, or below it. */
export function isBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above.endsWith('/') ? above : `${above}/`);
}

/** A field of a mountinfo file as it is: blanks and the like stand as `\040` there. */
export function unescapeField(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** What is mounted at a place, and where on its file system that is; see proc_pid_mountinfo(5). */
export interface MountOrigin {
  readonly mountPoint: string;
  /** `major:minor` of the file system. */
  readonly device: string;
  /** The path of what is mounted, from the root of its file system. */
  readonly root: string;
  readonly isReadOnly: boolean;
  readonly fsType: string;
}

/** Reads the text of a mountinfo file for where mounts come from, in the order of mounting. */
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
      };
    });
}

/** Where something of a file system is in another table of mounts: undefined where it is not to be reached. */
export function pathOfOrigin(
  mounts: readonly MountOrigin[],
  { device, root }: Pick<MountOrigin, 'device' | 'root'>,
): string | undefined {
  const above = mounts.find((mount) => mount.device === device && isBelow(root, mount.root));
  if (above === undefined) return undefined;
  const rest = above.root === '/' ? root : root.slice(above.root.length);
  return `${above.mountPoint === '/' ? '' : above.mountPoint}${rest === '/' ? '' : rest}` || '/';
}
