import { type Clock } from '#base/time/clock.js';

/** How long pods are held up by a list that does not come. */
const LIMIT_MS = 10_000;

/** Whether something was read once, to be waited for. */
export class Synced {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #waiting = new Set<() => void>();
  #isSet = false;

  constructor({ clock }: { readonly clock: Pick<Clock, 'setTimer'> }) {
    this.#clock = clock;
  }

  get isSet(): boolean {
    return this.#isSet;
  }

  set(): void {
    this.#isSet = true;
    for (const settle of [...this.#waiting]) settle();
  }

  /** Resolves when it is set, or after `limitMs`; rejects with the signal's reason. */
  async wait(signal: AbortSignal, limitMs = LIMIT_MS): Promise<void> {
    signal.throwIfAborted();
    if (this.#isSet) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (): void => {
        this.#waiting.delete(settle);
        timer.cancel();
        signal.removeEventListener('abort', settle);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      };
      const timer = this.#clock.setTimer(limitMs, settle);
      signal.addEventListener('abort', settle, { once: true });
      this.#waiting.add(settle);
    });
  }
}
