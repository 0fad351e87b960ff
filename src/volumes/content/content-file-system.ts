import type * as fs from 'node:fs/promises';

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
