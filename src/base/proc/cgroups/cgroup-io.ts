import { readFileSync } from 'node:fs';
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { systemCodeOf } from '../../errors/system-code.js';

/** File operations on the trees of cgroups, which tests replace by a plain folder. */
export interface CgroupIo {
  /**
   * Reads a control file; undefined if it does not exist, as the group or the controller is missing.
   *
   * Synchronous: the kernel answers from memory within about 20 µs, which is less than a turn of the event
   * loop costs.
   */
  read(path: string): string | undefined;
  /** Writes a control file in one piece. The file must exist: a missing kernel feature is an ENOENT. */
  write(path: string, text: string): Promise<void>;
  /** Creates one group; EEXIST if it exists. */
  makeGroup(path: string): Promise<void>;
  /** Removes one group; EBUSY as long as it has processes or groups, ENOENT if it is gone. */
  removeGroup(path: string): Promise<void>;
  /** The names of the groups below one; none if it is gone. */
  children(path: string): Promise<readonly string[]>;
}

/** The kernel's own trees, wherever they are mounted. */
export const KERNEL_CGROUPS: CgroupIo = {
  read(path) {
    try {
      // The encoding that Node reads in a single step.
      return readFileSync(path, 'utf8');
    } catch (error) {
      // ENODEV and EOPNOTSUPP: the file exists, but not for this group.
      if (['ENOENT', 'ENODEV', 'ENOTSUP', 'EOPNOTSUPP'].includes(systemCodeOf(error))) return undefined;
      throw error;
    }
  },
  // Without O_CREAT and O_TRUNC, as only the kernel creates a group's files.
  write: (path, text) => writeFile(path, text, { flag: 'r+' }),
  makeGroup: (path) => mkdir(path, { mode: 0o755 }),
  removeGroup: (path) => rmdir(path),
  async children(path) {
    try {
      const entries = await readdir(path, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    } catch (error) {
      // ENODEV: the group vanished during the read.
      if (['ENOENT', 'ENODEV'].includes(systemCodeOf(error))) return [];
      throw error;
    }
  },
};
