import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';

/** The path of a program in the first of the folders, with colons between them, that has it; undefined when none has. */
export async function findProgram(name: string, folders: string): Promise<string | undefined> {
  for (const folder of folders.split(':')) {
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}
