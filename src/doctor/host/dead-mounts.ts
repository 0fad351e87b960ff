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
const CONTROL = { device: 'control', path: '/proc' };
const MAX_FILES = 50_000;
/**
 * Says that it begins once it has seen stat(1) at work, which a slow disk may hold up, asks each file system for its room,
 * all at once, and prints the number of each that answered, with the words of its error. Processes of their own: a call
 * that hangs holds up a thread for good, and Node has four. They are small ones, which begin at once also on a machine on
 * which Node takes seconds. Each has the device of its file system in its command line: it is no other one's as long as the
 * process hangs there, whatever is mounted at the path meanwhile.
 */
const SCRIPT = `stat -f / >/dev/null || exit
echo begin
at=0
while [ $# -gt 0 ]; do
  { said=$(LC_ALL=C stat -f -c "$1" -- "$2" 2>&1 >/dev/null) && echo "$at ok" || echo "$at \${said##*: }"; } &
  at=$((at + 1))
  shift 2
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
  const waits = await findHungQuestions(files, processes);
  const silent = mounts.flatMap((mount): MountAnswer[] => {
    const silentForMs = waits.get(mount.device);
    return silentForMs === undefined ? [] : [{ mount, silentForMs }];
  });
  const asked = mounts.filter(({ device }) => !waits.has(device));
  if (asked.length === 0) return silent;
  const questions = await Promise.all(
    asked.map(async ({ device, path }) => ({ device, path: await files.locate(path) })),
  );
  const answers = await askForRoom(files, questions, shell);
  const dead = asked.flatMap((mount, at): MountAnswer[] => {
    const answer = answers.get(at);
    if (answer === undefined) return [{ mount, silentForMs: ANSWER_LIMIT_MS }];
    const code = DEAD_CODES.get(answer.replace(/ \(os error \d+\)$/, ''));
    return code === undefined ? [] : [{ mount, code }];
  });
  return [...silent, ...dead];
}

/**
 * For how long processes that asked for the room of a file system have hung in the kernel, in milliseconds, by its device. Those in
 * the same cgroup alone: an observer's own, and none that a pod has made to look like one.
 */
async function findHungQuestions(
  files: HostFiles,
  processes: readonly SeenProcess[],
): Promise<ReadonlyMap<string, number>> {
  const waits = new Map<string, number>();
  const own = await files.find('/proc/self/cgroup');
  const upMs = await readUptimeMs(files);
  for (const { pid, command, state, startTicks } of processes) {
    if (command !== 'stat' || state !== 'D') continue;
    const words = (await files.find(`/proc/${pid}/cmdline`)) ?? '';
    const device = /^stat\0-f\0-c\0([^\0]+)\0--\0/.exec(words)?.[1];
    const forMs = ageOf({ startTicks }, upMs);
    // One that was asked a moment ago, by another doctor, may yet answer.
    if (device === undefined || forMs < ANSWER_LIMIT_MS) continue;
    if ((await files.find(`/proc/${pid}/cgroup`)) !== own) continue;
    waits.set(device, Math.max(forMs, waits.get(device) ?? 0));
  }
  return waits;
}

/** A file system to ask, by a path in it. */
type Question = Pick<ServedMount, 'device' | 'path'>;

async function askForRoom(
  files: HostFiles,
  questions: readonly Question[],
  shell: string,
): Promise<ReadonlyMap<number, string>> {
  const answers = new Map<number, string>();
  const words = [...questions, CONTROL].flatMap(({ device, path }) => [device, path]);
  const child = spawn(shell, ['-c', SCRIPT, 'sh', ...words], {
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
  for (const [, at, answer] of text.matchAll(/^(\d+) (.+)$/gm)) answers.set(Number(at), answer!);
  if (answers.get(questions.length) !== 'ok' || (!isSilent && answers.size <= questions.length)) {
    const why = isSilent ? `got no answer from ${CONTROL.path}, which always answers` : 'was ended';
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
