import { type ContainerStatus } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type RunTimes } from './pod-actions.js';

interface Sighting {
  /** How long ago it was when first seen, by the wall clock; never negative. */
  readonly ageThenMs: number;
  /** When it was first seen, by the monotonic clock. */
  readonly seenAtMs: number;
}

interface ContainerSightings {
  readonly start: Sighting | undefined;
  readonly end: Sighting | undefined;
}

interface PodSightings {
  /** By the monotonic clock. */
  readonly observedAtMs: number;
  readonly containers: ReadonlyMap<string, ContainerSightings>;
}

/** Maximum age of what a list shows, in milliseconds; generous. */
const MAX_LAG_MS = 60_000;

/**
 * How long containers have been running or dead, immune to jumps of the wall clock.
 *
 * A runtime reports wall times. Each is compared with the wall clock once, when first seen; from then on the
 * monotonic clock counts. What the previous list did not show cannot be older than that list. If its wall
 * time claims so, it counts from now, so that a jump between two lists does no harm either. Only after a
 * start of the agent is the wall clock all there is.
 *
 * Call {@link observe} before each sync of a pod, and {@link forget} once the pod is gone.
 */
export class ContainerAges {
  readonly #clock: Clock;
  readonly #pods = new Map<string, PodSightings>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** Reads all containers of a pod, and forgets those that are gone. */
  observe(podUid: string, containers: readonly ContainerStatus[]): RunTimes {
    const before = this.#pods.get(podUid);
    const seen = new Map(containers.map((each) => [each.id, this.#look(each, before)]));
    this.#pods.set(podUid, { observedAtMs: this.#clock.monotonicMs(), containers: seen });
    const ageOf = (sighting: Sighting | undefined): number =>
      sighting === undefined ? 0 : sighting.ageThenMs + this.#clock.monotonicMs() - sighting.seenAtMs;
    return {
      ranForMs: ({ id }) => Math.max(0, ageOf(seen.get(id)?.start) - ageOf(seen.get(id)?.end)),
      endedForMs: ({ id }) => ageOf(seen.get(id)?.end),
    };
  }

  /** The containers are the same as before, in the same state. */
  observeSame(podUid: string): void {
    const before = this.#pods.get(podUid);
    if (before !== undefined) this.#pods.set(podUid, { ...before, observedAtMs: this.#clock.monotonicMs() });
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }

  #look(
    { id, state, startedAtNs, finishedAtNs }: ContainerStatus,
    before: PodSightings | undefined,
  ): ContainerSightings {
    const seen = before?.containers.get(id);
    const oldestMs = before === undefined ? Infinity : this.#clock.monotonicMs() - before.observedAtMs;
    const start = seen?.start ?? (startedAtNs > 0n ? this.#see(startedAtNs, oldestMs) : undefined);
    switch (state) {
      case 'exited':
        return { start, end: seen?.end ?? this.#see(finishedAtNs, oldestMs) };
      case 'unknown':
        return { start, end: seen?.end ?? this.#see(0n, 0) };
      default:
        // It may have been in an unknown state for a while.
        return { start, end: undefined };
    }
  }

  /** A time that the runtime does not report (0n) counts from now. */
  #see(atNs: bigint, oldestMs: number): Sighting {
    const byWallMs = atNs === 0n ? 0 : this.#clock.now() - Number(atNs / 1_000_000n);
    // Counts from now after a jump of the wall clock: a wait may last a little longer, but never ends too
    // soon.
    const ageThenMs = byWallMs > oldestMs + MAX_LAG_MS ? 0 : Math.min(Math.max(0, byWallMs), oldestMs);
    return { ageThenMs, seenAtMs: this.#clock.monotonicMs() };
  }
}
