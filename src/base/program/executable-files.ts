import { getRawAsset, isSea } from 'node:sea';
import { pathToFileURL } from 'node:url';

/**
 * Whether this process runs from the single executable (`scripts/release/single-executable.mjs`): Node with the program inside.
 * There is no script to name to Node then, and the files of the program are nowhere on the disk.
 */
export function isSingleExecutable(): boolean {
  return isSea();
}

/**
 * A file of the program that is inside the executable, by the place that it would have below it, such as
 * `file:///usr/bin/podloop/dist/program/page.js.br`. Undefined if this is not the single executable: the file is on the disk then.
 * Throws Node's error for a file that is not inside. What is returned must not be written to.
 */
export function findInExecutable(file: URL): Buffer | undefined {
  if (!isSea()) return undefined;
  const name = file.href.slice(pathToFileURL(process.execPath).href.length + 1);
  return Buffer.from(getRawAsset(name) as ArrayBuffer);
}
