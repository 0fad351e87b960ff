import { readFileSync } from 'node:fs';

/** What one thread has had of its machine, in milliseconds. */
export interface ThreadTime {
  readonly wallMs: number;
  /** It ran. */
  readonly cpuMs: number;
  /** It could have run, and every core was taken by others. */
  readonly queuedMs: number;
}

const NS_PER_MS = 1e6;

/** Of the calling thread, from some moment on: only differences mean something. Synchronous, some microseconds. */
export function readThreadTime(): ThreadTime {
  // Nanoseconds on a CPU, nanoseconds in a queue for one, and how often.
  const [ranNs, queuedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number);
  return { wallMs: performance.now(), cpuMs: ranNs! / NS_PER_MS, queuedMs: queuedNs! / NS_PER_MS };
}

/** What came between two readings. */
export function timeSince(before: ThreadTime, after: ThreadTime = readThreadTime()): ThreadTime {
  return add(after, before, -1);
}

/** Adds up the stretches of time in which something holds. */
export class Stretches {
  #since: ThreadTime | undefined;
  #total: ThreadTime = { wallMs: 0, cpuMs: 0, queuedMs: 0 };

  /** It holds from now on; nothing happens when it did. */
  begin(): void {
    this.#since ??= readThreadTime();
  }

  /** It does not hold any more; nothing happens when it did not. */
  end(): void {
    this.#total = this.total;
    this.#since = undefined;
  }

  /** Of all stretches, the one that has begun included. */
  get total(): ThreadTime {
    return this.#since === undefined ? this.#total : add(this.#total, timeSince(this.#since), 1);
  }
}

function add(one: ThreadTime, other: ThreadTime, sign: 1 | -1): ThreadTime {
  return {
    wallMs: one.wallMs + sign * other.wallMs,
    cpuMs: one.cpuMs + sign * other.cpuMs,
    queuedMs: one.queuedMs + sign * other.queuedMs,
  };
}
