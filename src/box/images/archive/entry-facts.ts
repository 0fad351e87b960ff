import { type TarEntry } from '#base/wire/tar/tar-entry.js';

/** The last second of the year 9999; file systems keep less or as much. */
const LAST_TIME = 253_402_300_799;
/** The highest number means that an owner is left as it is. */
const MAX_ID = 0xffff_fffe;

/** Throws unless the owner and the group of an entry can be those of a file. */
export function assertOwner({ uid, gid }: TarEntry): void {
  for (const id of [uid, gid])
    if (!Number.isInteger(id) || id < 0 || id > MAX_ID) throw new Error(`it has the impossible owner ${id}`);
}

/** The mode that its file gets. Without root nothing is setuid, and the owner can read everything: there is only one. */
export function toMode({ kind, mode }: TarEntry, privileged: boolean): number {
  if (privileged) return mode;
  return (mode & 0o1777) | (kind === 'folder' ? 0o700 : 0o400);
}

/** The time that its file gets, in seconds since the epoch. */
export function toTime({ mtime }: TarEntry): number {
  return Math.min(Math.max(mtime, 0), LAST_TIME);
}
