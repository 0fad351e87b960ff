/**
 * Looks at places of the node that may never answer, such as a folder of a file server that is gone.
 *
 * In: a place, and what is asked of it. Out: the answer, or after ten seconds an error that names the place. A call of
 * the system that hangs keeps one of the four threads that this process has for files, for good; so there are never more
 * than two looks under way, and never two at one place. It assumes that a look that is answered at all is answered in
 * milliseconds: whoever waits for his turn for ten seconds waits for one that hangs.
 *
 * @module
 */
import { type Clock } from '../util/clock.js';
import { settlesWithin } from '../util/settles-within.js';

/** Nothing is known of a place, because it does not answer. */
export class UnansweredError extends Error {}

/** What {@link BoundedLooks} needs. */
export interface BoundedLooksOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
}

const LIMIT_MS = 10_000;
const MOST_AT_ONCE = 2;

/** Who waits for his turn at a place. */
interface Waiter {
  readonly place: string;
  readonly begin: () => void;
}

/** See the module. */
export class BoundedLooks {
  readonly #clock: Pick<Clock, 'setTimer'>;
  /** The places that are looked at, those that do not answer among them. */
  readonly #places = new Set<string>();
  /** First come, first served. */
  readonly #waiting = new Set<Waiter>();

  constructor({ clock }: BoundedLooksOptions) {
    this.#clock = clock;
  }

  /** How many looks are under way. */
  get underWay(): number {
    return this.#places.size;
  }

  /**
   * Takes one look. `discard` gets an answer that came too late, for what has to be closed.
   *
   * Rejects as the look does; with an {@link UnansweredError} when it is not answered in time, or not begun for others
   * that are not.
   */
  async run<T>(place: string, look: () => Promise<T>, discard?: (late: T) => void): Promise<T> {
    if (!(await this.#enter(place))) {
      const others = [...this.#places].join(' and ');
      const why = this.#places.has(place) ? 'does not answer' : `is not looked at: ${others} do not answer`;
      throw new UnansweredError(`${place} ${why}`);
    }
    const looking = look();
    const leave = (): void => this.#leave(place);
    looking.then(leave, leave);
    if (await settlesWithin(looking, LIMIT_MS, this.#clock)) return looking;
    looking.then(discard, () => undefined);
    throw new UnansweredError(`${place} does not answer`);
  }

  /** Resolves with true when it is this one's turn, with false when that took too long. */
  #enter(place: string): Promise<boolean> {
    if (this.#mayBegin(place)) {
      this.#places.add(place);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(LIMIT_MS, () => {
        this.#waiting.delete(waiter);
        resolve(false);
      });
      const begin = (): void => {
        timer.cancel();
        resolve(true);
      };
      const waiter: Waiter = { place, begin };
      this.#waiting.add(waiter);
    });
  }

  #leave(place: string): void {
    this.#places.delete(place);
    for (const waiter of this.#waiting) {
      if (!this.#mayBegin(waiter.place)) continue;
      this.#waiting.delete(waiter);
      this.#places.add(waiter.place);
      waiter.begin();
    }
  }

  #mayBegin(place: string): boolean {
    return this.#places.size < MOST_AT_ONCE && !this.#places.has(place);
  }
}
