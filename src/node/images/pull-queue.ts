import { SingleFlight } from '#base/async/single-flight.js';
import { Slots } from '#base/async/slots.js';
import { type Clock } from '#base/time/clock.js';

/** Options of {@link PullQueue}. */
export interface PullQueueOptions {
  readonly clock: Clock;
  /** Maximum of simultaneous pulls. */
  readonly atOnce: number;
}

/** A successful pull. */
export interface Pulled {
  readonly imageRef: string;
  /** Without the wait for its turn. */
  readonly durationMs: number;
}

/**
 * Shares one pull among simultaneous requests for an image, and runs a few at a time, first come, first
 * served.
 *
 * A caller that leaves does not affect the others. A pull that has not begun ends with its last waiter; one
 * that has begun runs to its end.
 */
export class PullQueue {
  readonly #clock: Clock;
  readonly #slots: Slots;
  readonly #flights = new SingleFlight<Pulled>();

  constructor(options: PullQueueOptions) {
    this.#clock = options.clock;
    this.#slots = new Slots({ limit: options.atOnce });
  }

  /** `pull` is called once per flight. Rejects with the signal's reason, or with the error of the pull. */
  async run(image: string, pull: () => Promise<string>, signal: AbortSignal): Promise<Pulled> {
    return await this.#flights.run(
      image,
      (flight) => {
        const work = async (): Promise<Pulled> => {
          // The last caller may have left just now.
          flight.signal.throwIfAborted();
          flight.keepGoing();
          const startedMs = this.#clock.monotonicMs();
          const imageRef = await pull();
          return { imageRef, durationMs: this.#clock.monotonicMs() - startedMs };
        };
        return this.#slots.run(undefined, work, flight.signal);
      },
      signal,
    );
  }
}
