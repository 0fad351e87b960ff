import { NO_FAULTS, type SyntheticFaults } from './synthetic-control.js';

/** Holds the faults, and the calls that wait because of them. */
export class FaultGate {
  #faults = NO_FAULTS;
  readonly #waiting = new Set<() => void>();
  #statusCalls = 0;

  get faults(): SyntheticFaults {
    return this.#faults;
  }

  /** Sets what is given, and lets go whatever no longer has to wait. */
  set(faults: Partial<SyntheticFaults>): void {
    this.#faults = { ...this.#faults, ...faults };
    this.#recheck();
  }

  /** Waits until `free` holds of the faults. Rejects with the signal's reason when the caller went away. */
  async until(free: (faults: SyntheticFaults) => boolean, signal: AbortSignal): Promise<void> {
    while (!free(this.#faults)) {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.add(wake);
        signal.addEventListener('abort', wake);
      });
    }
    signal.throwIfAborted();
  }

  /** Runs `serve` as one of the status calls that are served at once. */
  async inStatusSlot<T>(serve: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.until((faults) => this.#statusCalls < faults.statusConcurrency, signal);
    this.#statusCalls++;
    try {
      return await serve();
    } finally {
      this.#statusCalls--;
      this.#recheck();
    }
  }

  #recheck(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
