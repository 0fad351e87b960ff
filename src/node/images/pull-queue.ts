import { abortable } from '#base/async/abortable.js';
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

interface Flight {
  readonly result: Promise<Pulled>;
  readonly controller: AbortController;
  waiters: number;
  hasBegun: boolean;
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
  readonly #flights = new Map<string, Flight>();

  constructor(options: PullQueueOptions) {
    this.#clock = options.clock;
    this.#slots = new Slots({ limit: options.atOnce });
  }

  /** `pull` is called once per flight. Rejects with the signal's reason, or with the error of the pull. */
  async run(image: string, pull: () => Promise<string>, signal: AbortSignal): Promise<Pulled> {
    signal.throwIfAborted();
    const flight = this.#flights.get(image) ?? this.#begin(image, pull);
    flight.waiters++;
    try {
      return await abortable(flight.result, signal);
    } finally {
      if (--flight.waiters === 0) this.#leave(image, flight);
    }
  }

  #begin(image: string, pull: () => Promise<string>): Flight {
    const controller = new AbortController();
    const result = this.#pull(
      pull,
      () => {
        flight.hasBegun = true;
      },
      controller.signal,
    ).finally(() => this.#forget(image, flight));
    // When all waiters have left, nobody handles its failure.
    result.catch(() => undefined);
    const flight: Flight = { result, controller, waiters: 0, hasBegun: false };
    this.#flights.set(image, flight);
    return flight;
  }

  #leave(image: string, flight: Flight): void {
    if (flight.hasBegun) return;
    // A new caller must not join a cancelled pull.
    this.#forget(image, flight);
    flight.controller.abort(new Error(`nobody waits for ${image} any more`));
  }

  #forget(image: string, flight: Flight): void {
    if (this.#flights.get(image) === flight) this.#flights.delete(image);
  }

  async #pull(pull: () => Promise<string>, onBegin: () => void, signal: AbortSignal): Promise<Pulled> {
    const work = async (): Promise<Pulled> => {
      onBegin();
      const startedMs = this.#clock.monotonicMs();
      const imageRef = await pull();
      return { imageRef, durationMs: this.#clock.monotonicMs() - startedMs };
    };
    return await this.#slots.run(undefined, work, signal);
  }
}
