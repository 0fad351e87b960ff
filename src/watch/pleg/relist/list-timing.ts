import { type Clock, type Stamp } from '#base/time/clock.js';
import { type Channels, isHeard, type Publisher, publishTo } from '#base/channels/publishing-channel.js';
import { type RelistEnd, relistEnded } from '#base/channels/pleg-channels.js';

/** The result of a list, without its timing. */
export type ListOutcome = Pick<RelistEnd, 'trigger' | 'pods' | 'due' | 'error'>;

/** When one list began and how long each part of it took; published once, when it has ended. */
export class ListTiming {
  /** Taken before the call is sent: whatever the answer shows is at least this new. */
  readonly stamp: Stamp;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  readonly #clock: Clock;
  readonly #channels: Channels | undefined;
  readonly #scope: RelistEnd['scope'];
  readonly #startedAtMs: number;
  readonly #sinceLastMs: number | undefined;
  #listedMs: number | undefined;
  #comparedMs: number | undefined;

  /** `lastSeenMs`: when the last successful relist of all pods began. */
  constructor(
    { clock, channels }: { readonly clock: Clock } & Publisher,
    scope: RelistEnd['scope'],
    lastSeenMs: number | undefined,
  ) {
    this.#clock = clock;
    this.#channels = channels;
    this.#scope = scope;
    this.startedMs = clock.monotonicMs();
    this.#sinceLastMs = lastSeenMs === undefined ? undefined : this.startedMs - lastSeenMs;
    this.#startedAtMs = clock.now();
    this.stamp = clock.stamp();
  }

  /** Notes the runtime's answer. */
  listed(): void {
    this.#listedMs = this.#clock.monotonicMs();
  }

  /** Notes that every pod of the answer has been compared with its record. */
  compared(): void {
    this.#comparedMs = this.#clock.monotonicMs();
  }

  /** Publishes the timing, once nobody need wait for this list any longer. */
  publish(outcome: ListOutcome): void {
    // Building the message costs an idle relist more than comparing a hundred pods.
    if (!isHeard(this.#channels, relistEnded)) return;
    const endedMs = this.#clock.monotonicMs();
    const listedMs = this.#listedMs ?? endedMs;
    publishTo(this.#channels, relistEnded, {
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
