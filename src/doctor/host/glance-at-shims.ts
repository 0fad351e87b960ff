import { type HostFiles } from '../facts/host-files.js';
import { listPids, readProcessesOf, type SeenProcess } from '../facts/process-table.js';
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

/**
 * Sees from one glance to the next whether a shim or a daemon is stopped or a call of runc hangs.
 *
 * A process is read at two glances, as one that was just forked is not yet what it becomes. From then on only shims, daemons, and the
 * calls of runc that they wait for, are read again.
 */
export class ShimGlancer {
  /** By pid: what it is. */
  readonly #seen = new Map<number, 'new' | 'shim' | 'daemon' | 'call' | 'other'>();

  /** Reads what is new, and what was of interest before. Rejects when there is no /proc. */
  async glance(files: HostFiles): Promise<ShimGlance> {
    const pids = await listPids(files);
    const there = new Set(pids);
    for (const pid of this.#seen.keys()) if (!there.has(pid)) this.#seen.delete(pid);
    const wanted = pids.filter((pid) => this.#seen.get(pid) !== 'other');
    const read = await readProcessesOf(files, wanted);
    // The kernel keeps fifteen characters of a name.
    const shims = read.filter(({ command }) => command.startsWith('containerd-shim'));
    for (const { pid } of shims) this.#seen.set(pid, 'shim');
    const daemons = read.filter(({ command }) => DAEMONS.test(command));
    for (const { pid } of daemons) this.#seen.set(pid, 'daemon');
    for (const process of read) await this.#settle(files, process);
    const uptimeMs = await readUptimeMs(files);
    const calls = read.filter(({ pid }) => this.#seen.get(pid) === 'call');
    return {
      stopped: shims.filter(isStopped).length,
      stoppedDaemons: daemons.filter(isStopped).length,
      longCalls: calls.filter((call) => ageOf(call, uptimeMs) >= LONG_MS).length,
    };
  }

  async #settle(files: HostFiles, { pid, parent }: SeenProcess): Promise<void> {
    const kind = this.#seen.get(pid);
    if (kind === 'shim' || kind === 'daemon' || kind === 'call') return;
    const isCall =
      this.#seen.get(parent) === 'shim' &&
      parseOciCommand((await files.find(`/proc/${pid}/cmdline`)) ?? '') !== undefined;
    this.#seen.set(pid, isCall ? 'call' : kind === undefined ? 'new' : 'other');
  }
}
