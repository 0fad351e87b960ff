/**
 * Calls of `node:fs/promises` that do their work at once: their caller waits for the disk, and for no thread.
 *
 * To unpack an image takes some ten thousand of them. Handed to a thread each costs fifty times what it does, and
 * milliseconds where the machine is busy. They are for a thread of its own: see `unpack-thread.ts`.
 *
 * @module
 */
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';

/** A call that resolves once it is done, at once; what it throws is a rejection. */
function atOnce<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
): (...args: Args) => Promise<Result> {
  return (...args) => new Promise((resolve) => resolve(call(...args)));
}

export const chmod = atOnce((path: string, mode: number) => chmodSync(path, mode));
export const lchown = atOnce((path: string, uid: number, gid: number) => lchownSync(path, uid, gid));
export const link = atOnce((target: string, path: string) => linkSync(target, path));
export const lstat = atOnce((path: string): Stats => lstatSync(path));
export const lstatBig = atOnce((path: string): BigIntStats => lstatSync(path, { bigint: true }));
export const lutimes = atOnce((path: string, atime: number, mtime: number) =>
  lutimesSync(path, atime, mtime),
);
export const mkdir = atOnce((path: string, mode?: number) => mkdirSync(path, mode));
export const readdir = atOnce((path: string): string[] => readdirSync(path));
export const readlink = atOnce((path: string): string => readlinkSync(path));
export const rm = atOnce((path: string, options: { readonly recursive: boolean }) => rmSync(path, options));
export const symlink = atOnce((target: string, path: string) => symlinkSync(target, path));
export const unlink = atOnce((path: string) => unlinkSync(path));
export const utimes = atOnce((path: string, atime: number, mtime: number) => utimesSync(path, atime, mtime));
/** As FileHandle: whoever opened it closes it. */
export const open = atOnce(
  (path: string, flags: number, mode: number) => new BlockingFile(openSync(path, flags, mode)),
);

class BlockingFile implements AsyncDisposable {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write = atOnce((data: Uint8Array, offset: number, length: number, position: number) => ({
    bytesWritten: writeSync(this.#fd, data, offset, length, position),
  }));
  truncate = atOnce((size: number) => ftruncateSync(this.#fd, size));
  chown = atOnce((uid: number, gid: number) => fchownSync(this.#fd, uid, gid));
  chmod = atOnce((mode: number) => fchmodSync(this.#fd, mode));
  utimes = atOnce((atime: number, mtime: number) => futimesSync(this.#fd, atime, mtime));
  [Symbol.asyncDispose] = atOnce(() => closeSync(this.#fd));
}
