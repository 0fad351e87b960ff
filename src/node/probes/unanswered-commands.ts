import { type Clock } from '#base/time/clock.js';

/** Limit of unanswered commands of one probe, as each leaves its processes in a container. */
export const MAX_UNANSWERED = 5;
/** Delay before one more may start: as often as with a kubelet, which waits that long for each. */
const BEGIN_AGAIN_MS = 120_000;
/** A container that was not probed for this long is not probed any more. */
const FORGET_MS = 3_600_000;

interface UnansweredProbe {
  count: number;
  lastBegunMs: number;
}

/**
 * Unanswered commands of probes, by probe: each may have left processes in its container.
 *
 * After {@link MAX_UNANSWERED} of one probe, the next ones start only every two minutes. An answer in time
 * shows that the probe no longer hangs, and ends that; a late answer makes room for one.
 */
export class UnansweredCommands {
  readonly #clock: Clock;
  readonly #probes = new Map<string, UnansweredProbe>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** The number of unanswered commands of a probe; 0 for one that answers. */
  countOf(key: string): number {
    return this.#probes.get(key)?.count ?? 0;
  }

  /** Whether a further command of that probe may start now. */
  mayBegin(key: string): boolean {
    const probe = this.#probes.get(key);
    if (probe === undefined || probe.count < MAX_UNANSWERED) return true;
    return this.#clock.monotonicMs() - probe.lastBegunMs >= BEGIN_AGAIN_MS;
  }

  /** Records a command that was given up; returns a function to call when it is answered after all. */
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
