import { constants } from 'node:fs';
import { chmod, open, readdir, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodePod } from '../model/node-pod.js';
import { type PodPaths } from '../runtime/pod-paths.js';
import { makeFolder } from '../util/make-folder.js';

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;

/** More than a runtime keeps of the dead containers of one name. */
const KEPT_TERMINATION_FILES = 10;

/** Makes the folders of a pod: its own, for the agent alone, and that of its logs, for those who collect them. */
export async function makePodFolders(paths: PodPaths, pod: NodePod): Promise<void> {
  const { metadata, spec } = pod;
  await makeFolder(paths.podDir(metadata.uid), 0o750);
  for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
    await makeFolder(paths.containerDir(metadata.uid, name), 0o750);
    await makeFolder(paths.containerLogDir(metadata, name), 0o755);
  }
}

/** Makes the empty file that a container writes its last words into, whoever it runs as, and gives its path. */
export async function makeTerminationFile(
  paths: PodPaths,
  uid: string,
  container: string,
  restartCount: number,
): Promise<string> {
  const path = paths.terminationMessageFile(uid, container, restartCount);
  await writeInPlace(path, '');
  // A crash loop may go on for years.
  const outdated = paths.terminationMessageFile(uid, container, restartCount - KEPT_TERMINATION_FILES);
  await unlink(outdated).catch(() => undefined);
  // Not through open: the process's mask would take bits away.
  await chmod(path, 0o666);
  return path;
}

/**
 * Writes the pod's /etc/hosts and gives its path. Into the same file each time: containers that run have it mounted,
 * and would keep the old one for ever if another took its place.
 */
export async function writeHostsFile(paths: PodPaths, uid: string, text: string): Promise<string> {
  const path = paths.hostsFile(uid);
  await writeInPlace(path, text);
  await chmod(path, 0o644);
  return path;
}

/**
 * The pod's /etc/hosts: this machine by its usual names, the pod by its own, then its hostAliases. Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/network/customize-hosts-file-for-pods/
 */
export function formatHostsFile(
  { metadata, spec }: NodePod,
  { ips, hostname, clusterDomain }: { ips: readonly string[]; hostname: string; clusterDomain: string },
): string {
  const { subdomain = '', hostAliases = [] } = spec;
  const domain = `${metadata.namespace}.svc${clusterDomain === '' ? '' : `.${clusterDomain}`}`;
  const short = hostname.split('.')[0]!;
  const names = subdomain === '' ? [hostname] : [`${short}.${subdomain}.${domain}`, short];
  const aliases = hostAliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join('\t'));
  return [
    '# Written by podloop for this pod.',
    '127.0.0.1\tlocalhost',
    '::1\tlocalhost ip6-localhost ip6-loopback',
    'fe00::0\tip6-localnet',
    'fe00::0\tip6-mcastprefix',
    'fe00::1\tip6-allnodes',
    'fe00::2\tip6-allrouters',
    ...ips.map((ip) => [ip, ...names].join('\t')),
    ...(aliases.length === 0 ? [] : ['', '# The hostAliases of the pod.', ...aliases]),
    '',
  ].join('\n');
}

/**
 * The highest restart count that the names of a container's logs tell of; undefined when there is none. It is what is
 * left when the runtime has lost its containers, as after a restart of the machine.
 */
export async function readLastRestartCount(logDir: string): Promise<number | undefined> {
  const names = await readdir(logDir).catch(() => []);
  const counts = names.flatMap((name) => /^(\d{1,9})\.log(?:\..*)?$/.exec(name)?.[1] ?? []).map(Number);
  return counts.length === 0 ? undefined : Math.max(...counts);
}

/** Puts a link to a container's log where collectors of logs look: `<pod>_<namespace>_<container>-<id>.log`. */
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

async function writeInPlace(path: string, text: string): Promise<void> {
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}
