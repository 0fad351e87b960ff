import { type Clock, type Stamp } from '#base/time/clock.js';
import { type RelistEnd, relistEnded } from '#base/channels/pleg-channels.js';

/** What a look found, beside the time that it took. */
export type LookOutcome = Pick<RelistEnd, 'trigger' | 'pods' | 'due' | 'error'>;

/** When one look began and how long each part of it took: published once, when it has ended. */
export class LookTiming {
  /** Taken before anything is asked: whatever the answer shows is at least as new. */
  readonly stamp: Stamp;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  readonly #clock: Clock;
  readonly #scope: RelistEnd['scope'];
  readonly #startedAtMs: number;
  readonly #sinceLastMs: number | undefined;
  #listedMs: number | undefined;
  #comparedMs: number | undefined;

  /** `lastSeenMs`: when the last look at all pods that succeeded began. */
  constructor(clock: Clock, scope: RelistEnd['scope'], lastSeenMs: number | undefined) {
    this.#clock = clock;
    this.#scope = scope;
    this.startedMs = clock.monotonicMs();
    this.#sinceLastMs = lastSeenMs === undefined ? undefined : this.startedMs - lastSeenMs;
    this.#startedAtMs = clock.now();
    this.stamp = clock.stamp();
  }

  /** The runtime has answered. */
  listed(): void {
    this.#listedMs = this.#clock.monotonicMs();
  }

  /** Every pod of the answer has been compared with its record. */
  compared(): void {
    this.#comparedMs = this.#clock.monotonicMs();
  }

  /** Nobody need wait for this look any longer. */
  publish(outcome: LookOutcome): void {
    // To put the message together costs an idle relist more than it does to compare a hundred pods.
    if (!relistEnded.hasSubscribers) return;
    const endedMs = this.#clock.monotonicMs();
    const listedMs = this.#listedMs ?? endedMs;
    relistEnded.publish({
      ...outcome,
      scope: this.#scope,
      startedAtMs: this.#startedAtMs,
      durationMs: endedMs - this.startedMs,
      sinceLastMs: this.#sinceLastMs,
      listMs: listedMs - this.startedMs,
      diffMs: (this.#comparedMs ?? listedMs) - listedMs,
    });
  }
}
