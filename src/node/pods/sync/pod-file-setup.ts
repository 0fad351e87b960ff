import { readdir, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodPaths } from '#watch';
import { makeFolder } from '#base/fs/make-folder.js';

import { writeInPlace } from './write-in-place.js';

/** More than a runtime keeps of the dead containers of one name. */
const KEPT_TERMINATION_FILES = 10;

/** Creates the folders of a pod: its own, only for the agent, and that of its logs, for log collectors. */
export async function makePodFolders(paths: PodPaths, pod: NodePod): Promise<void> {
  const { metadata, spec } = pod;
  await makeFolder(paths.podDir(metadata.uid), 0o750);
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  for (const { name } of [...initContainers, ...containers, ...ephemeralContainers]) {
    await makeFolder(paths.containerDir(metadata.uid, name), 0o750);
    await makeFolder(paths.containerLogDir(metadata, name), 0o755);
  }
}

/** Creates the empty termination message file of a container, writable for any user, and returns its path. */
export async function makeTerminationFile(
  paths: PodPaths,
  uid: string,
  container: string,
  restartCount: number,
): Promise<string> {
  const path = paths.terminationMessageFile(uid, container, restartCount);
  await writeInPlace(path, '', 0o666);
  // A crash loop may go on for years.
  const outdated = paths.terminationMessageFile(uid, container, restartCount - KEPT_TERMINATION_FILES);
  await unlink(outdated).catch(() => undefined);
  return path;
}

/**
 * The highest restart count in the names of a container's logs; undefined when there are none.
 *
 * Logs survive when the runtime has lost its containers, as after a reboot.
 */
export async function readLastRestartCount(logDir: string): Promise<number | undefined> {
  const names = await readdir(logDir).catch(() => []);
  const counts = names.flatMap((name) => /^(\d{1,9})\.log(?:\..*)?$/.exec(name)?.[1] ?? []).map(Number);
  return counts.reduce<number | undefined>((most, count) => Math.max(most ?? count, count), undefined);
}

/** Links to a container's log where log collectors search: `<pod>_<namespace>_<container>-<id>.log`. */
export async function linkContainerLog(
  linksDir: string,
  logFile: string,
  names: {
    readonly pod: string;
    readonly namespace: string;
    readonly container: string;
    readonly id: string;
  },
): Promise<void> {
  const link = join(linksDir, `${names.pod}_${names.namespace}_${names.container}-${names.id}.log`);
  await makeFolder(linksDir, 0o755);
  await unlink(link).catch(() => undefined);
  await symlink(logFile, link);
}
