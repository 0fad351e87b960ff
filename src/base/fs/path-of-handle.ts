import { type FileHandle } from 'node:fs/promises';

/**
 * A path to an open file or folder that is valid while it is open, whatever has taken its place:
 * proc_pid_fd(5).
 */
export function pathOfHandle({ fd }: Pick<FileHandle, 'fd'>): string {
  return `/proc/self/fd/${fd}`;
}
