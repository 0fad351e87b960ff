import { systemCodeOf } from '../errors/system-code.js';

/** A full disk or one without inodes, and a used-up quota. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
/** Also a disk that is mounted read-only, and one that fails. */
const UNWRITABLE: ReadonlySet<string> = new Set([...FULL, 'EROFS', 'EIO']);

/** Whether an error, or its cause, says that there is no room on a disk. */
export function isFull(error: unknown): boolean {
  return hasCode(error, FULL);
}

/** Whether a write failed because of its disk, by the error or its cause; that may be mended while this process runs. */
export function isUnwritable(error: unknown): boolean {
  return hasCode(error, UNWRITABLE);
}

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  if (codes.has(systemCodeOf(error))) return true;
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  return cause !== undefined && hasCode(cause, codes);
}
