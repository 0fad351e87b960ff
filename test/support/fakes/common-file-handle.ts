import { type FileHandle, open } from 'node:fs/promises';

/** What all open files of this process have in common: a test that spies on it has a disk fail behind an `open`. */
export async function commonFileHandle(): Promise<Pick<FileHandle, 'stat' | 'sync'>> {
  await using file = await open('/dev/null');
  return Object.getPrototypeOf(file) as FileHandle;
}
