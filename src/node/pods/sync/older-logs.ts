import { readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { isNoFolder, openLinkFree } from '#base/fs/link-free-folder.js';
import { namesIn } from '#base/fs/names-in.js';

/** Where logs are, and links to them. */
export interface OlderLogsPlaces {
  /** Of the container. */
  readonly logDir: string;
  /** Default: there are no links. */
  readonly containerLogLinksDir?: string | undefined;
}

/**
 * Removes all logs of a container but those of the highest restart count, which the next one is counted from, and
 * links to what was removed. Rotated files go with their log; anything else in the folder stays.
 */
export async function removeOlderLogs(
  pod: PodRef,
  container: string,
  { logDir, containerLogLinksDir }: OlderLogsPlaces,
): Promise<void> {
  await using folder = await openLinkFree(logDir).catch(ifAbsent);
  if (folder === undefined) return;
  const logs = (await namesIn(folder.path)).flatMap((name) => {
    const count = /^(\d{1,9})\.log(?:\..*)?$/.exec(name)?.[1];
    return count === undefined ? [] : { name, count: Number(count) };
  });
  const newest = logs.reduce((most, { count }) => Math.max(most, count), 0);
  const older = logs.filter(({ count }) => count < newest);
  for (const { name } of older) await rm(join(folder.path, name), { force: true });
  if (containerLogLinksDir === undefined || older.length === 0) return;
  const removed = new Set(older.map(({ name }) => join(logDir, name)));
  for (const name of await namesIn(containerLogLinksDir)) {
    if (!name.startsWith(`${pod.name}_${pod.namespace}_${container}-`)) continue;
    const link = join(containerLogLinksDir, name);
    if (removed.has(await readlink(link).catch(() => ''))) await rm(link, { force: true });
  }
}

function ifAbsent(error: unknown): undefined {
  if (isNoFolder(error)) return undefined;
  throw error;
}
