import { type ContainerStatus } from '../runtime/runtime.js';
import { type Clock } from '../util/clock.js';
import { type RunTimes } from './pod-actions.js';

interface Sighting {
  /** How old it was when it was first seen, by the clock on the wall; never negative. */
  readonly ageThenMs: number;
  /** When that was, by the monotonic clock. */
  readonly seenAtMs: number;
}

interface ContainerSightings {
  start: Sighting | undefined;
  end: Sighting | undefined;
  /** When it was last seen and had not ended, by the monotonic clock. */
  aliveAtMs: number | undefined;
}

/**
 * How long containers have been running and have been dead, told so that a jump of the clock on the wall changes
 * nothing.
 *
 * A runtime gives wall times. Each is compared with the wall once, when it is first seen; from then on the monotonic
 * clock counts. A jump can only do harm between the event itself and the first look, while nobody was watching, and
 * then no more than this: of an end, not more is believed than the time since the container was last seen alive.
 *
 * Owned by one pod's syncs: {@link observe} before each, {@link forget} once the pod is gone.
 */
export class ContainerAges {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Map<string, ContainerSightings>>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** Looks at all containers of a pod, and forgets those that are gone. */
  observe(podUid: string, containers: readonly ContainerStatus[]): RunTimes {
    const before = this.#pods.get(podUid);
    const now = new Map<string, ContainerSightings>();
    for (const container of containers)
      now.set(container.id, this.#look(container, before?.get(container.id)));
    this.#pods.set(podUid, now);
    const find = ({ id }: ContainerStatus): ContainerSightings | undefined => now.get(id);
    return {
      ranForMs: (container) => {
        const { start, end } = find(container) ?? {};
        if (start === undefined) return 0;
        return Math.max(0, this.#age(start) - (end === undefined ? 0 : this.#age(end)));
      },
      endedForMs: (container) => {
        const { end } = find(container) ?? {};
        return end === undefined ? 0 : this.#age(end);
      },
    };
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }

  #look(container: ContainerStatus, before: ContainerSightings | undefined): ContainerSightings {
    const sightings = before ?? { start: undefined, end: undefined, aliveAtMs: undefined };
    const nowMs = this.#clock.monotonicMs();
    const { state, startedAtNs, finishedAtNs } = container;
    if (startedAtNs > 0n) sightings.start ??= this.#see(startedAtNs);
    if (state === 'exited' || state === 'unknown') {
      const longest = sightings.aliveAtMs === undefined ? Infinity : nowMs - sightings.aliveAtMs;
      sightings.end ??=
        state === 'exited' && finishedAtNs > 0n ? this.#see(finishedAtNs, longest) : this.#seeNow();
    } else {
      sightings.aliveAtMs = nowMs;
      // It was in an unknown state for a while.
      sightings.end = undefined;
    }
    return sightings;
  }

  #see(atNs: bigint, longestMs = Infinity): Sighting {
    const byWallMs = this.#clock.now() - Number(atNs / 1_000_000n);
    return { ...this.#seeNow(), ageThenMs: Math.min(Math.max(0, byWallMs), longestMs) };
  }

  #seeNow(): Sighting {
    return { ageThenMs: 0, seenAtMs: this.#clock.monotonicMs() };
  }

  #age({ ageThenMs, seenAtMs }: Sighting): number {
    return ageThenMs + this.#clock.monotonicMs() - seenAtMs;
  }
}
