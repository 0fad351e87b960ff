import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { splitPath } from '../../images/path-in-root.js';
import { refused } from '../../rpc-error.js';
import { findLinkFreePath } from './link-free-path.js';
import { API_FOLDERS, type BoundFile } from './mount-plan.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { SANDBOX_FILES, sandboxFilePath } from './sandbox-files.js';
import { type Volume } from './container-volumes.js';

/**
 * Puts the pod's files for /etc where the container will see them, as an image may have links there. Throws UNKNOWN
 * where an image leaves no place for them: an /etc that is a file, or a link into /proc.
 *
 * @param roots the container's files, the uppermost first.
 */
export async function placeSandboxFiles(
  sandboxDir: string,
  roots: readonly string[],
  volumes: readonly Volume[],
): Promise<readonly BoundFile[]> {
  const targets = volumes.map(({ target }) => target);
  return Promise.all(
    SANDBOX_FILES.map(async (file) => {
      const path = `/etc/${file}`;
      const target = await findLinkFreePath(roots, path, [...API_FOLDERS, ...targets]);
      if (!targets.some((volume) => isBelow(target, volume))) await checkPlace(path, target, roots);
      return { source: sandboxFilePath(sandboxDir, file), target };
    }),
  );
}

/**
 * Throws UNKNOWN for an image in which something else than a folder stands where file systems of our own are mounted: a
 * link there would lead the mount elsewhere.
 *
 * @param roots the image's files, the uppermost first.
 */
export async function checkApiFolders(roots: readonly string[]): Promise<void> {
  for (const folder of API_FOLDERS)
    if ((await findIsFolder(roots, folder)) === false)
      throw refused(
        `"${folder}" must be mounted on an ordinary directory, and is something else in the image`,
      );
}

async function checkPlace(path: string, target: string, roots: readonly string[]): Promise<void> {
  if (API_FOLDERS.some((folder) => isBelow(target, folder)))
    throw refused(`"${path}" has no place in the image, whose links lead to ${target}`);
  const parts = splitPath(target);
  for (let depth = 1; depth <= parts.length; depth++) {
    const at = `/${parts.slice(0, depth).join('/')}`;
    const isFolder = await findIsFolder(roots, at);
    if (isFolder === undefined) return;
    if (depth < parts.length && !isFolder)
      throw refused(`"${path}" has no place in the image, where ${at} is no folder`);
    if (depth === parts.length && isFolder)
      throw refused(`"${path}" has no place in the image, where ${at} is a folder`);
  }
}

/** Undefined for what is not there. */
async function findIsFolder(roots: readonly string[], path: string): Promise<boolean | undefined> {
  for (const root of roots) {
    const facts = await lstat(join(root, path)).catch(() => undefined);
    if (facts !== undefined) return facts.isDirectory();
  }
  return undefined;
}
