import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { criCallEnded, criCallStarted } from '../../../src/util/channels.js';

/** Calls that change the runtime: what takes their time is the runtime's to answer for. */
const CHANGES: ReadonlySet<string> = new Set([
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
]);
/** Of Linux, for programs: always 100 a second. */
const MS_PER_TICK = 10;

/** What was spent between two moments. */
export interface Spent {
  readonly wallMs: number;
  /** In which no call was under way that changes the runtime. */
  readonly besideCallsMs: number;
  /** Of this process. */
  readonly cpuMs: number;
  /** Of containerd, without its shims. */
  readonly runtimeCpuMs: number;
  /** How many calls of each kind ended. */
  readonly calls: ReadonlyMap<string, number>;
  /** As rows of a table of results. */
  describe(of: string): Record<string, string>;
}

/** Tells the time that an agent itself takes from that which it waits for its runtime. */
export class CallShare implements Disposable {
  readonly #runtimePid: number;
  readonly #startedMs = performance.now();
  readonly #cpuBefore = process.cpuUsage();
  readonly #runtimeCpuBefore: Promise<number>;
  readonly #calls = new Map<string, number>();
  readonly #unsubscribe: (() => void)[];
  #underWay = 0;
  #freeSinceMs = this.#startedMs;
  #besideCallsMs = 0;

  /** Lets what went before come to its end, so that it is not counted. */
  static async settle(): Promise<void> {
    await sleep(1_500);
  }

  constructor(runtimePid: number) {
    this.#runtimePid = runtimePid;
    this.#runtimeCpuBefore = readCpuMs(runtimePid);
    this.#unsubscribe = [
      criCallStarted.subscribe(({ method }) => {
        if (!CHANGES.has(method)) return;
        if (this.#underWay++ === 0) this.#besideCallsMs += performance.now() - this.#freeSinceMs;
      }),
      criCallEnded.subscribe(({ call: { method } }) => {
        this.#calls.set(method, (this.#calls.get(method) ?? 0) + 1);
        if (CHANGES.has(method) && --this.#underWay === 0) this.#freeSinceMs = performance.now();
      }),
    ];
  }

  /** From the beginning until now. */
  async spent(): Promise<Spent> {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#cpuBefore);
    const free = this.#underWay === 0 ? now - this.#freeSinceMs : 0;
    const [wallMs, besideCallsMs, cpuMs] = [
      now - this.#startedMs,
      this.#besideCallsMs + free,
      (user + system) / 1_000,
    ];
    const runtimeCpuMs = (await readCpuMs(this.#runtimePid)) - (await this.#runtimeCpuBefore);
    const calls = new Map(this.#calls);
    const listed = [...calls].map(([method, count]) => `${method} ${count}`).join(', ');
    return {
      ...{ wallMs, besideCallsMs, cpuMs, runtimeCpuMs, calls },
      describe: (of) => ({
        [`${of}: in all, s`]: (wallMs / 1_000).toFixed(2),
        [`${of}: beside CRI calls, s`]: (besideCallsMs / 1_000).toFixed(2),
        [`${of}: CPU of the agent, s`]: (cpuMs / 1_000).toFixed(2),
        [`${of}: CPU of containerd without its shims, s`]: (runtimeCpuMs / 1_000).toFixed(2),
        [`${of}: CRI calls`]: listed,
      }),
    };
  }

  [Symbol.dispose](): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }
}

/** Of all threads of a process so far. */
async function readCpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name may hold anything; what follows it are numbers.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}
