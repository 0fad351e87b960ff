import { rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { openLinkFree } from '#base/fs/link-free-folder.js';
import { namesIn } from '#base/fs/names-in.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/**
 * Whether a path is below a folder, and not the folder itself, after resolving dots. Pure; follows no links.
 */
export function isStrictlyBelow(path: string, folder: string): boolean {
  const way = relative(resolve(folder), resolve(path));
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
}

/** The rotated files of a log and leftovers of an interrupted rotation; names only, in no order. */
export async function findRotatedLogs(logPath: string): Promise<string[]> {
  const names = await namesIn(dirname(logPath));
  return names.filter((name) => name.startsWith(`${basename(logPath)}.`));
}

/**
 * Removes a container's log and its rotated files.
 *
 * Does nothing for a log that is not below `logsDir`, as the runtime gives the path, nor where a link
 * replaces its folder.
 */
export async function removeContainerLog(logPath: string, logsDir: string): Promise<void> {
  if (logPath === '' || !isStrictlyBelow(logPath, logsDir)) return;
  await using folder = await openLinkFree(dirname(logPath)).catch(ifAbsent);
  if (folder === undefined) return;
  const log = join(folder.path, basename(logPath));
  for (const name of await findRotatedLogs(log)) await rm(join(folder.path, name), { force: true });
  await rm(log, { force: true });
}

function ifAbsent(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error))) return undefined;
  throw error;
}
