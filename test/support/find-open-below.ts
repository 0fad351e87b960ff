import { readdir, readlink } from 'node:fs/promises';

/**
 * What this process has open of a folder and of all below it, by its paths. For folders of one test: what others have
 * open is not in there.
 */
export async function findOpenBelow(folder: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((each) => readlink(`/proc/self/fd/${each}`).catch(() => '')),
  );
  return targets.filter((target) => target === folder || target.startsWith(`${folder}/`));
}
