import { type HostFiles } from '../facts/host-files.js';
import { listPids, readProcessesOf, readStateIn, type SeenProcess } from '../facts/process-table.js';
import { parseOciCommand } from './oci-calls.js';
import { isStopped } from '#base/proc/process-identity.js';
import { ageOf, readUptimeMs } from './process-state.js';

/** What a glance at the shims shows. */
export interface ShimGlance {
  /** Shims that a signal has stopped. */
  readonly stopped: number;
  /** Runtimes and kubelets that a signal has stopped, of this node or of others that run on it. */
  readonly stoppedDaemons: number;
  /** Calls of an OCI runtime below shims that have run for long. */
  readonly longCalls: number;
}

const DAEMONS = /^(containerd|crio|cri-dockerd|dockerd|kubelet)$/;
/** Containers start within a second or two; a node under load may need some more. */
const LONG_MS = 10_000;

/** What is known of a process that is read at each glance. */
interface Known {
  readonly kind: 'shim' | 'daemon';
  /** Of its line in the table of processes; another process may have its pid later. */
  readonly head: string;
}

/**
 * Sees from one glance to the next whether a shim or a daemon is stopped or a call of runc hangs.
 *
 * A process is read at two glances, as one that was just forked is not yet what it becomes. From then on only shims, daemons, and the
 * calls of runc that they wait for, are read again; of a shim and a daemon just the state.
 */
export class ShimGlancer {
  /** By pid. */
  readonly #known = new Map<number, Known>();
  /** By pid: what else it is. */
  readonly #seen = new Map<number, 'new' | 'call' | 'other'>();
  /** The processes when the last one was made; some of them may have ended since. */
  #pids: readonly number[] = [];
  /** Undefined where it says nothing of the processes that are seen. */
  #lastPid: number | undefined;

  /** Reads what is new, and what was of interest before. Rejects when there is no /proc. */
  async glance(files: HostFiles): Promise<ShimGlance> {
    const pids = await this.#list(files);
    const stopped = { shim: 0, daemon: 0 };
    const lines = await files.findAllAtOnce([...this.#known.keys()].map((pid) => `/proc/${pid}/stat`));
    for (const [at, [pid, { kind, head }]] of [...this.#known].entries()) {
      const now = readStateIn(lines[at] ?? '');
      if (now.head !== head) this.#known.delete(pid);
      else if (isStopped(now)) stopped[kind]++;
    }
    const wanted = pids.filter((pid) => this.#seen.get(pid) !== 'other' && !this.#known.has(pid));
    const read = await readProcessesOf(files, wanted);
    for (const process of read) {
      const kind = kindOf(process);
      if (kind === undefined) continue;
      this.#known.set(process.pid, { kind, head: `${process.pid} (${process.command})` });
      this.#seen.delete(process.pid);
      if (isStopped(process)) stopped[kind]++;
    }
    for (const process of read) await this.#settle(files, process);
    const uptimeMs = await readUptimeMs(files);
    const calls = read.filter(({ pid }) => this.#seen.get(pid) === 'call');
    return {
      ...{ stopped: stopped.shim, stoppedDaemons: stopped.daemon },
      longCalls: calls.filter((call) => ageOf(call, uptimeMs) >= LONG_MS).length,
    };
  }

  /** The list of all processes takes as long as reading the state of dozens, and on an idle node nobody forks for minutes. */
  async #list(files: HostFiles): Promise<readonly number[]> {
    // Read first: what is made meanwhile is listed again.
    const lastPid = await findLastPid(files);
    if (lastPid !== undefined && lastPid === this.#lastPid) return this.#pids;
    this.#pids = await listPids(files);
    const before = this.#lastPid;
    this.#lastPid = lastPid;
    const there = new Set(this.#pids);
    for (const byPid of [this.#known, this.#seen])
      for (const pid of byPid.keys()) if (!there.has(pid)) byPid.delete(pid);
    // Of two processes with the same pid, the first may have ended while there was no list.
    for (const pid of this.#seen.keys()) if (isGiven(pid, before, lastPid)) this.#seen.delete(pid);
    return this.#pids;
  }

  async #settle(files: HostFiles, { pid, parent }: SeenProcess): Promise<void> {
    const kind = this.#seen.get(pid);
    if (this.#known.has(pid) || kind === 'call') return;
    const isCall =
      this.#known.get(parent)?.kind === 'shim' &&
      parseOciCommand((await files.find(`/proc/${pid}/cmdline`)) ?? '') !== undefined;
    this.#seen.set(pid, isCall ? 'call' : kind === undefined ? 'new' : 'other');
  }
}

/** The pid that was given last, which the kernel tells of the pid namespace of whoever asks: undefined where /proc shows another. */
async function findLastPid(files: HostFiles): Promise<number | undefined> {
  if ((await files.findLink('/proc/self')) !== String(process.pid)) return undefined;
  const text = await files.find('/proc/sys/kernel/ns_last_pid');
  return text === undefined ? undefined : Number(text);
}

/** Whether a pid was given to another process in between: the kernel gives them in order, and begins again behind the largest. */
function isGiven(pid: number, before: number | undefined, last: number | undefined): boolean {
  if (before === undefined || last === undefined) return false;
  return before < last ? pid > before && pid <= last : pid > before || pid <= last;
}

function kindOf({ command }: SeenProcess): Known['kind'] | undefined {
  // The kernel keeps fifteen characters of a name.
  if (command.startsWith('containerd-shim')) return 'shim';
  return DAEMONS.test(command) ? 'daemon' : undefined;
}
