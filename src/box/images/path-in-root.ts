import { constants } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';

/** As many as Linux follows. */
export const MAX_LINKS = 40;
const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK } = constants;
/** Linux: names a file without opening it, so that nothing happens to devices and pipes. */
const O_PATH = 0o10000000;

/**
 * Finds what a process whose `/` the root is would find at a path, and names it without opening it: the handle, which
 * the caller closes, is good for `stat` and as /proc/self/fd/N. Undefined when nothing is there.
 *
 * Each step is taken from what is already opened, and never through a link: it cannot be led out of the root, not even
 * by somebody who changes the root meanwhile.
 */
export async function openPathInRoot(root: string, path: string): Promise<FileHandle | undefined> {
  const left = splitPath(path).reverse();
  const opened = [await open(root, O_RDONLY | O_DIRECTORY)];
  let links = 0;
  try {
    for (let part = left.pop(); part !== undefined; part = left.pop()) {
      if (part === '..') {
        if (opened.length > 1) await opened.pop()!.close();
        continue;
      }
      const at = `/proc/self/fd/${opened.at(-1)!.fd}/${part}`;
      const target = await readlink(at).catch(() => undefined);
      if (target === undefined) {
        const kind = left.length > 0 ? O_DIRECTORY : 0;
        const next = await open(at, O_PATH | O_NOFOLLOW | kind).catch(() => undefined);
        if (next === undefined) return undefined;
        opened.push(next);
        continue;
      }
      if (++links > MAX_LINKS) return undefined;
      if (target.startsWith('/')) for (const each of opened.splice(1)) await each.close();
      left.push(...splitPath(target).reverse());
    }
    return opened.pop();
  } finally {
    for (const each of opened) await each.close();
  }
}

/** The path on the host of what a path in a root means; undefined when nothing is there. */
export async function resolveInRoot(root: string, path: string): Promise<string | undefined> {
  const file = await openPathInRoot(root, path);
  if (file === undefined) return undefined;
  try {
    return await readlink(`/proc/self/fd/${file.fd}`);
  } finally {
    await file.close();
  }
}

/**
 * Opens a file in a root for reading, as {@link openPathInRoot} finds it; undefined when it is not there or is no file.
 * Devices and pipes are not opened: to open some of them does something already.
 */
export async function openFileInRoot(root: string, path: string): Promise<FileHandle | undefined> {
  const found = await openPathInRoot(root, path);
  if (found === undefined) return undefined;
  try {
    if (!(await found.stat()).isFile()) return undefined;
    return await open(`/proc/self/fd/${found.fd}`, O_RDONLY | O_NONBLOCK).catch(() => undefined);
  } finally {
    await found.close();
  }
}

/** The parts of a path; `..` is one of them, what says nothing is not. */
export function splitPath(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}
