import { readFile, readdir } from 'node:fs/promises';
import { type Clock, type ClockTimer } from '../../util/clock.js';
import { systemCodeOf } from '../../util/system-code.js';
import { isAlive, parseProcessStat, type ProcessIdentity, type ProcessStat } from './process-identity.js';

/** The variable in a container's environment by which its processes are known even after they left its session. */
export const CONTAINER_MARK = 'PODLOOP_CONTAINER_ID';

/** A process as one look at /proc shows it. */
export interface ProcessEntry extends ProcessStat {
  /** The value of {@link CONTAINER_MARK}; empty when it has none or may not be read. */
  readonly containerId: string;
}

/** How many processes are read before other work gets its turn. */
const SLICE = 32;
const SWEEP_MS = 500;
const MARK = Buffer.from(`\0${CONTAINER_MARK}=`);

/**
 * Finds and kills the processes of containers through /proc.
 *
 * One look costs about 30 µs a process, so everybody who asks while a look is being prepared shares it.
 */
export class ProcessTable {
  readonly #clock: Clock;
  readonly #ended = new Map<string, ProcessIdentity | undefined>();
  #timer: ClockTimer | undefined;
  #next: Promise<readonly ProcessEntry[]> | undefined;

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** Every process, as seen after the call. */
  scan(): Promise<readonly ProcessEntry[]> {
    this.#next ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#next = undefined;
      return readAll();
    });
    return this.#next;
  }

  /**
   * Sends SIGKILL to everything that belongs to a container until nothing is left, or five looks were in vain.
   *
   * @param main its entrypoint, alive or dead; undefined when it never ran.
   */
  async killContainer(containerId: string, main: ProcessIdentity | undefined): Promise<void> {
    for (let look = 0; look < 5; look++) {
      const found = membersOf(await this.scan(), containerId, main);
      if (found.length === 0) return;
      for (const member of found) sendSignal(member, 'SIGKILL');
    }
  }

  /**
   * Kills, within half a second, what a container that has ended left behind outside of its process group. One
   * look serves all containers that end meanwhile.
   */
  sweepSoon(containerId: string, main: ProcessIdentity | undefined): void {
    this.#ended.set(containerId, main);
    this.#planSweep();
  }

  /** Whether a container's leftovers are still to be looked for. */
  awaitsSweep(containerId: string): boolean {
    return this.#ended.has(containerId);
  }

  /** Kills what ended containers left behind, now. */
  async sweep(): Promise<void> {
    const ended = [...this.#ended];
    if (ended.length === 0) return;
    const processes = await this.scan();
    for (const [id, main] of ended) {
      this.#ended.delete(id);
      for (const member of membersOf(processes, id, main)) sendSignal(member, 'SIGKILL');
    }
  }

  #planSweep(): void {
    this.#timer ??= this.#clock.setTimer(
      SWEEP_MS,
      () => {
        this.#timer = undefined;
        // /proc not readable, for want of file descriptors: what is left to do stays, and is tried again.
        this.sweep().catch(() => this.#planSweep());
      },
      { unref: true },
    );
  }
}

/** Which processes belong to a container: those of its entrypoint's session, and those that bear its mark. */
export function membersOf(
  processes: readonly ProcessEntry[],
  containerId: string,
  main: ProcessIdentity | undefined,
): readonly ProcessEntry[] {
  // The kernel gives a pid to nobody else while a session of that number has members. A process with our number
  // and another start time therefore proves that nothing of our session was left.
  const recycled = processes.some((p) => p.pid === main?.pid && p.startTicks !== main.startTicks);
  const session = recycled ? undefined : main?.pid;
  return processes.filter(
    (p) => p.state !== 'Z' && p.state !== 'X' && (p.session === session || p.containerId === containerId),
  );
}

/** Signals exactly this process; false when it is gone. */
export function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals | number): boolean {
  return isAlive(identity) && kill(identity.pid, signal);
}

/** Signals the process group that a live entrypoint leads, or the entrypoint alone before it leads one. */
export function sendGroupSignal(main: ProcessIdentity, signal: NodeJS.Signals | number): boolean {
  return isAlive(main) && (kill(-main.pid, signal) || kill(main.pid, signal));
}

function kill(pid: number, signal: NodeJS.Signals | number): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === 'ESRCH' || code === 'EPERM') return false;
    throw error;
  }
}

async function readAll(): Promise<ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const entries: ProcessEntry[] = [];
  for (let at = 0; at < pids.length; at += SLICE) {
    const slice = await Promise.all(pids.slice(at, at + SLICE).map(readEntry));
    for (const entry of slice) if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

async function readEntry(pid: string): Promise<ProcessEntry | undefined> {
  try {
    const stat = parseProcessStat(await readFile(`/proc/${pid}/stat`, 'latin1'));
    return stat && { ...stat, containerId: await readMark(pid) };
  } catch {
    return undefined;
  }
}

async function readMark(pid: string): Promise<string> {
  try {
    const environment = Buffer.concat([Buffer.of(0), await readFile(`/proc/${pid}/environ`)]);
    const at = environment.indexOf(MARK);
    if (at < 0) return '';
    const start = at + MARK.length;
    const end = environment.indexOf(0, start);
    return environment.toString('latin1', start, end < 0 ? undefined : end);
  } catch {
    return '';
  }
}
