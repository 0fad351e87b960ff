import { type Stats } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { systemCodeOf } from '#base/errors/system-code.js';

/** The file operations of the writer of content: node:fs/promises, or a test's replacement. */
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

/** The facts of a path itself, without following a link; undefined when it does not exist. */
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
