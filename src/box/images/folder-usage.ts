import { type BigIntStats } from 'node:fs';
import * as threaded from 'node:fs/promises';
import { join } from 'node:path';

/** What a folder takes on the disk. */
export interface FolderUsage {
  /** Blocks that are allotted, not lengths of files. */
  readonly bytes: bigint;
  /** The folder itself is not counted. */
  readonly inodes: bigint;
}

/** Of a folder with nothing in it. */
export const NO_USAGE: FolderUsage = { bytes: 0n, inodes: 0n };
const AT_ONCE = 64;

/** How folders are read. */
export interface FolderReader {
  readonly readdir: (path: string) => Promise<string[]>;
  readonly lstat: (path: string, options: { readonly bigint: true }) => Promise<BigIntStats>;
}

/** Adds up everything below a folder; a file with several names counts once. What vanishes meanwhile does not count. */
export async function measureFolder(
  folder: string,
  signal?: AbortSignal,
  { readdir, lstat }: FolderReader = threaded,
): Promise<FolderUsage> {
  let bytes = 0n;
  let inodes = 0n;
  const shared = new Set<bigint>();
  const isCounted = ({ nlink, ino }: BigIntStats): boolean => {
    if (nlink <= 1n) return false;
    const isKnown = shared.has(ino);
    shared.add(ino);
    return isKnown;
  };
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    signal?.throwIfAborted();
    // It may be gone, or readable by root alone.
    const names = await readdir(at).catch(() => []);
    for (let first = 0; first < names.length; first += AT_ONCE) {
      const paths = names.slice(first, first + AT_ONCE).map((name) => join(at, name));
      const facts = await Promise.all(
        paths.map((path) => lstat(path, { bigint: true }).catch(() => undefined)),
      );
      for (const [index, each] of facts.entries()) {
        if (each === undefined) continue;
        if (each.isDirectory()) folders.push(paths[index]!);
        else if (isCounted(each)) continue;
        bytes += each.blocks * 512n;
        inodes++;
      }
    }
  }
  return { bytes, inodes };
}

/** Both together. */
export function addUsage(one: FolderUsage, other: FolderUsage): FolderUsage {
  return { bytes: one.bytes + other.bytes, inodes: one.inodes + other.inodes };
}
