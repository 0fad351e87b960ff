import { splitStatLine } from '#base/proc/proc-text.js';
import { type HostFiles } from '../facts/host-files.js';
import { inBatches, listPids } from '../facts/process-table.js';
import { groupBy } from '../group-by.js';

/** As many threads of a process, and as many processes of a CPU, are read. */
const MAX_READ = 256;

/** When a thread last got a CPU, by that CPU's own clock in milliseconds, and which one that was. */
interface LastRun {
  readonly cpu: string;
  readonly atMs: number;
}

/** What is asked beside the process. */
interface StandstillOptions {
  /** One thread alone (default: all of the process). */
  readonly thread?: number;
  /** For who asks about many processes at one time (default: read for this one). */
  readonly clocks?: CpuClocks;
}

/**
 * For how long no thread of a process has run, in milliseconds, or the one thread that is named; nothing where the kernel does not
 * say. One that was stopped, frozen or blocked ran until then.
 *
 * The kernel notes for each thread when it last got its CPU, by a clock of that CPU which leaves out what a hypervisor and interrupts
 * took, so that no other clock compares: what it shows now is taken from whatever has run on the same CPU last. Source: proc(5), and
 * `se.exec_start` of /proc/PID/sched in the kernel's Documentation/scheduler/sched-stats.rst.
 */
export async function readStandstill(
  files: HostFiles,
  pid: number,
  { thread, clocks = new CpuClocks(files) }: StandstillOptions = {},
): Promise<{ readonly stillForMs?: number }> {
  const tids =
    thread === undefined ? await files.list(`/proc/${pid}/task`).catch(() => []) : [String(thread)];
  const runs = await inBatches(tids.slice(0, MAX_READ), async (tid) =>
    readLastRun(files, `/proc/${pid}/task/${tid}`),
  );
  const idle: number[] = [];
  for (const run of runs) {
    const nowMs = run && (await clocks.find(run.cpu));
    if (nowMs !== undefined) idle.push(Math.max(0, nowMs - run!.atMs));
  }
  return idle.length === 0 ? {} : { stillForMs: Math.min(...idle) };
}

/** What the clocks of CPUs show at least; each is read once, when somebody first asks for it. */
export class CpuClocks {
  readonly #files: HostFiles;
  #foldersOf: Promise<ReadonlyMap<string | undefined, readonly ProcessFolder[]>> | undefined;
  readonly #clocks = new Map<string, Promise<number | undefined>>();

  constructor(files: HostFiles) {
    this.#files = files;
  }

  /** In milliseconds; undefined for a CPU on which no process was found. */
  async find(cpu: string): Promise<number | undefined> {
    let clock = this.#clocks.get(cpu);
    if (clock === undefined) this.#clocks.set(cpu, (clock = this.#read(cpu)));
    return await clock;
  }

  async #read(cpu: string): Promise<number | undefined> {
    this.#foldersOf ??= this.#listFolders();
    const onIt = ((await this.#foldersOf).get(cpu) ?? []).slice(0, MAX_READ);
    const runs = await inBatches(onIt, async ({ folder }) => readLastRun(this.#files, folder));
    // One that was moved since has a time of another clock.
    const times = runs.flatMap((run) => (run?.cpu === cpu ? [run.atMs] : []));
    return times.length > 0 ? Math.max(...times) : undefined;
  }

  /** The folders of all processes, by the CPU on which each ran last. */
  async #listFolders(): Promise<ReadonlyMap<string | undefined, readonly ProcessFolder[]>> {
    const found = await inBatches(await listPids(this.#files), async (pid): Promise<ProcessFolder> => {
      const folder = `/proc/${pid}`;
      return { folder, cpu: await readCpu(this.#files, folder) };
    });
    return groupBy(found, ({ cpu }) => cpu);
  }
}

interface ProcessFolder {
  readonly folder: string;
  readonly cpu: string | undefined;
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
