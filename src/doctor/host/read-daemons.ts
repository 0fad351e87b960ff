import { findSocketInode, findTcpListeners, parseUnixSockets } from '#base/proc/net-tables.js';
import { findSoftLimit } from '#base/proc/proc-text.js';
import { assertAllowed, type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { type Daemon, type DaemonFacts, type Spent } from './host-facts.js';
import { ageOf, findCgroup, findFrozenCgroup, readState, readUptimeMs } from './process-state.js';

/** Programs that serve CRI. */
const RUNTIMES = /^(containerd$|crio$|cri-dockerd$|dockerd$)/;
const KUBELET = 'kubelet';
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
  const ofKubelet = processes.filter(({ command }) => command === KUBELET);
  const runtime = await findListener(files, ofRuntime, await findUnixInodes(files, socketPath));
  const kubelet =
    kubeletPort === undefined
      ? undefined
      : await findListener(files, ofKubelet, await findTcpInodes(files, kubeletPort));
  const unread = runtime ?? kubelet ?? ofRuntime[0] ?? ofKubelet[0];
  if (unread !== undefined) await assertAllowed(files.list(`/proc/${unread.pid}/fd`));
  const configured = ofKubelet.length === 0 ? await findFirst(files, KUBELET_FILES) : undefined;
  const starting = runtime === undefined ? await findStarting(files, ofRuntime) : undefined;
  return {
    ...(runtime === undefined ? {} : { runtime: await readDaemon(files, runtime) }),
    ...(starting === undefined ? {} : { startingRuntime: starting }),
    ...(kubelet === undefined ? {} : { kubelet: await readDaemon(files, kubelet) }),
    ...(configured === undefined ? {} : { kubeletConfigured: configured }),
  };
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
    if ((await findListener(files, [process], listening)) === undefined)
      return { pid: process.pid, command: process.command, forMs };
  }
  return undefined;
}

/** Puts what the CPU's counters say that came between two readings in the place of what they say since the start. */
export function sinceFirst(first: Daemon | undefined, second: Daemon): Daemon {
  const { cpuPeriods: now, ...rest } = second;
  const before = first?.pid === second.pid ? first.cpuPeriods : undefined;
  if (now === undefined || before === undefined) return rest;
  const cpuPeriods = { used: now.used - before.used, limit: now.limit - before.limit };
  return { ...rest, cpuPeriods };
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
  const numberIn = async (path: string): Promise<number> => Number((await files.find(path)) ?? NaN);
  const spentIn = async (
    folder: string,
    used: readonly string[],
    limit: readonly string[],
  ): Promise<Spent> => ({
    used: await firstNumber(used.map((name) => numberIn(`${folder}/${name}`))),
    limit: await firstNumber(limit.map((name) => numberIn(`${folder}/${name}`))),
  });
  const cpu = (await files.find(`${folderOf('cpu')}/cpu.stat`)) ?? '';
  const counter = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(cpu)?.[1] ?? NaN);
  const limits = (await files.find(`/proc/${pid}/limits`)) ?? '';
  const frozenCgroup = await findFrozenCgroup(files, pid);
  const spent = {
    openFiles: {
      used: (await listFiles(files, pid)).length,
      limit: findSoftLimit(limits, 'Max open files') ?? NaN,
    },
    tasks: await spentIn(folderOf('pids'), ['pids.current'], ['pids.max']),
    memory: await spentIn(
      folderOf('memory'),
      ['memory.current', 'memory.usage_in_bytes'],
      ['memory.max', 'memory.limit_in_bytes'],
    ),
    cpuPeriods: { used: counter('nr_throttled'), limit: counter('nr_periods') },
  };
  return {
    ...{
      pid,
      command,
      ...(await readState(files, process)),
      forMs: ageOf(process, await readUptimeMs(files)),
    },
    ...(frozenCgroup === undefined ? {} : { frozenCgroup }),
    ...Object.fromEntries(
      Object.entries(spent).filter(([, { used, limit }]) => Number.isFinite(used) && limit < NO_LIMIT),
    ),
  };
}

async function firstNumber(values: readonly Promise<number>[]): Promise<number> {
  const numbers = await Promise.all(values);
  return numbers.find((number) => !Number.isNaN(number)) ?? NaN;
}
