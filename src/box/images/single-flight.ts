import { abortable } from '#base/async/abortable.js';

interface Flight<V> {
  readonly result: Promise<V>;
  readonly controller: AbortController;
  waiters: number;
}

/** Runs an action once for all concurrent callers. */
export class SingleFlight<V> {
  readonly #flights = new Map<string, Flight<V>>();

  /** The keys of what is under way. */
  get keys(): ReadonlySet<string> {
    return new Set(this.#flights.keys());
  }

  /**
   * The result of the work under way for the key, which is begun if there is none. Each caller may leave; the work is
   * aborted once the last one has, and a later caller waits for its end and starts again.
   */
  async run(key: string, work: (signal: AbortSignal) => Promise<V>, signal: AbortSignal): Promise<V> {
    let flight = this.#flights.get(key);
    while (flight?.controller.signal.aborted === true) {
      await abortable(
        flight.result.catch(() => undefined),
        signal,
      );
      flight = this.#flights.get(key);
    }
    signal.throwIfAborted();
    flight ??= this.#begin(key, work);
    flight.waiters++;
    try {
      return await abortable(flight.result, signal);
    } finally {
      if (--flight.waiters === 0) flight.controller.abort(signal.reason);
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<V>): Flight<V> {
    const controller = new AbortController();
    const result = work(controller.signal).finally(() => this.#flights.delete(key));
    // Whoever waits sees the rejection; when all have left, nobody has to.
    result.catch(() => undefined);
    const flight = { result, controller, waiters: 0 };
    this.#flights.set(key, flight);
    return flight;
  }
}
