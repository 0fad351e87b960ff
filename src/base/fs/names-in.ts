import { readdir } from 'node:fs/promises';
import { systemCodeOf } from '../errors/system-code.js';

/** The names in a folder, unordered; none if it does not exist. Rejects with the system's error otherwise. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
