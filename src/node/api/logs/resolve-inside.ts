import { readlink } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';

/** As many as the kernel follows. */
const MOST_LINKS = 40;

/**
 * Where names below a folder lead, link by link, as names below it without a link; undefined when that is not below it.
 *
 * Nothing outside of the folder is touched, not even to see whether it is there: what a link leads to may be of a file
 * server that is gone, and never answer. `roots`: the folder's own path without links, then others that are known for it.
 */
export async function resolveInside(
  roots: readonly [string, ...string[]],
  names: readonly string[],
): Promise<string[] | undefined> {
  const todo = [...names];
  let place: string[] = [];
  for (let links = 0; todo.length > 0;) {
    const name = todo.shift()!;
    const target = await readlink(join(roots[0], ...place, name)).catch(ignoreNoLink);
    if (target === undefined) {
      place.push(name);
      continue;
    }
    const inside = namesBelow(roots, resolve(roots[0], ...place, target));
    if (inside === undefined || ++links > MOST_LINKS) return undefined;
    place = [];
    todo.unshift(...inside);
  }
  return place;
}

function namesBelow(roots: readonly string[], path: string): string[] | undefined {
  for (const root of roots) {
    const names = relative(root, path)
      .split(sep)
      .filter((name) => name !== '');
    if (names[0] !== '..') return names;
  }
  return undefined;
}

/** What is no link, or is not there, is found out by whoever opens it. */
function ignoreNoLink(error: NodeJS.ErrnoException): undefined {
  if (!['EINVAL', 'ENOENT', 'ENOTDIR', 'EACCES'].includes(error.code ?? '')) throw error;
}
