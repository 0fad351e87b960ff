import { execFile } from 'node:child_process';
import { truncate, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Whether {@link makeDisk} and {@link mountDisk} work here: they take root and mkfs.ext4. */
export async function canMakeDisks(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  return await run('mkfs.ext4', ['-V']).then(
    () => true,
    () => false,
  );
}

/** Makes a file with an empty ext4 of so many bytes in it. */
export async function makeDisk(file: string, bytes: number): Promise<void> {
  await writeFile(file, '');
  await truncate(file, bytes);
  await run('mkfs.ext4', ['-q', '-F', file]);
}

/** Mounts it by a loop device. @param options more of mount(8)'s */
export async function mountDisk(
  file: string,
  folder: string,
  options: readonly string[] = [],
): Promise<void> {
  await run('mount', ['-o', ['loop', ...options].join(','), file, folder]);
}
