import { readdir } from 'node:fs/promises';

/** The names in a folder, in no order; none when it does not exist. Rejects with the system's error otherwise. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
