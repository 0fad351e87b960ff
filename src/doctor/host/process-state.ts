import { parseUptimeMs, TICK_MS } from '#base/proc/proc-text.js';
import { type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { type ProcessState } from './host-facts.js';

/** Milliseconds since the machine started. */
export async function readUptimeMs(files: HostFiles): Promise<number> {
  return parseUptimeMs((await files.find('/proc/uptime')) ?? '0');
}

/** How long a process has run, by the uptime of {@link readUptimeMs}. */
export function ageOf({ startTicks }: Pick<SeenProcess, 'startTicks'>, uptimeMs: number): number {
  return Math.max(0, uptimeMs - Number(startTicks) * TICK_MS);
}

/** What a process does now. */
export async function readState(
  files: HostFiles,
  { pid, state }: Pick<SeenProcess, 'pid' | 'state'>,
): Promise<ProcessState> {
  const wchan = ((await files.find(`/proc/${pid}/wchan`)) ?? '').trim();
  return { state, waitsIn: wchan === '0' ? '' : wchan };
}

/** Whether a process is stopped by a signal or a debugger. */
export function isStopped({ state }: Pick<ProcessState, 'state'>): boolean {
  return state === 'T' || state === 't';
}

/**
 * The folder of the frozen cgroup that a process is in; undefined when it is in none. What the process sleeps in does
 * not show it: on cgroup v1 a task that slept when it was frozen goes on sleeping there.
 */
export async function findFrozenCgroup(files: HostFiles, pid: number): Promise<string | undefined> {
  const folder = findCgroup((await files.find(`/proc/${pid}/cgroup`)) ?? '', 'freezer');
  if (folder === undefined) return undefined;
  // The root cannot be frozen.
  if (folder === '/sys/fs/cgroup/freezer/' || folder === '/sys/fs/cgroup/') return undefined;
  const isFrozen =
    (await files.find(`${folder}/freezer.state`))?.trim() === 'FROZEN' ||
    /^frozen 1$/m.test((await files.find(`${folder}/cgroup.events`)) ?? '');
  return isFrozen ? folder : undefined;
}

/** The folder of a process's cgroup of that controller, on cgroup v1, or of its only cgroup, on v2. */
export function findCgroup(cgroupFile: string, controller: string): string | undefined {
  for (const line of cgroupFile.split('\n')) {
    const [id, names = '', ...path] = line.split(':');
    if (names.split(',').includes(controller)) return `/sys/fs/cgroup/${controller}${path.join(':')}`;
    if (id === '0' && names === '' && !cgroupFile.includes(`:${controller}:`))
      return `/sys/fs/cgroup${path.join(':')}`;
  }
  return undefined;
}
