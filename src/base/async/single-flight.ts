import { abortable } from './abortable.js';

/** Work under way for everybody who asks for the same. */
export interface Flight {
  /** Aborts when the last caller has left. */
  readonly signal: AbortSignal;
  /** From now on the work runs to its end, also for callers that come when all others have left. */
  readonly keepGoing: () => void;
}

interface FlightUnderWay<V> {
  readonly result: Promise<V>;
  readonly controller: AbortController;
  callers: number;
  keepsGoing: boolean;
}

/** Runs an action once for all concurrent callers. */
export class SingleFlight<V> {
  readonly #flights = new Map<string, FlightUnderWay<V>>();

  /** Whether work for the key is under way. */
  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /**
   * The result of the work under way for the key, which is begun if there is none. Each caller may leave; the
   * work is aborted once the last one has, and a later caller waits for its end and starts again.
   */
  async run(key: string, work: (flight: Flight) => Promise<V>, signal?: AbortSignal): Promise<V> {
    let flight = this.#flights.get(key);
    while (flight?.controller.signal.aborted === true) {
      await abortable(
        flight.result.catch(() => undefined),
        signal,
      );
      flight = this.#flights.get(key);
    }
    signal?.throwIfAborted();
    flight ??= this.#begin(key, work);
    flight.callers++;
    try {
      return await abortable(flight.result, signal);
    } finally {
      if (--flight.callers === 0 && !flight.keepsGoing) flight.controller.abort(signal?.reason);
    }
  }

  #begin(key: string, work: (flight: Flight) => Promise<V>): FlightUnderWay<V> {
    const controller = new AbortController();
    const keepGoing = (): void => void (flight.keepsGoing = true);
    const result = Promise.resolve()
      .then(() => work({ signal: controller.signal, keepGoing }))
      .finally(() => this.#flights.delete(key));
    // Whoever waits sees the rejection; when all have left, nobody has to.
    result.catch(() => undefined);
    const flight: FlightUnderWay<V> = { result, controller, callers: 0, keepsGoing: false };
    this.#flights.set(key, flight);
    return flight;
  }
}
