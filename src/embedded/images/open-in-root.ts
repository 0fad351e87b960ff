import { constants } from 'node:fs';
import { lstat, open, readlink, type FileHandle } from 'node:fs/promises';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const MAX_LINKS = 40;

/**
 * Opens a file in a root for reading, links being followed as by a process whose `/` this root is; undefined when it is
 * not there or is no file.
 *
 * Each step is taken from a folder that is already open, and never through a link: it cannot be led out of the root, not
 * even by somebody who changes the root meanwhile.
 */
export async function openInRoot(root: string, path: string): Promise<FileHandle | undefined> {
  const left = splitPath(path).reverse();
  const folders: FileHandle[] = [await open(root, O_RDONLY | O_DIRECTORY)];
  try {
    let links = 0;
    for (let part = left.pop(); part !== undefined; part = left.pop()) {
      if (part === '..') {
        if (folders.length > 1) await folders.pop()!.close();
        continue;
      }
      const at = `/proc/self/fd/${folders.at(-1)!.fd}/${part}`;
      const facts = await lstat(at).catch(() => undefined);
      // An image may have a device of that name, and opening some of them does something already.
      if (facts === undefined || !(facts.isFile() || facts.isDirectory() || facts.isSymbolicLink()))
        return undefined;
      if (facts.isSymbolicLink()) {
        const target = await readlink(at).catch(() => undefined);
        if (target === undefined || ++links > MAX_LINKS) return undefined;
        if (target.startsWith('/')) for (const folder of folders.splice(1)) await folder.close();
        left.push(...splitPath(target).reverse());
        continue;
      }
      const last = left.length === 0;
      const next = await open(at, O_RDONLY | O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY)).catch(
        () => undefined,
      );
      if (next === undefined) return undefined;
      if (last && (await next.stat()).isFile()) return next;
      folders.push(next);
    }
    return undefined;
  } finally {
    for (const folder of folders) await folder.close();
  }
}

function splitPath(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}
