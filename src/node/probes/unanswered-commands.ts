import { type Clock } from '#base/time/clock.js';

/** So many unanswered commands of one probe leave their processes in a container at once. */
export const MAX_UNANSWERED = 5;
/** One more may be begun after this: as often as a kubelet would, which waits so long for each. */
const BEGIN_AGAIN_MS = 120_000;
/** Nobody probes a container any more that was not probed for so long. */
const FORGET_MS = 3_600_000;

interface UnansweredProbe {
  count: number;
  lastBegunMs: number;
}

/**
 * Commands of probes that the runtime has not answered, by probe: each may have left processes in its container.
 *
 * After {@link MAX_UNANSWERED} of one probe the next are begun every two minutes only. An answer in time says that the
 * probe no longer hangs, and ends that; a late answer makes room for one.
 */
export class UnansweredCommands {
  readonly #clock: Clock;
  readonly #probes = new Map<string, UnansweredProbe>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** How many of a probe are unanswered; 0 for one that answers. */
  countOf(key: string): number {
    return this.#probes.get(key)?.count ?? 0;
  }

  /** Whether a further command of that probe may be begun now. */
  mayBegin(key: string): boolean {
    const probe = this.#probes.get(key);
    if (probe === undefined || probe.count < MAX_UNANSWERED) return true;
    return this.#clock.monotonicMs() - probe.lastBegunMs >= BEGIN_AGAIN_MS;
  }

  /** The command that was begun then was given up. Gives what to call when it is answered after all. */
  add(key: string, begunMs: number): () => void {
    this.#forgetOld();
    const probe = this.#probes.get(key) ?? { count: 0, lastBegunMs: begunMs };
    this.#probes.set(key, probe);
    probe.count++;
    probe.lastBegunMs = begunMs;
    return () => {
      probe.count = Math.max(0, probe.count - 1);
    };
  }

  /** A command of that probe was answered in time. */
  clear(key: string): void {
    this.#probes.delete(key);
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { lastBegunMs }] of this.#probes) {
      if (nowMs - lastBegunMs >= FORGET_MS) this.#probes.delete(key);
    }
  }
}
