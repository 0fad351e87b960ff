import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { killGroup } from '#base/proc/kill-group.js';
import { type MountOrigin, parseMountOrigins } from '#base/proc/mountinfo.js';
import { type HostFiles, SilentFilesError } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { groupBy } from '../group-by.js';
import { type DeadMount, MAX_NAMED, type MountServer } from './host-facts.js';
import { findMountUsers } from './mount-users.js';
import { type ProcessOwners } from './process-owners.js';
import { ageOf, readUptimeMs } from './process-state.js';
import { readStandstill } from './standstill.js';
import { isStopped } from '#base/proc/process-identity.js';

/** File systems that a server elsewhere, or a process of this machine, answers for. */
const SERVED =
  /^(fuse$|fuse\.|fuseblk$|nfs$|nfs4$|cifs$|smb3$|ceph$|9p$|glusterfs$|lustre$|beegfs$|gpfs$|afs$)/;
/** How a mount answers whose server is gone, though it does not hang: the words of glibc and of musl. */
const DEAD_CODES = new Map([
  ['Transport endpoint is not connected', 'ENOTCONN'],
  ['Socket not connected', 'ENOTCONN'],
  ['Stale file handle', 'ESTALE'],
  ['Input/output error', 'EIO'],
  ['I/O error', 'EIO'],
  ['Host is down', 'EHOSTDOWN'],
  ['Connection timed out', 'ETIMEDOUT'],
  ['Operation timed out', 'ETIMEDOUT'],
  ['Software caused connection abort', 'ECONNABORTED'],
  ['Connection aborted', 'ECONNABORTED'],
]);
const ANSWER_LIMIT_MS = 5_000;
/** How long the process that asks may take to begin: on a machine that is busy, seconds. */
const BEGIN_LIMIT_MS = 5_000;
const MAX_MOUNTS = 256;
/** Asked as the last one: a silence that is the machine's own says nothing of mounts. */
const CONTROL = '/proc';
const MAX_FILES = 50_000;
/** The words before the path in the command line of a process that asks, as the script has them. */
const ASKED_BY = ['stat', '-f', '--'];
/**
 * Says that it begins once it has seen stat(1) at work, which a slow disk may hold up, asks each file system for its room,
 * all at once, and prints the number of each that answered, with the words of its error. Processes of their own: a call
 * that hangs holds up a thread for good, and Node has four. They are small ones, which begin at once also on a machine on
 * which Node takes seconds.
 */
const SCRIPT = `stat -f / >/dev/null || exit
echo begin
at=0
for path do
  { said=$(LC_ALL=C ${ASKED_BY.join(' ')} "$path" 2>&1 >/dev/null) && echo "$at ok" || echo "$at \${said##*: }"; } &
  at=$((at + 1))
done
wait`;

/** A mount that somebody has to answer for. */
type ServedMount = Pick<MountOrigin, 'fsType' | 'source' | 'device'> & { readonly path: string };

/** The mounts with a server in a mountinfo file, each file system once. */
export function parseServedMounts(text: string): ServedMount[] {
  const served = parseMountOrigins(text).filter(({ fsType }) => SERVED.test(fsType));
  const byDevice = groupBy(served, ({ device }) => device);
  const mounts = [...byDevice.values()].map(([first]) => first!);
  return mounts
    .slice(0, MAX_MOUNTS)
    .map(({ mountPoint: path, fsType, source, device }) => ({ path, fsType, source, device }));
}

/** How a mount answered: not at all within its time, or with this code. */
type MountAnswer = { readonly mount: ServedMount } & (
  { readonly silentForMs: number } | { readonly code: string }
);

/**
 * The mounts with a server that does not answer. Rejects where the process that asks them does not begin in its time, which says
 * nothing of them. A mount at which one that asked before still hangs in the kernel, where nothing can end it, is not asked again:
 * with each examination there would be one more. @param processes all of this moment. @param shell path of another shell
 */
export async function askMounts(
  files: HostFiles,
  processes: readonly SeenProcess[],
  shell = 'sh',
): Promise<MountAnswer[]> {
  const mounts = parseServedMounts((await files.find('/proc/1/mountinfo')) ?? '');
  if (mounts.length === 0) return [];
  const waits = await findHungAskers(files, processes);
  const located = await Promise.all(
    mounts.map(async (mount) => ({ mount, path: await files.locate(mount.path) })),
  );
  const silent = located.flatMap(({ mount, path }): MountAnswer[] => {
    const silentForMs = waits.get(path);
    return silentForMs === undefined ? [] : [{ mount, silentForMs }];
  });
  const asked = located.filter(({ path }) => !waits.has(path));
  if (asked.length === 0) return silent;
  const answers = await askForRoom(
    files,
    asked.map(({ path }) => path),
    shell,
  );
  const dead = asked.flatMap(({ mount }, at): MountAnswer[] => {
    const answer = answers.get(at);
    if (answer === undefined) return [{ mount, silentForMs: ANSWER_LIMIT_MS }];
    const code = DEAD_CODES.get(answer.replace(/ \(os error \d+\)$/, ''));
    return code === undefined ? [] : [{ mount, code }];
  });
  return [...silent, ...dead];
}

/** For how long the processes that asked for the room of a mount have hung in the kernel, in milliseconds, by the path that they ask. */
async function findHungAskers(
  files: HostFiles,
  processes: readonly SeenProcess[],
): Promise<ReadonlyMap<string, number>> {
  const waits = new Map<string, number>();
  const upMs = await readUptimeMs(files);
  for (const { pid, command, state, startTicks } of processes) {
    if (command !== 'stat' || state !== 'D') continue;
    const words = ((await files.find(`/proc/${pid}/cmdline`)) ?? '').split('\0');
    const [path] = words.slice(ASKED_BY.length);
    const forMs = ageOf({ startTicks }, upMs);
    const isOurs = path !== undefined && ASKED_BY.every((word, at) => word === words[at]);
    // One that was asked a moment ago, by another doctor, may yet answer.
    if (isOurs && forMs >= ANSWER_LIMIT_MS) waits.set(path, Math.max(forMs, waits.get(path) ?? 0));
  }
  return waits;
}

async function askForRoom(
  files: HostFiles,
  paths: readonly string[],
  shell: string,
): Promise<ReadonlyMap<number, string>> {
  const answers = new Map<number, string>();
  const child = spawn(shell, ['-c', SCRIPT, 'sh', ...paths, CONTROL], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = once(child, 'close');
  ended.catch(() => undefined);
  let isSilent = false;
  try {
    await files.within(Promise.race([once(child.stdout, 'data'), ended]), BEGIN_LIMIT_MS);
    await files.within(ended, ANSWER_LIMIT_MS);
  } catch (error) {
    if (!(error instanceof SilentFilesError)) throw error;
    isSilent = true;
  } finally {
    killGroup(child);
    // One that hangs in the kernel ends when it can; nobody waits for it.
    child.unref();
    child.stdout.destroy();
  }
  if (text === '') throw new Error(`the process that asks mounts did not begin within ${BEGIN_LIMIT_MS} ms`);
  for (const [, at, words] of text.matchAll(/^(\d+) (.+)$/gm)) answers.set(Number(at), words!);
  if (answers.get(paths.length) !== 'ok' || (!isSilent && answers.size <= paths.length)) {
    const why = isSilent ? `got no answer from ${CONTROL}, which always answers` : 'was ended';
    throw new Error(`the process that asks mounts ${why}`);
  }
  return answers;
}

/** Adds the pods that have a dead mount, and the process that serves it where that is one of this machine. */
export async function describeDeadMounts(
  files: HostFiles,
  dead: readonly MountAnswer[],
  processes: readonly SeenProcess[],
  owners: ProcessOwners,
): Promise<DeadMount[]> {
  const described: DeadMount[] = [];
  for (const { mount, ...answer } of dead.slice(0, MAX_NAMED)) {
    const { path, fsType, source, device } = mount;
    const servers = fsType.startsWith('fuse') ? await findFuseServers(files, processes, device, owners) : [];
    described.push({
      ...{ path, fsType, source, ...answer, pods: await findMountUsers(files, device, owners) },
      servers,
    });
  }
  return described;
}

/** The processes that have the device of FUSE open; those of this connection alone, where the kernel says which. */
async function findFuseServers(
  files: HostFiles,
  processes: readonly SeenProcess[],
  device: string,
  owners: ProcessOwners,
): Promise<MountServer[]> {
  const connection = device.split(':')[1]!;
  const servers: MountServer[] = [];
  let read = 0;
  for (const { pid, command, state } of processes) {
    const names = await files.list(`/proc/${pid}/fd`).catch(() => []);
    read += names.length;
    if (read > MAX_FILES) break;
    for (const name of names) {
      if ((await files.findLink(`/proc/${pid}/fd/${name}`)) !== '/dev/fuse') continue;
      const info = (await files.find(`/proc/${pid}/fdinfo/${name}`)) ?? '';
      const own = /^fuse_connection:\s*(\d+)$/m.exec(info)?.[1];
      if (own !== undefined && own !== connection) continue;
      const isHeld = isStopped({ state });
      const standstill = isHeld ? await readStandstill(files, pid) : {};
      servers.push({ pid, command, ...(await owners.find(pid)), isStopped: isHeld, ...standstill });
      break;
    }
  }
  return servers;
}
