import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { type ApiPath } from './mount-plan.js';
import { isBelow } from '#base/proc/mountinfo.js';

/** Paths to be masked or protected, by who makes what is there. */
export interface ProtectedPaths {
  /** Of /proc and /sys, which are file systems of the kernel: those that exist. */
  readonly api: readonly ApiPath[];
  /** Among the container's own files, there or not. */
  readonly own: readonly string[];
}

/** Sorts the masked or the read-only paths of a request. */
export async function findProtectedPaths(paths: readonly string[]): Promise<ProtectedPaths> {
  const normal = [...new Set(paths.map((path) => posix.normalize(path).replace(/(?<=.)\/$/, '')))];
  const isApi = (path: string) => isBelow(path, '/proc') || isBelow(path, '/sys');
  return { api: await findApiPaths(normal.filter(isApi)), own: normal.filter((path) => !isApi(path)) };
}

/** A container's /proc and /sys have what the host's have. */
async function findApiPaths(paths: readonly string[]): Promise<readonly ApiPath[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const facts = await stat(path).catch(() => undefined);
      return facts && { path, folder: facts.isDirectory() };
    }),
  );
  return found.filter((each) => each !== undefined);
}
