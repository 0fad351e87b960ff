import { dirname } from 'node:path';
import { findSoftLimit, parseUptimeMs, splitStatLine, TICK_MS } from '#base/proc/proc-text.js';
import { type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { type NamedProcess, type ProcessState, type Spent } from './host-facts.js';

/** Milliseconds since the machine started. */
export async function readUptimeMs(files: HostFiles): Promise<number> {
  return parseUptimeMs((await files.find('/proc/uptime')) ?? '0');
}

/** How long a process has run, by the uptime of {@link readUptimeMs}. */
export function ageOf({ startTicks }: Pick<SeenProcess, 'startTicks'>, uptimeMs: number): number {
  return Math.max(0, uptimeMs - Number(startTicks) * TICK_MS);
}

/** How many files a process has open, and may have: 0 and NaN where that may not be read. */
export async function readOpenFiles(files: HostFiles, pid: number): Promise<Spent> {
  const limits = (await files.find(`/proc/${pid}/limits`)) ?? '';
  const open = await files.list(`/proc/${pid}/fd`).catch(() => []);
  return { used: open.length, limit: findSoftLimit(limits, 'Max open files') ?? NaN };
}

/** What a process does now. */
export async function readState(
  files: HostFiles,
  { pid, state }: Pick<SeenProcess, 'pid' | 'state'>,
): Promise<ProcessState> {
  const wchan = ((await files.find(`/proc/${pid}/wchan`)) ?? '').trim();
  const tracer = state === 't' ? await findTracer(files, pid) : undefined;
  return { state, waitsIn: wchan === '0' ? '' : wchan, ...(tracer === undefined ? {} : { tracer }) };
}

/** Whether a process stands still until somebody lets it go on: a signal has stopped it, or a debugger holds it. */
export function standsStill({ state, tracer }: Pick<ProcessState, 'state' | 'tracer'>): boolean {
  return state === 'T' || tracer !== undefined;
}

/** A process whose calls are traced stops at each of them for some microseconds. */
const TRACED_MS = 100;

/** The debugger that holds a process; undefined where it lets it go on from time to time, as strace does. */
async function findTracer(files: HostFiles, pid: number): Promise<NamedProcess | undefined> {
  const before = await readTraced(files, pid);
  await files.pause(TRACED_MS);
  const after = await readTraced(files, pid);
  if (before === undefined || after === undefined || before.switches !== after.switches) return undefined;
  const line = await files.find(`/proc/${after.tracer}/stat`);
  return { pid: after.tracer, command: (line && splitStatLine(line)?.command) ?? '' };
}

/** Who holds a process that is in a tracing stop now, and how often it has run. */
async function readTraced(
  files: HostFiles,
  pid: number,
): Promise<{ readonly tracer: number; readonly switches: string } | undefined> {
  const status = (await files.find(`/proc/${pid}/status`)) ?? '';
  const tracer = Number(/^TracerPid:\s*(\d+)$/m.exec(status)?.[1] ?? 0);
  if (tracer === 0 || !/^State:\s*t/m.test(status)) return undefined;
  return { tracer, switches: findSwitches(status) };
}

/** How often a thread has run, by the text of its `status`. */
export function findSwitches(status: string): string {
  return [...status.matchAll(/^\w*ctxt_switches:\s*(\d+)$/gm)].map(([, count]) => count).join('+');
}

/**
 * Whether a process is in a namespace of pids below the one that is read. So are the Docker and the cluster that somebody runs in a
 * container, with shims, daemons and sockets of their own by the same names, which are no part of this node.
 */
export async function isNested(files: HostFiles, pid: number): Promise<boolean> {
  const pids = /^NSpid:\s*(\d.*)$/m.exec((await files.find(`/proc/${pid}/status`)) ?? '')?.[1] ?? '';
  return pids.trim().split(/\s+/).length > 1;
}

/**
 * The folder of the frozen cgroup that a process is in, or of the one above that with which it is frozen; undefined when it is in
 * none. What the process sleeps in does not show it: on cgroup v1 a task that slept when it was frozen goes on sleeping there.
 */
export async function findFrozenCgroup(files: HostFiles, pid: number): Promise<string | undefined> {
  const folder = findCgroup((await files.find(`/proc/${pid}/cgroup`)) ?? '', 'freezer');
  if (folder === undefined) return undefined;
  // The root cannot be frozen.
  if (folder === '/sys/fs/cgroup/freezer/' || folder === '/sys/fs/cgroup/') return undefined;
  const isFrozen =
    (await files.find(`${folder}/freezer.state`))?.trim() === 'FROZEN' ||
    /^frozen 1$/m.test((await files.find(`${folder}/cgroup.events`)) ?? '');
  return isFrozen ? ((await findFreezer(files, folder)) ?? folder) : undefined;
}

/** The nearest cgroup that was itself told to freeze: to thaw one below it changes nothing. */
async function findFreezer(files: HostFiles, folder: string): Promise<string | undefined> {
  for (let at = folder; at.startsWith('/sys/fs/cgroup/'); at = dirname(at)) {
    for (const name of ['cgroup.freeze', 'freezer.self_freezing'])
      if ((await files.find(`${at}/${name}`))?.trim() === '1') return at;
  }
  return undefined;
}

/** Of a pod of an API server, or of a file; systemd's names have underscores. */
const POD_UID = /\bpod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})\b/;

/** The uid of a pod in the path of a cgroup. */
export function findPodUidOf(cgroup: string): string | undefined {
  return POD_UID.exec(cgroup)?.[1]!.replaceAll('_', '-');
}

/** The id of a container, in the path of its cgroup. */
const ID = /[0-9a-f]{64}/;

/**
 * Whether a process is in a container that its parent is outside of, by their cgroups. Where containers are nested in another one
 * both have an id in theirs, but not the same cgroup.
 */
export async function isInContainer(
  files: HostFiles,
  { pid, parent }: Pick<SeenProcess, 'pid' | 'parent'>,
): Promise<boolean> {
  const own = (await files.find(`/proc/${pid}/cgroup`)) ?? '';
  return ID.test(own) && own !== (await files.findOnce(`/proc/${parent}/cgroup`));
}

/**
 * The folder of a process's cgroup of that controller, on cgroup v1, or of its only cgroup, on v2. Who reads in a cgroup
 * namespace of its own sees others at `/../..` above its own cgroup; the machine's root is taken for what is that far up.
 */
export function findCgroup(cgroupFile: string, controller: string): string | undefined {
  for (const line of cgroupFile.split('\n')) {
    const [id, names = '', ...words] = line.split(':');
    const path = words.join(':').replace(/^(?:\/\.\.)+(?=\/|$)/, '');
    if (names.split(',').includes(controller)) return `/sys/fs/cgroup/${controller}${path}`;
    if (id === '0' && names === '' && !cgroupFile.includes(`:${controller}:`)) return `/sys/fs/cgroup${path}`;
  }
  return undefined;
}
