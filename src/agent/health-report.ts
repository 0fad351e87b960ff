import { type Pleg } from '../pleg/index.js';
import { formatGoDuration } from '../util/go-duration.js';
import { type Logger } from '../util/logger.js';

/** Health as {@link Pleg.health} gives it. */
type Health = ReturnType<Pleg['health']>;

/** Younger troubles are not told: most are over before anybody has read the line. */
export const TOLD_AFTER_MS = 3_000;

/** Turns health, asked for again and again, into one log line for each change of it. */
export class HealthReport {
  readonly #logger: Logger;
  /** Pods told to be stuck, by uid. */
  readonly #stuck = new Map<string, { namespace: string; name: string }>();
  #unhealthy = false;
  #listHangs = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Says what has changed since the last call. Pods are passed over while the runtime is away: all of them fail then. */
  update(health: Health, runtimeIsThere: boolean): void {
    this.#tellList(health);
    this.#tellHealth(health);
    if (runtimeIsThere) this.#tellPods(health);
  }

  #tellList({ listInFlightMs = 0 }: Health): void {
    const hangs = listInFlightMs >= TOLD_AFTER_MS;
    if (hangs && !this.#listHangs) {
      this.#logger.warn('The runtime does not answer the list of pods', { for: rounded(listInFlightMs) });
    } else if (!hangs && this.#listHangs) {
      this.#logger.info('The runtime answers the list of pods again');
    }
    this.#listHangs = hangs;
  }

  #tellHealth({ healthy, message, reason, lastSeenAtMs }: Health): void {
    // Before the first success there is nothing to have changed.
    const unhealthy = !healthy && lastSeenAtMs !== undefined;
    if (unhealthy && !this.#unhealthy) {
      this.#logger.error('Runtime is unhealthy', `PLEG is not healthy: ${message ?? ''}`, {
        reason: reason?.kind,
        lastError: reason?.error,
      });
    } else if (!unhealthy && this.#unhealthy) {
      this.#logger.info('Runtime is healthy again');
    }
    this.#unhealthy = unhealthy;
  }

  #tellPods({ stuckPods }: Health): void {
    const present = new Set<string>();
    for (const { pod, state, forMs, error } of stuckPods) {
      present.add(pod.uid);
      if (forMs < TOLD_AFTER_MS || this.#stuck.has(pod.uid)) continue;
      this.#stuck.set(pod.uid, pod);
      this.#logger.warn('Pod is stuck in the runtime, others are not held up', {
        pod,
        podUID: pod.uid,
        state,
        for: rounded(forMs),
        lastError: error,
      });
    }
    for (const [uid, { namespace, name }] of this.#stuck) {
      if (present.has(uid)) continue;
      this.#stuck.delete(uid);
      this.#logger.info('Pod is no longer stuck', { pod: { uid, namespace, name }, podUID: uid });
    }
  }
}

function rounded(durationMs: number): string {
  return formatGoDuration(Math.round(durationMs / 1000) * 1000);
}
