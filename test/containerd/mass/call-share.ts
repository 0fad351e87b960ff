import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CriCall, criCallEnded, criCallStarted } from '#base/channels/channels.js';
import { readThreadTime, Stretches, type ThreadTime, timeSince } from './thread-time.js';

/** Calls that change the runtime; the others only look at it. */
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

/** Times of the thread that the agent runs in, from the beginning until some moment. */
export interface Shares {
  readonly all: ThreadTime;
  /** Of it, while no CRI call was under way, the stream of events aside: what the agent answers for alone. */
  readonly besideCalls: ThreadTime;
  /** Of that, while the agent knew of something to do. */
  readonly idleWithWork: ThreadTime;
  /** Of all of it, while no call was under way that changes the runtime. */
  readonly besideChanges: ThreadTime;
}

/** What was spent from the beginning until some moment. */
export interface Spent extends Shares {
  /** How many calls of each kind ended. */
  readonly calls: ReadonlyMap<string, number>;
  /** As rows of a table of results. */
  describe(of: string): Record<string, string>;
}

/**
 * Tells the time that an agent itself takes from that which it waits for its runtime, and that from waiting for a CPU
 * which the runtime's processes keep busy. To be made in the thread that the agent runs in.
 */
export class CallShare implements Disposable {
  readonly #runtimePid: number;
  readonly #started = readThreadTime();
  readonly #cpuBefore = process.cpuUsage();
  readonly #runtimeCpuBefore: Promise<number>;
  readonly #machineBefore = readMachine();
  readonly #calls = new Map<string, number>();
  /** Of all calls of a kind together. */
  readonly #durationsMs = new Map<string, number>();
  readonly #unsubscribe: (() => void)[];
  readonly #underWay = new Set<CriCall>();
  readonly #besideCalls = new Stretches();
  readonly #idleWithWork = new Stretches();
  readonly #besideChanges = new Stretches();
  #hasWork = true;

  /** Lets what went before come to its end, so that it is not counted. */
  static async settle(): Promise<void> {
    await sleep(1_500);
  }

  constructor(runtimePid: number) {
    this.#runtimePid = runtimePid;
    this.#runtimeCpuBefore = readCpuMs(runtimePid);
    this.#unsubscribe = [
      criCallStarted.subscribe((call) => {
        if (call.streaming) return;
        this.#underWay.add(call);
        this.#tellApart();
      }),
      criCallEnded.subscribe(({ call, durationMs }) => {
        const { method } = call;
        this.#calls.set(method, (this.#calls.get(method) ?? 0) + 1);
        this.#durationsMs.set(method, (this.#durationsMs.get(method) ?? 0) + durationMs);
        this.#underWay.delete(call);
        this.#tellApart();
      }),
    ];
    this.#tellApart();
  }

  /** Whether there is something to do that the agent knows of: from the beginning unless told. */
  noteWork(hasWork: boolean): void {
    this.#hasWork = hasWork;
    this.#tellApart();
  }

  /** From the beginning until now; at once. */
  shares(): Shares {
    return {
      all: timeSince(this.#started),
      besideCalls: this.#besideCalls.total,
      idleWithWork: this.#idleWithWork.total,
      besideChanges: this.#besideChanges.total,
    };
  }

  /** As {@link shares}, and more. */
  async spent(): Promise<Spent> {
    const shares = this.shares();
    const { user, system } = process.cpuUsage(this.#cpuBefore);
    const runtimeCpuMs = (await readCpuMs(this.#runtimePid)) - (await this.#runtimeCpuBefore);
    const [before, after] = [await this.#machineBefore, await readMachine()];
    const idle = (after.idle - before.idle) / (after.all - before.all);
    const calls = new Map(this.#calls);
    const listed = [...calls].map(([method, count]) => {
      const meanMs = (this.#durationsMs.get(method) ?? 0) / count;
      return `${method} ${count} (${meanMs.toFixed(0)} ms)`;
    });
    return {
      ...shares,
      calls,
      describe: (of) => ({
        [`${of}: in all, s`]: seconds(shares.all.wallMs),
        [`${of}: no CRI call under way, s`]: describeTime(shares.besideCalls),
        [`${of}: no CRI call under way and something to do, s`]: describeTime(shares.idleWithWork),
        [`${of}: no call under way that changes the runtime, s`]: describeTime(shares.besideChanges),
        [`${of}: CPU of the agent, s`]: seconds((user + system) / 1_000),
        [`${of}: CPU of containerd without its shims, s`]: seconds(runtimeCpuMs),
        [`${of}: idle time of the machine, %`]: (100 * idle).toFixed(0),
        [`${of}: CRI calls, mean`]: listed.join(', '),
      }),
    };
  }

  [Symbol.dispose](): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #tellApart(): void {
    const isChanging = [...this.#underWay].some(({ method }) => CHANGES.has(method));
    const isIdle = this.#underWay.size === 0;
    this.#besideCalls[isIdle ? 'begin' : 'end']();
    this.#idleWithWork[isIdle && this.#hasWork ? 'begin' : 'end']();
    this.#besideChanges[isChanging ? 'end' : 'begin']();
  }
}

/** Without their unit, for tables. */
export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

function describeTime({ wallMs, cpuMs, queuedMs }: ThreadTime): string {
  const waitingMs = Math.max(0, wallMs - cpuMs - queuedMs);
  return `${seconds(wallMs)}: at work ${seconds(cpuMs)}, waiting for a CPU ${seconds(queuedMs)}, waiting for something else ${seconds(waitingMs)}`;
}

/** Of all threads of a process so far. */
async function readCpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name may hold anything; what follows it are numbers.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Ticks of all cores so far; idle ones include those in which a disk was waited for. */
async function readMachine(): Promise<{ readonly all: number; readonly idle: number }> {
  const [first = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  const [user = 0, nice = 0, system = 0, idle = 0, disk = 0, ...others] = first
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = [user, nice, system, ...others].reduce((sum, ticks) => sum + ticks, 0);
  return { all: busy + idle + disk, idle: idle + disk };
}
