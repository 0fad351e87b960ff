import { readFile, readdir } from 'node:fs/promises';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { isAlive, parseProcessStat, type ProcessIdentity, type ProcessStat } from './child-identity.js';

/** The variable in a container's environment by which its processes are known even after they left its session. */
export const CONTAINER_MARK = 'PODLOOP_CONTAINER_ID';

/** A process as one scan of /proc shows it. */
export interface ProcessEntry extends ProcessStat {
  /** The value of {@link CONTAINER_MARK}; empty when it has none or may not be read. */
  readonly containerId: string;
}

/** The process that has led a container's session: its entrypoint, alive or dead. */
export interface SessionLeader extends ProcessIdentity {
  /**
   * A time at which it still had its number, in clock ticks since the start of the machine: when it was seen to run or to
   * end. Undefined when nobody knows.
   */
  readonly heldUntilTicks?: number | undefined;
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
  readonly #ended = new Map<string, SessionLeader | undefined>();
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
   * @param leader its entrypoint, alive or dead; undefined when it never ran.
   */
  async killContainer(containerId: string, leader: SessionLeader | undefined): Promise<void> {
    let known = leader;
    for (let look = 0; look < 5; look++) {
      const processes = await this.scan();
      const found = membersOf(processes, containerId, known);
      if (found.length === 0) return;
      // What was its session a moment ago still is: no number comes round in so short a time.
      if (leader !== undefined && found.some(({ session }) => session === leader.pid))
        known = { ...leader, heldUntilTicks: Infinity };
      for (const member of found) sendSignal(member, 'SIGKILL');
    }
  }

  /**
   * Kills, within half a second, what a container that has ended left behind outside of its process group. One
   * look serves all containers that end meanwhile.
   */
  sweepSoon(containerId: string, leader: SessionLeader | undefined): void {
    this.#ended.set(containerId, leader);
    this.#planSweep();
  }

  /** Whether a search for a container's leftover processes is still due. */
  awaitsSweep(containerId: string): boolean {
    return this.#ended.has(containerId);
  }

  /** Kills what ended containers left behind, now. */
  async sweep(): Promise<void> {
    const ended = [...this.#ended];
    if (ended.length === 0) return;
    const processes = await this.scan();
    for (const [id, leader] of ended) {
      this.#ended.delete(id);
      for (const member of membersOf(processes, id, leader)) sendSignal(member, 'SIGKILL');
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
  leader: SessionLeader | undefined,
): readonly ProcessEntry[] {
  const session = leader && leadsStill(processes, containerId, leader) ? leader.pid : undefined;
  return processes.filter(
    (p) => p.state !== 'Z' && p.state !== 'X' && (p.session === session || p.containerId === containerId),
  );
}

/**
 * Whether the session of a number is the one that a leader began.
 *
 * The kernel gives a number to nobody else while a session of that number has members. So the leader's number with
 * another start time proves that nothing was left of the session. Without a leader the session may be that of a
 * stranger who got the number later and has ended, too, as daemons do. Nobody joins a session but by birth: it is ours
 * when one of its members bears our mark, or was born while the number was still the leader's.
 */
function leadsStill(
  processes: readonly ProcessEntry[],
  containerId: string,
  { pid, startTicks, heldUntilTicks = -1 }: SessionLeader,
): boolean {
  const holder = processes.find((p) => p.pid === pid);
  if (holder !== undefined) return holder.startTicks === startTicks;
  return processes.some(
    (p) => p.session === pid && (p.containerId === containerId || Number(p.startTicks) <= heldUntilTicks),
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
