import { splitStatLine } from '#base/proc/proc-text.js';
import { type HostFiles } from '../facts/host-files.js';
import { inBatches, listPids } from '../facts/process-table.js';

/** As many threads of a process, and as many processes of a CPU, are read. */
const MAX_READ = 256;

/** When a thread last got a CPU, by that CPU's own clock in milliseconds, and which one that was. */
interface LastRun {
  readonly cpu: string;
  readonly atMs: number;
}

/** {@link findStandstillMs} as a part of what is known of a process. */
export async function readStandstill(
  files: HostFiles,
  pid: number,
  thread?: number,
): Promise<{ readonly stillForMs?: number }> {
  const stillForMs = await findStandstillMs(files, pid, thread);
  return stillForMs === undefined ? {} : { stillForMs };
}

/**
 * For how long no thread of a process has run, in milliseconds, or the one thread that is named; undefined where the kernel does not
 * say. One that was stopped, frozen or blocked ran until then.
 *
 * The kernel notes for each thread when it last got its CPU, by a clock of that CPU which leaves out what a hypervisor and interrupts
 * took, so that no other clock compares: what it shows now is taken from whatever has run on the same CPU last. Source: proc(5), and
 * `se.exec_start` of /proc/PID/sched in the kernel's Documentation/scheduler/sched-stats.rst.
 */
async function findStandstillMs(files: HostFiles, pid: number, thread?: number): Promise<number | undefined> {
  const tids =
    thread === undefined ? await files.list(`/proc/${pid}/task`).catch(() => []) : [String(thread)];
  const runs = await inBatches(tids.slice(0, MAX_READ), async (tid) =>
    readLastRun(files, `/proc/${pid}/task/${tid}`),
  );
  const known = runs.filter((run) => run !== undefined);
  if (known.length === 0) return undefined;
  const now = await readClocks(files, new Set(known.map(({ cpu }) => cpu)));
  const idle = known.flatMap(({ cpu, atMs }) => {
    const nowMs = now.get(cpu);
    return nowMs === undefined ? [] : [Math.max(0, nowMs - atMs)];
  });
  return idle.length === 0 ? undefined : Math.min(...idle);
}

/** What the clocks of these CPUs show at least. */
async function readClocks(files: HostFiles, cpus: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
  const folders = (await listPids(files)).map((pid) => `/proc/${pid}`);
  const cpuOf = await inBatches(folders, async (folder) => readCpu(files, folder));
  const clocks = new Map<string, number>();
  for (const cpu of cpus) {
    const onIt = folders.filter((_, at) => cpuOf[at] === cpu).slice(0, MAX_READ);
    const runs = await inBatches(onIt, async (folder) => readLastRun(files, folder));
    // One that was moved since has a time of another clock.
    const times = runs.flatMap((run) => (run?.cpu === cpu ? [run.atMs] : []));
    if (times.length > 0) clocks.set(cpu, Math.max(...times));
  }
  return clocks;
}

async function readLastRun(files: HostFiles, folder: string): Promise<LastRun | undefined> {
  const cpu = await readCpu(files, folder);
  const text = await files.find(`${folder}/sched`);
  // One that was moved meanwhile has a time of another clock.
  if (cpu !== (await readCpu(files, folder))) return undefined;
  const atMs = Number(/^se\.exec_start\s*:\s*([\d.]+)$/m.exec(text ?? '')?.[1] ?? NaN);
  return cpu === undefined || Number.isNaN(atMs) ? undefined : { cpu, atMs };
}

async function readCpu(files: HostFiles, folder: string): Promise<string | undefined> {
  const line = await files.find(`${folder}/stat`);
  return line === undefined ? undefined : splitStatLine(line)?.field(39);
}
