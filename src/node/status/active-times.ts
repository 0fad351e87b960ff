import { type Clock } from '#base/time/clock.js';

interface Sighting {
  readonly ageThenMs: number;
  readonly seenAtMs: number;
}

/**
 * How long pods have been active, immune to jumps of the wall clock.
 *
 * The start is compared with the wall clock once, on the first call; from then on the monotonic clock counts.
 */
export class ActiveTimes {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Sighting>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** `startTime`: from the pod's status, RFC 3339. In milliseconds, never negative. */
  activeForMs(podUid: string, startTime: string): number {
    const nowMs = this.#clock.monotonicMs();
    let sighting = this.#pods.get(podUid);
    if (sighting === undefined) {
      sighting = { ageThenMs: Math.max(0, this.#clock.now() - Date.parse(startTime)), seenAtMs: nowMs };
      this.#pods.set(podUid, sighting);
    }
    return sighting.ageThenMs + nowMs - sighting.seenAtMs;
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }
}
