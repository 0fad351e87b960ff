import { systemCodeOf } from '../errors/system-code.js';

/** A full disk or one without inodes, a used-up quota, a disk that is mounted read-only, one that fails. */
const UNWRITABLE: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO']);

/** Whether a write failed because of its disk, which may be mended while this process runs. */
export function isUnwritable(error: unknown): boolean {
  return UNWRITABLE.has(systemCodeOf(error));
}
