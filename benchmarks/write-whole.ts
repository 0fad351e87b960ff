import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Replaces a file whose next reader comes whenever this run is ended; readable for all, unlike an agent's own files. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}
