import { open } from 'node:fs/promises';

/** Writes until there is no room for a byte more. */
export async function fillDisk(path: string): Promise<void> {
  await using file = await open(path, 'w');
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) await file.write(Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
