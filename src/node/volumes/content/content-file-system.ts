import { type Stats } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { systemCodeOf } from '#base/errors/system-code.js';

/** What the writer of content asks of the system: node:fs/promises, or what a test puts in its place. */
export type ContentFileSystem = Pick<
  typeof fs,
  | 'chmod'
  | 'lchown'
  | 'lstat'
  | 'mkdir'
  | 'readFile'
  | 'readdir'
  | 'readlink'
  | 'rename'
  | 'rm'
  | 'symlink'
  | 'writeFile'
>;

/** Of what is at a path itself, no link followed; undefined when nothing is there. */
export async function findFacts(
  files: Pick<ContentFileSystem, 'lstat'>,
  path: string,
): Promise<Stats | undefined> {
  try {
    return await files.lstat(path);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
