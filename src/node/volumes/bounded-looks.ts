/**
 * Looks at places of the node that may never answer, such as a folder of a file server that is gone.
 *
 * In: a path, and what is asked of it. Out: the answer, or after ten seconds an error that names the path. A call of
 * the system that hangs keeps one of the four threads that this process has for files, for good; so there are never more
 * than two looks under way at places that may hang, and never two at one mount, however many paths of it are asked for.
 * It assumes that a look that is answered at all is answered in milliseconds: whoever waits for his turn for ten seconds
 * waits for one that hangs.
 *
 * What is on the node itself waits for nobody: two file servers that are gone hold up no volume but theirs. A disk that
 * has stopped answering is left alone until it does.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { type LookPlace } from './find-look-place.js';

/** Nothing is known of a place, because it does not answer. */
export class UnansweredError extends Error {}

/** What {@link BoundedLooks} needs. */
export interface BoundedLooksOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** What a look at a path gets to (default: each path is a place that may hang). */
  readonly findPlace?: (path: string) => Promise<LookPlace>;
  /** How many places that may hang are looked at at once (default: 2). */
  readonly mostAtOnce?: number;
}

/** What is asked of a path. */
interface Look<T> {
  readonly path: string;
  readonly look: () => Promise<T>;
  readonly discard: ((late: T) => void) | undefined;
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
  readonly #mostAtOnce: number;
  readonly #findPlace: ((path: string) => Promise<LookPlace>) | undefined;
  /** The places that may hang and are looked at, those that do not answer among them. */
  readonly #places = new Set<string>();
  /** First come, first served. */
  readonly #waiting = new Set<Waiter>();

  /** How many looks at each place of the node itself have not been answered in time, nor since. */
  readonly #overdue = new Map<string, number>();

  constructor({ clock, findPlace, mostAtOnce = MOST_AT_ONCE }: BoundedLooksOptions) {
    this.#clock = clock;
    this.#mostAtOnce = mostAtOnce;
    this.#findPlace = findPlace;
  }

  /** How many looks at places that may hang are under way. */
  get underWay(): number {
    return this.#places.size;
  }

  /**
   * Takes one look. `discard` gets an answer that came too late, for what has to be closed.
   *
   * Rejects as the look does; with an {@link UnansweredError} when it is not answered in time, or not begun for others
   * that are not.
   */
  async run<T>(path: string, look: () => Promise<T>, discard?: (late: T) => void): Promise<T> {
    const { name, mayHang } = await this.#placeOf(path);
    if (!mayHang) return this.#lookAtNode({ path, look, discard }, name);
    if (!(await this.#enter(name))) {
      const others = this.#places.has(name) ? [name] : [...this.#places];
      throw new UnansweredError(`${path} ${explain(path, others)}`);
    }
    const looking = look();
    const leave = (): void => this.#leave(name);
    looking.then(leave, leave);
    return this.#answerOf({ path, looking, discard });
  }

  async #placeOf(path: string): Promise<LookPlace> {
    const finding = this.#findPlace?.(path);
    if (finding === undefined) return { name: path, mayHang: true };
    return this.#answerOf({ path, looking: finding, discard: undefined });
  }

  async #lookAtNode<T>({ path, look, discard }: Look<T>, name: string): Promise<T> {
    if (this.#overdue.has(name)) throw new UnansweredError(`${path} ${explain(path, [name])}`);
    const looking = look();
    try {
      return await this.#answerOf({ path, looking, discard });
    } catch (error) {
      if (error instanceof UnansweredError) this.#keepOverdue(name, looking);
      throw error;
    }
  }

  /** Nobody looks there again before it has answered. */
  #keepOverdue(name: string, looking: Promise<unknown>): void {
    const add = (count: number): void => {
      const overdue = (this.#overdue.get(name) ?? 0) + count;
      if (overdue === 0) this.#overdue.delete(name);
      else this.#overdue.set(name, overdue);
    };
    add(1);
    const answered = (): void => add(-1);
    looking.then(answered, answered);
  }

  async #answerOf<T>({
    path,
    looking,
    discard,
  }: Pick<Look<T>, 'path' | 'discard'> & { readonly looking: Promise<T> }): Promise<T> {
    if (await settlesWithin(looking, LIMIT_MS, this.#clock)) return looking;
    looking.then(discard, () => undefined);
    throw new UnansweredError(`${path} does not answer`);
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
    return this.#places.size < this.#mostAtOnce && !this.#places.has(place);
  }
}

function explain(path: string, silent: readonly string[]): string {
  if (silent.includes(path)) return 'does not answer';
  return `is not looked at: ${silent.join(' and ')} ${silent.length === 1 ? 'does' : 'do'} not answer`;
}
