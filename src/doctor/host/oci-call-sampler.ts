import { linkAbort } from '#base/async/linked-abort.js';
import { type Clock } from '#base/time/clock.js';
import { CRI_NAMESPACE, readShims, type Shim } from '../facts/find-shims.js';
import { type HostFiles } from '../facts/host-files.js';
import { listPids, readProcessesOf, type SeenProcess } from '../facts/process-table.js';
import { findSameSocket } from '../facts/shim-addresses.js';
import { type OciCall } from './host-facts.js';
import { findCrioCallers, findOciCalls } from './oci-calls.js';
import { ageOf, readUptimeMs } from './process-state.js';

const PERIOD_MS = 1_000;
/** Older processes are not read again: whatever call has run for that long still runs at one of the two scans. */
const YOUNG_MS = 60_000;
/** New processes of one sample that are read. */
const MAX_NEW = 2_000;
/** Calls that are remembered. */
const MAX_CALLS = 1_000;

/**
 * Finds calls of the OCI runtime that end between the two scans of an examination: those which are slow for all pods.
 *
 * Each second it lists /proc and reads the processes that are younger than a minute, no others.
 */
export class OciCallSampler {
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #socketPath: string;
  readonly #processes = new Map<number, SeenProcess>();
  readonly #shims = new Map<number, Shim>();
  /** As last seen, by pid and start. */
  readonly #calls = new Map<string, OciCall>();
  #stop = linkAbort(undefined);
  #running: Promise<void> = Promise.resolve();

  constructor(options: { readonly files: HostFiles; readonly clock: Clock; readonly socketPath: string }) {
    this.#files = options.files;
    this.#clock = options.clock;
    this.#socketPath = options.socketPath;
  }

  /** Samples until {@link end}. @param processes of a scan that was just made */
  begin(processes: readonly SeenProcess[], signal: AbortSignal): void {
    this.know(processes);
    this.#stop = linkAbort(signal);
    this.#running = this.#run(this.#stop.signal).catch(() => undefined);
  }

  /** Takes over what a scan has read, so that a sample does not read it again. */
  know(processes: readonly SeenProcess[]): void {
    for (const process of processes) this.#processes.set(process.pid, process);
  }

  /** Ends the samples. Resolves with all calls that were seen, each as it was seen last. */
  async end(): Promise<readonly OciCall[]> {
    this.#stop.abort();
    await this.#running;
    this.#stop.unlink();
    return [...this.#calls.values()];
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.sample();
      await this.#clock.sleep(PERIOD_MS, signal);
    }
  }

  /** Takes one sample. */
  async sample(): Promise<void> {
    const uptimeMs = await readUptimeMs(this.#files);
    const young = await this.#readYoung(uptimeMs);
    const callers = [...(await this.#readShims()), ...findCrioCallers([...this.#processes.values()])];
    const calls = await findOciCalls(this.#files, young, callers, uptimeMs);
    for (const call of calls) {
      const startTicks = this.#processes.get(call.pid)?.startTicks ?? '';
      if (this.#calls.size < MAX_CALLS) this.#calls.set(`${call.pid} ${startTicks}`, call);
    }
  }

  /** Reads new processes and young ones, and forgets those that have ended. */
  async #readYoung(uptimeMs: number): Promise<SeenProcess[]> {
    const pids = await listPids(this.#files);
    const there = new Set(pids);
    for (const pid of [...this.#processes.keys()]) {
      if (there.has(pid)) continue;
      this.#processes.delete(pid);
      this.#shims.delete(pid);
    }
    const isYoung = (process: SeenProcess): boolean => ageOf(process, uptimeMs) < YOUNG_MS;
    const wanted = pids.filter((pid) => {
      const before = this.#processes.get(pid);
      return before === undefined || isYoung(before);
    });
    const read = await readProcessesOf(this.#files, wanted.slice(-MAX_NEW));
    for (const process of read) this.#processes.set(process.pid, process);
    return read.filter(isYoung);
  }

  /** The shims of the examined runtime; the command line of each is read once. */
  async #readShims(): Promise<Shim[]> {
    const unread = [...this.#processes.values()].filter(({ pid }) => !this.#shims.has(pid));
    for (const shim of await readShims(this.#files, unread)) this.#shims.set(shim.pid, shim);
    const shims = [...this.#shims.values()].filter(({ namespace }) => namespace === CRI_NAMESPACE);
    const addresses = new Set(shims.map(({ address }) => address));
    const own = await findSameSocket(this.#files, this.#socketPath, addresses);
    return shims.filter(({ address }) => own.has(address));
  }
}
