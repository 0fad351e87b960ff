import { readFileSync } from 'node:fs';
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { systemCodeOf } from '../../errors/system-code.js';

/** What is done to the trees of cgroups. The kernel answers; tests put a folder in its place. */
export interface CgroupIo {
  /**
   * The text of a control file; undefined when there is none, for want of the group or of the controller.
   *
   * Synchronous: the kernel answers from memory within some 20 µs, which is less than a turn of the event loop costs.
   */
  read(path: string): string | undefined;
  /** Writes a control file in one piece. It must exist: what the kernel does not offer is an ENOENT. */
  write(path: string, text: string): Promise<void>;
  /** Makes one group; EEXIST when it is there. */
  makeGroup(path: string): Promise<void>;
  /** Removes one group; EBUSY as long as it has processes or groups, ENOENT when it is gone. */
  removeGroup(path: string): Promise<void>;
  /** The names of the groups below one; none when it is gone. */
  children(path: string): Promise<readonly string[]>;
}

/** The kernel's own trees, wherever they are mounted. */
export const KERNEL_CGROUPS: CgroupIo = {
  read(path) {
    try {
      // Of all encodings, the one that Node reads in a single step.
      return readFileSync(path, 'utf8');
    } catch (error) {
      // ENODEV and EOPNOTSUPP: the file is there, but not for this group.
      if (['ENOENT', 'ENODEV', 'ENOTSUP', 'EOPNOTSUPP'].includes(systemCodeOf(error))) return undefined;
      throw error;
    }
  },
  // Without O_CREAT and O_TRUNC: a group's files are the kernel's to make.
  write: (path, text) => writeFile(path, text, { flag: 'r+' }),
  makeGroup: (path) => mkdir(path, { mode: 0o755 }),
  removeGroup: (path) => rmdir(path),
  async children(path) {
    try {
      const entries = await readdir(path, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    } catch (error) {
      // ENODEV: it goes while it is read.
      if (['ENOENT', 'ENODEV'].includes(systemCodeOf(error))) return [];
      throw error;
    }
  },
};
