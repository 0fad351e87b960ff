import { isBelow, type MountEntry } from '#base/proc/mountinfo.js';
import {
  type BindManner,
  type Mounter,
  type TmpfsMount,
  type UnmountManner,
} from '../../../src/node/volumes/mounter.js';

/** A node's table of mounts that nothing is behind: what is mounted is in it, and what is unmounted is not. */
export class FakeMounts implements Mounter {
  /** In the order of mounting. */
  entries: MountEntry[] = [];
  /** What was asked for, one line each. */
  readonly calls: string[] = [];
  /** Places that are in use. */
  readonly busy = new Set<string>();
  /** Every tmpfs as it was asked for. */
  readonly tmpfs: TmpfsMount[] = [];

  readonly read = (): Promise<readonly MountEntry[]> => Promise.resolve([...this.entries]);

  /** Somebody mounts something. */
  add(mountPoint: string, fsType = 'tmpfs'): void {
    this.entries.push({ mountPoint, fsType, shared: false, slave: false, restrictions: [] });
  }

  mountTmpfs(mount: TmpfsMount): Promise<void> {
    this.calls.push(`mount ${mount.folder}`);
    this.tmpfs.push(mount);
    this.add(mount.folder);
    return Promise.resolve();
  }

  bindDescriptor(
    _: number,
    path: string,
    { recursive = false, slave = false }: BindManner = {},
  ): Promise<void> {
    this.calls.push(`${recursive ? 'rbind' : 'bind'} ${path}${slave ? ' as slave' : ''}`);
    this.add(path, 'ext4');
    return Promise.resolve();
  }

  makeSlave(path: string): Promise<void> {
    this.calls.push(`make slave ${path}`);
    this.entries = this.entries.map((entry) =>
      isBelow(entry.mountPoint, path) ? { ...entry, shared: false, slave: true } : entry,
    );
    return Promise.resolve();
  }

  unmount(path: string, { lazily = false }: UnmountManner = {}): Promise<void> {
    this.calls.push(`unmount ${path}${lazily ? ' lazily' : ''}`);
    if (this.busy.has(path) && !lazily) return Promise.reject(new Error('umount failed: target is busy'));
    const at = this.entries.findLastIndex(({ mountPoint }) => mountPoint === path);
    if (at === -1) return Promise.reject(new Error('umount failed: not mounted'));
    this.entries.splice(at, 1);
    return Promise.resolve();
  }
}
