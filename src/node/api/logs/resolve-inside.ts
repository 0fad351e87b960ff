import { readlink } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';

/** The kernel's limit. */
const MAX_LINKS = 40;

/**
 * Resolves names below a folder link by link, to names below it without a link; undefined when they lead out
 * of it.
 *
 * Nothing outside of the folder is accessed, not even to check whether it exists: a link may lead to a file
 * server that is gone and never answers. `roots`: the folder's own path without links, then other known ones.
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
    if (inside === undefined || ++links > MAX_LINKS) return undefined;
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

/** The caller that opens it notices what is no link, or missing. */
function ignoreNoLink(error: NodeJS.ErrnoException): undefined {
  if (!['EINVAL', 'ENOENT', 'ENOTDIR', 'EACCES'].includes(error.code ?? '')) throw error;
}
