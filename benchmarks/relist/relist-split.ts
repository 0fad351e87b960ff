import { type Runtime } from '#watch';
import { criCallEnded } from '#base/channels/channels.js';
import { relistEnded } from '#base/channels/pleg-channels.js';
import { mean } from '../stats.js';

/** A moment of a relist. */
export interface Mark {
  readonly atMs: number;
  /** What the process had used of all CPUs by then, in milliseconds. */
  readonly cpuMs: number;
}

/** The moments of one relist, and what it says of itself. */
export interface RelistMarks {
  readonly began: Mark;
  /** Both calls were answered. */
  readonly called: Mark;
  /** The runtime handed out its pods. */
  readonly listed: Mark;
  readonly ended: Mark;
  readonly diffMs: number;
}

/** Where the time of a relist goes: means in milliseconds, which add up. */
export interface RelistParts {
  readonly totalMs: number;
  /** Until both calls were answered, as bytes: neither is read before. */
  readonly callsMs: number;
  /** From there until the runtime handed out its pods: decoding and grouping. */
  readonly decodeMs: number;
  /** Comparing with the records. */
  readonly diffMs: number;
  /** What is left. */
  readonly restMs: number;
  /** The same of the process's CPU time, all threads; the diff is part of the rest. */
  readonly cpuMs: number;
  readonly callsCpuMs: number;
  readonly decodeCpuMs: number;
  readonly restCpuMs: number;
}

/** Finds the parts of relists by their marks. */
export function partsOf(relists: readonly RelistMarks[]): RelistParts {
  const meanOf = (of: (marks: RelistMarks) => number): number => mean(relists.map(of));
  const diffMs = meanOf((marks) => marks.diffMs);
  return {
    totalMs: meanOf(({ began, ended }) => ended.atMs - began.atMs),
    callsMs: meanOf(({ began, called }) => called.atMs - began.atMs),
    decodeMs: meanOf(({ called, listed }) => listed.atMs - called.atMs),
    diffMs,
    restMs: meanOf(({ listed, ended }) => ended.atMs - listed.atMs) - diffMs,
    cpuMs: meanOf(({ began, ended }) => ended.cpuMs - began.cpuMs),
    callsCpuMs: meanOf(({ began, called }) => called.cpuMs - began.cpuMs),
    decodeCpuMs: meanOf(({ called, listed }) => listed.cpuMs - called.cpuMs),
    restCpuMs: meanOf(({ listed, ended }) => ended.cpuMs - listed.cpuMs),
  };
}

/** Relists while listening to what the client and the generator publish; slower by what the listening costs. */
export class RelistSplit {
  readonly #relist: () => Promise<void>;
  readonly #runtime: TimedRuntime;
  readonly #relists: RelistMarks[] = [];
  #answerBytes = 0;

  constructor(relist: () => Promise<void>, runtime: TimedRuntime) {
    this.#relist = relist;
    this.#runtime = runtime;
  }

  /** Of all relists so far. */
  get parts(): RelistParts {
    return partsOf(this.#relists);
  }

  /** Size of the answers of the last one. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /** Listens to one relist, and to none after it. */
  async run(): Promise<void> {
    let [answerBytes, diffMs] = [0, 0];
    const began = mark();
    let [called, listed] = [began, began];
    const stopListening = [
      criCallEnded.subscribe(({ responseBytes }) => {
        called = mark();
        answerBytes += responseBytes;
      }),
      relistEnded.subscribe((end) => (diffMs = end.diffMs)),
    ];
    this.#runtime.onListed = () => (listed = mark());
    try {
      await this.#relist();
      this.#relists.push({ began, called, listed, ended: mark(), diffMs });
      this.#answerBytes = answerBytes;
    } finally {
      this.#runtime.onListed = undefined;
      for (const stop of stopListening) stop();
    }
  }
}

/** Tells when a list is handed out. */
export class TimedRuntime implements Runtime {
  onListed: (() => void) | undefined;
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  async listPods(signal?: AbortSignal): ReturnType<Runtime['listPods']> {
    const pods = await this.#runtime.listPods(signal);
    this.onListed?.();
    return pods;
  }

  findPod(uid: string, signal?: AbortSignal): ReturnType<Runtime['findPod']> {
    return this.#runtime.findPod(uid, signal);
  }

  getPodStatus(...args: Parameters<Runtime['getPodStatus']>): ReturnType<Runtime['getPodStatus']> {
    return this.#runtime.getPodStatus(...args);
  }
}

function mark(): Mark {
  const { user, system } = process.cpuUsage();
  return { atMs: performance.now(), cpuMs: (user + system) / 1_000 };
}
