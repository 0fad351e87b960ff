import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes until there is no room for a byte more. */
export async function fillDisk(path: string): Promise<void> {
  await using file = await open(path, 'a');
  for (const size of [65_536, 4_096, 1]) {
    await untilFull(async () => void (await file.write(Buffer.alloc(size))));
  }
}

/** Makes files in a folder until no inode is left. */
export async function useUpInodes(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  let count = 0;
  await untilFull(async () => {
    await using _ = await open(join(folder, `${process.hrtime.bigint()}-${count++}`), 'wx');
  });
}

/** Does something again and again until the disk refuses it. */
async function untilFull(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}
