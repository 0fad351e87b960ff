import { dirname } from 'node:path';
import { findSocketInode, findTcpListeners, parseUnixSockets } from '#base/proc/net-tables.js';
import { assertAllowed, type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { findUnit } from '../units.js';
import {
  type Daemon,
  type DaemonFacts,
  type Spent,
  type SpentOfCgroup,
  type StoppedProcess,
} from './host-facts.js';
import {
  ageOf,
  findCgroup,
  findFrozenCgroup,
  isNested,
  readOpenFiles,
  readState,
  readUptimeMs,
  standsStill,
} from './process-state.js';
import { readStandstill } from './standstill.js';

/** Programs that serve CRI. */
const RUNTIMES = /^(containerd$|crio$|cri-dockerd$|dockerd$)/;
/** The kubelet itself, and programs that have one inside: of microk8s and k3s. */
const KUBELETS = /^(kubelet|kubelite|k3s|k3s-server|k3s-agent)$/;
/** The system's message bus, through which runc asks systemd. Each user has another one, outside of this slice. */
const BUSES = /^(dbus-daemon|dbus-broker)$/;
const SYSTEM_BUS = /\/system\.slice\/dbus/;
/** Where cgroups are mounted. */
const CGROUPS = '/sys/fs/cgroup';
/** Where the packages of Kubernetes and kubeadm put what a kubelet starts with. */
const KUBELET_FILES = ['/etc/kubernetes/kubelet.conf', '/var/lib/kubelet/config.yaml'];
/** The kernel writes a number near its largest one where there is no limit. */
const NO_LIMIT = 2 ** 60;
/** A runtime gives each shim ten seconds when it starts, one after another. */
const STARTING_MS = 15 * 60_000;
/** More files than that are not searched for a socket. */
const MAX_FILES = 20_000;

/** Where a daemon listens: a path of a socket, or a port of TCP. */
export interface DaemonAddresses {
  readonly socketPath: string;
  readonly kubeletPort: number | undefined;
}

/**
 * Finds the daemons that listen at these addresses, and what they use up. Rejects where there are some and their open files may
 * not be read, so that nobody knows who listens.
 */
export async function readDaemons(
  files: HostFiles,
  processes: readonly SeenProcess[],
  { socketPath, kubeletPort }: DaemonAddresses,
): Promise<DaemonFacts> {
  const ofRuntime = processes.filter(({ command }) => RUNTIMES.test(command));
  const ofKubelet = processes.filter(({ command }) => KUBELETS.test(command));
  const runtime = await findListener(files, ofRuntime, await findUnixInodes(files, socketPath));
  const kubelet =
    kubeletPort === undefined
      ? undefined
      : await findListener(files, ofKubelet, await findTcpInodes(files, kubeletPort));
  const stoppedInit = await findStoppedInit(files, processes);
  const unread = runtime ?? kubelet ?? ofRuntime[0] ?? ofKubelet[0];
  if (unread !== undefined) await assertAllowed(files.list(`/proc/${unread.pid}/fd`));
  const configured = ofKubelet.length === 0 ? await findFirst(files, KUBELET_FILES) : undefined;
  const starting = runtime === undefined ? await findStarting(files, ofRuntime) : undefined;
  return {
    ...(runtime === undefined ? {} : { runtime: await readDaemon(files, runtime) }),
    ...(starting === undefined ? {} : { startingRuntime: starting }),
    ...(kubelet === undefined ? {} : { kubelet: await readDaemon(files, kubelet) }),
    ...(configured === undefined ? {} : { kubeletConfigured: configured }),
    ...(stoppedInit.length === 0 ? {} : { stoppedInit }),
  };
}

/** See {@link DaemonFacts.stoppedInit}. */
async function findStoppedInit(
  files: HostFiles,
  processes: readonly SeenProcess[],
): Promise<StoppedProcess[]> {
  const found: StoppedProcess[] = [];
  for (const process of processes) {
    const { pid, command } = process;
    const isInit = pid === 1 && command === 'systemd';
    if (!isInit && !BUSES.test(command)) continue;
    if (!isInit && !SYSTEM_BUS.test((await files.find(`/proc/${pid}/cgroup`)) ?? '')) continue;
    const [frozenCgroup, state] = [await findFrozenCgroup(files, pid), await readState(files, process)];
    if (frozenCgroup === undefined && !standsStill(state)) continue;
    // A container may have a systemd and a bus of its own.
    if (!isInit && (await isNested(files, pid))) continue;
    const standstill = await readStandstill(files, pid);
    found.push({
      ...{ pid, command, ...state, ...standstill },
      ...(frozenCgroup === undefined ? {} : { frozenCgroup }),
    });
  }
  return found;
}

/** The youngest of these that listens at no socket at all. */
async function findStarting(
  files: HostFiles,
  candidates: readonly SeenProcess[],
): Promise<DaemonFacts['startingRuntime']> {
  const sockets = parseUnixSockets((await files.find('/proc/1/net/unix')) ?? '');
  const listening = new Set(sockets.filter(({ isListening }) => isListening).map(({ inode }) => inode));
  const uptimeMs = await readUptimeMs(files);
  const byAge = candidates
    .map((process) => ({ process, forMs: ageOf(process, uptimeMs) }))
    .filter(({ forMs }) => forMs < STARTING_MS)
    .sort((a, b) => a.forMs - b.forMs);
  for (const { process, forMs } of byAge) {
    // Sockets of a container are not in this table.
    if (await isNested(files, process.pid)) continue;
    if ((await findListener(files, [process], listening)) === undefined)
      return { pid: process.pid, command: process.command, forMs };
  }
  return undefined;
}

/** Puts what the counters of its cgroup say that came between two readings in the place of what they say since the start. */
export function sinceFirst(first: Daemon | undefined, second: Daemon): Daemon {
  const { cpuPeriods: now, refusedTasks, oomKills, ...rest } = second;
  if (first?.pid !== second.pid) return rest;
  const { cpuPeriods: before, refusedTasks: refusedBefore, oomKills: killedBefore } = first;
  return {
    ...rest,
    ...(now && before && { cpuPeriods: { used: now.used - before.used, limit: now.limit - before.limit } }),
    ...(refusedTasks !== undefined && { refusedTasks: refusedTasks - (refusedBefore ?? refusedTasks) }),
    ...(oomKills !== undefined && { oomKills: oomKills - (killedBefore ?? oomKills) }),
  };
}

async function findFirst(files: HostFiles, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) if ((await files.find(path)) !== undefined) return path;
  return undefined;
}

/** Sockets that listen at a path. */
async function findUnixInodes(files: HostFiles, path: string): Promise<ReadonlySet<string>> {
  const sockets = parseUnixSockets((await files.find('/proc/1/net/unix')) ?? '');
  // Who sees that machine below a folder reaches the socket there, too.
  const there =
    files.root !== '/' && path.startsWith(`${files.root}/`) ? path.slice(files.root.length) : path;
  // A path may lead there through a link, as /var/run does.
  const same = await files.resolve(there).catch(() => there);
  const listening = sockets.filter(
    ({ path: at, isListening }) => isListening && (at === there || at === same),
  );
  return new Set(listening.map(({ inode }) => inode));
}

/** Sockets that listen at a port, on any address. */
async function findTcpInodes(files: HostFiles, port: number): Promise<ReadonlySet<string>> {
  const tables = ['/proc/1/net/tcp', '/proc/1/net/tcp6'];
  const texts = await Promise.all(tables.map(async (table) => files.find(table)));
  return new Set(texts.flatMap((text = '') => findTcpListeners(text, port)));
}

async function findListener(
  files: HostFiles,
  candidates: readonly SeenProcess[],
  inodes: ReadonlySet<string>,
): Promise<SeenProcess | undefined> {
  for (const process of candidates) {
    const folder = `/proc/${process.pid}/fd`;
    for (const name of (await listFiles(files, process.pid)).slice(0, MAX_FILES)) {
      const target = (await files.findLink(`${folder}/${name}`)) ?? '';
      if (inodes.has(findSocketInode(target) ?? '')) return process;
    }
  }
  return undefined;
}

async function listFiles(files: HostFiles, pid: number): Promise<readonly string[]> {
  return await files.list(`/proc/${pid}/fd`).catch(() => []);
}

async function readDaemon(files: HostFiles, process: SeenProcess): Promise<Daemon> {
  const { pid, command } = process;
  const cgroup = (await files.find(`/proc/${pid}/cgroup`)) ?? '';
  const folderOf = (controller: string): string => findCgroup(cgroup, controller) ?? '';
  const cpu = (await files.find(`${folderOf('cpu')}/cpu.stat`)) ?? '';
  const frozenCgroup = await findFrozenCgroup(files, pid);
  const state = await readState(files, process);
  const unit = findUnit(cgroup);
  const spent = {
    openFiles: await readOpenFiles(files, pid),
    cpuPeriods: { used: counterIn(cpu, 'nr_throttled'), limit: counterIn(cpu, 'nr_periods') },
  };
  const [tasks, memory] = [
    await findTightest(files, folderOf('pids'), readTasks),
    await findTightest(files, folderOf('memory'), readMemory),
  ];
  const events = {
    refusedTasks: counterIn((await files.find(`${folderOf('pids')}/pids.events`)) ?? '', 'max'),
    oomKills: await firstNumber(
      ['memory.events', 'memory.oom_control'].map(async (name) =>
        counterIn((await files.find(`${folderOf('memory')}/${name}`)) ?? '', 'oom_kill'),
      ),
    ),
  };
  return {
    ...{ pid, command, ...state },
    ...(frozenCgroup !== undefined || standsStill(state) ? await readStandstill(files, pid) : {}),
    forMs: ageOf(process, await readUptimeMs(files)),
    ...(frozenCgroup === undefined ? {} : { frozenCgroup }),
    ...(unit === undefined ? {} : { unit }),
    ...Object.fromEntries(Object.entries(spent).filter(([, each]) => hasLimit(each))),
    ...(tasks && { tasks }),
    ...(memory && { memory }),
    ...Object.fromEntries(Object.entries(events).filter(([, count]) => !Number.isNaN(count))),
  };
}

function hasLimit({ used, limit }: Spent): boolean {
  return Number.isFinite(used) && limit < NO_LIMIT;
}

/** Of a cgroup and all above it, that which has used most of its limit; undefined where none has one. */
async function findTightest(
  files: HostFiles,
  folder: string,
  read: (files: HostFiles, folder: string) => Promise<Spent>,
): Promise<SpentOfCgroup | undefined> {
  let tightest: SpentOfCgroup | undefined;
  for (let at = folder; at.startsWith(`${CGROUPS}/`); at = dirname(at)) {
    const spent = await read(files, at);
    if (!hasLimit(spent)) continue;
    if (tightest === undefined || spent.used / spent.limit > tightest.used / tightest.limit)
      tightest = { ...spent, cgroup: at.slice(CGROUPS.length).replace(/^\/(?:pids|memory)(?=\/)/, '') };
  }
  return tightest;
}

async function readTasks(files: HostFiles, folder: string): Promise<Spent> {
  return {
    used: await numberIn(files, `${folder}/pids.current`),
    limit: await numberIn(files, `${folder}/pids.max`),
  };
}

/** Whoever reads and writes files fills what is left with them and their names, and is well. */
async function readMemory(files: HostFiles, folder: string): Promise<Spent> {
  const readFirst = async (...names: string[]): Promise<number> =>
    await firstNumber(names.map(async (name) => numberIn(files, `${folder}/${name}`)));
  const stat = (await files.find(`${folder}/memory.stat`)) ?? '';
  const cached = ['active_file', 'inactive_file', 'slab_reclaimable'].map((name) => {
    const [ofAll, own] = [counterIn(stat, `total_${name}`), counterIn(stat, name)];
    return Number.isNaN(ofAll) ? own || 0 : ofAll;
  });
  const used = await readFirst('memory.current', 'memory.usage_in_bytes');
  return {
    used: Math.max(0, used - cached.reduce((sum, bytes) => sum + bytes, 0)),
    limit: await readFirst('memory.max', 'memory.limit_in_bytes'),
  };
}

async function numberIn(files: HostFiles, path: string): Promise<number> {
  return Number((await files.find(path)) ?? NaN);
}

/** The number of a line `name number`; NaN where there is none. */
function counterIn(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN);
}

async function firstNumber(values: readonly Promise<number>[]): Promise<number> {
  const numbers = await Promise.all(values);
  return numbers.find((number) => !Number.isNaN(number)) ?? NaN;
}
