import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that is still the same one: a pid alone may have been given to another. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since boot, from /proc/PID/stat. */
  readonly startTime: string;
}

interface ProcessFacts extends ProcessIdentity {
  readonly parentPid: number;
  readonly state: string;
}

/** Who has this pid now; undefined when nobody. */
export async function findProcess(pid: number): Promise<ProcessIdentity | undefined> {
  const facts = await readFacts(pid);
  return facts === undefined ? undefined : { pid, startTime: facts.startTime };
}

/** Whether that very process still runs (a zombie does not). */
export async function isAlive({ pid, startTime }: ProcessIdentity): Promise<boolean> {
  const facts = await readFacts(pid);
  return facts !== undefined && facts.startTime === startTime && facts.state !== 'Z' && facts.state !== 'X';
}

/** Sends a signal to that very process; does nothing when it is gone. */
export async function signalProcess(process_: ProcessIdentity, signal: NodeJS.Signals): Promise<void> {
  if (!(await isAlive(process_))) return;
  try {
    process.kill(process_.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Resolves with true once all are gone, with false when some are left after `timeoutMs`. */
export async function waitUntilGone(
  processes: readonly ProcessIdentity[],
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const alive = await Promise.all(processes.map(isAlive));
    if (!alive.includes(true)) return true;
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
}

/** The processes whose command line has all of these arguments. */
export async function findByArguments(...args: readonly string[]): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const pid of await allPids()) {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const words = commandLine.split('\0');
    if (!args.every((arg) => words.includes(arg))) continue;
    const identity = await findProcess(pid);
    if (identity !== undefined) found.push(identity);
  }
  return found;
}

/** The processes that have a file of this folder, or the folder itself, among their arguments; without this one. */
export async function findByFolder(folder: string): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const pid of (await allPids()).filter((each) => each !== process.pid)) {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (!words.some((word) => word === folder || word.startsWith(`${folder}/`))) continue;
    const identity = await findProcess(pid);
    if (identity !== undefined) found.push(identity);
  }
  return found;
}

/** All descendants of a process, children before grandchildren. */
export async function findDescendants(root: ProcessIdentity): Promise<ProcessIdentity[]> {
  const children = new Map<number, ProcessFacts[]>();
  for (const pid of await allPids()) {
    const facts = await readFacts(pid);
    if (facts !== undefined) children.set(facts.parentPid, [...(children.get(facts.parentPid) ?? []), facts]);
  }
  const found: ProcessIdentity[] = [];
  const waiting = [root.pid];
  for (let pid = waiting.shift(); pid !== undefined; pid = waiting.shift()) {
    for (const child of children.get(pid) ?? []) {
      found.push({ pid: child.pid, startTime: child.startTime });
      waiting.push(child.pid);
    }
  }
  return found;
}

async function allPids(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

async function readFacts(pid: number): Promise<ProcessFacts | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The second field is the command in parentheses, and may have spaces and parentheses in it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, state: fields[0] ?? '', parentPid: Number(fields[1]), startTime: fields[19] ?? '' };
}
