import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_LINKS, splitPath } from '../../images/path-in-root.js';
import { refused } from '../../rpc-error.js';
import { isBelow } from '#base/proc/mountinfo.js';

/**
 * The path without links that a path means to a process whose `/` are these files; what is not there is kept as it is
 * written, for somebody to make.
 *
 * While a container is set up the host's files are still within reach of its own, and a link of an image could lead
 * to them: so its links are followed here, where nothing is above its root. Throws UNKNOWN for links in a circle.
 *
 * @param roots the files, the uppermost first.
 * @param covered link-free paths on which other things will be mounted: what the roots have below them does not count.
 */
export async function findLinkFreePath(
  roots: readonly string[],
  path: string,
  covered: readonly string[] = [],
): Promise<string> {
  const left = splitPath(path).reverse();
  let found: string[] = [];
  let links = 0;
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    if (part === '..') {
      found.pop();
      continue;
    }
    const at = `/${[...found, part].join('/')}`;
    const target = covered.some((above) => isBelow(at, above)) ? undefined : await findLink(roots, at);
    if (target === undefined) {
      found.push(part);
      continue;
    }
    if (++links > MAX_LINKS) throw refused(`"${path}" leads through too many links of the image`);
    if (target.startsWith('/')) found = [];
    left.push(...splitPath(target).reverse());
  }
  return `/${found.join('/')}`;
}

/** Where a link leads; undefined for what is none. All that is above it is none. */
async function findLink(roots: readonly string[], path: string): Promise<string | undefined> {
  for (const root of roots) {
    const file = join(root, path);
    const facts = await lstat(file).catch(() => undefined);
    if (facts !== undefined) return facts.isSymbolicLink() ? readlink(file) : undefined;
  }
  return undefined;
}
