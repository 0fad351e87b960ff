import { withinTime } from '#base/async/within-time.js';
import { type Clock } from '#base/time/clock.js';
import { emptyPodStatus, type PodStatus, type Runtime } from '#watch';
import { readPodParts } from '../loop/read-pod-parts.js';

/** Limit for the status of an ended pod, in milliseconds: a list says sooner whether it has ended. */
const READ_LIMIT_MS = 30_000;

interface PodReaderOptions {
  readonly runtime: Pick<Runtime, 'findPod' | 'getPodStatus'>;
  readonly clock: Clock;
}

/** Reads what the runtime has of a pod now. */
export class PodReader {
  readonly #options: PodReaderOptions;

  constructor(options: PodReaderOptions) {
    this.#options = options;
  }

  /**
   * The remains of a pod that was ended: a full status, unless that is known to be unavailable or takes too
   * long.
   */
  async readAtEnd(uid: string, signal: AbortSignal, isPartial = false): Promise<PodStatus> {
    const { runtime, clock } = this.#options;
    const late = new Error('late');
    try {
      if (isPartial) throw late;
      const limits = { clock, limitMs: READ_LIMIT_MS, late: () => late, signal };
      return await withinTime(limits, (inTime) => this.read(uid, inTime));
    } catch (error) {
      if (error !== late) throw error;
      return await readPodParts(uid, { runtime, clock }, signal);
    }
  }

  /** Its full status; an empty one for a pod that the runtime does not have. */
  async read(uid: string, signal: AbortSignal): Promise<PodStatus> {
    const { runtime } = this.#options;
    const pod = await runtime.findPod(uid, signal);
    return pod === undefined ? emptyPodStatus(uid) : await runtime.getPodStatus(pod, signal);
  }
}
