import { posix } from 'node:path';

/** One file of a content volume. */
export interface ContentFile {
  readonly data: Uint8Array;
  /** Permission bits, 0 to 0o777. */
  readonly mode: number;
  /** The owner, if the agent may give files away (default: the agent). */
  readonly uid?: number | undefined;
}

/** The desired contents of a volume: its files by their paths below it. */
export type ContentPayload = ReadonlyMap<string, ContentFile>;

/** Limit of Linux's file systems, in bytes. */
const MAX_NAME_LENGTH = 255;
const MAX_PATH_LENGTH = 4096;

/**
 * Normalizes the paths of a payload. Pure.
 *
 * Throws in the kubelet's words for a path that leads out of the volume, that the system does not accept, or
 * that collides with another one. Names that begin with `..` are reserved for the atomic replacement.
 */
export function toCleanPayload(payload: ContentPayload): ContentPayload {
  const clean = new Map<string, ContentFile>();
  for (const [path, file] of payload) clean.set(toCleanPath(path), file);
  for (const path of clean.keys()) {
    for (const above of foldersAbove(path)) {
      if (!clean.has(above)) continue;
      throw new Error(`invalid path: "${above}" is a file, and cannot be the folder of "${path}"`);
    }
  }
  return clean;
}

/** The folders on a clean path, the uppermost first: `a`, `a/b` for `a/b/c`. Pure. */
export function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function toCleanPath(path: string): string {
  if (path === '') throw new Error('invalid path: must not be empty: ""');
  if (path.startsWith('/')) throw new Error(`invalid path: must be relative path: ${path}`);
  if (Buffer.byteLength(path) > MAX_PATH_LENGTH) {
    throw new Error(`invalid path: must be less than or equal to ${MAX_PATH_LENGTH} characters`);
  }
  const parts = path.split('/');
  if (parts.includes('..')) throw new Error(`invalid path: must not contain '..': ${path}`);
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_LENGTH)) {
    throw new Error(`invalid path: filenames must be less than or equal to ${MAX_NAME_LENGTH} characters`);
  }
  if (path.includes('\0')) throw new Error('invalid path: must not contain a NUL character');
  const clean = posix.normalize(path).replace(/\/$/, '');
  if (clean === '.') throw new Error(`invalid path: must name a file: ${path}`);
  // Checked on the clean path: "./..data" would be the link that is replaced atomically.
  if (clean.startsWith('..')) throw new Error(`invalid path: must not start with '..': ${path}`);
  return clean;
}
