import { refused } from '../../rpc-error.js';
import { splitPath } from '../path-in-root.js';

const MAX_PATH_BYTES = 4_000;
const MAX_NAME_BYTES = 255;

/**
 * The parts of a path in an archive, relative to the root; none for the root itself.
 *
 * A leading slash and `.` mean nothing. Throws UNKNOWN for `..`: no image needs it, and what it would mean depends on
 * who reads it; and for names that no file system takes.
 */
export function splitEntryPath(path: string): string[] {
  const parts = splitPath(path);
  const refuse = (why: string) => refused(`the archive has an entry "${path.slice(0, 200)}": ${why}`);
  if (parts.includes('..')) throw refuse('".." leads out of the root');
  if (path.includes('\0')) throw refuse('its name has a byte of zero');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw refuse(`it is longer than ${MAX_PATH_BYTES} bytes`);
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES))
    throw refuse(`a part of it is longer than ${MAX_NAME_BYTES} bytes`);
  return parts;
}
