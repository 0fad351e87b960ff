/**
 * Accesses paths of the node that may never answer, such as a folder of a file server that is gone.
 *
 * In: a path and an operation on it. Out: the result, or after ten seconds an error that names the path. A
 * system call that hangs blocks one of this process's four file threads for good. So at most two accesses of
 * places that may hang are under way at a time, and never two at one mount, however many of its paths are
 * requested. It assumes that an access that succeeds at all takes milliseconds: a caller that has waited ten
 * seconds for its turn waits for one that hangs.
 *
 * Paths on the node itself do not wait: two file servers that are gone block no volumes but their own. A disk
 * that has stopped answering is left alone until it answers.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { ChosenLine } from '#base/async/slot-line.js';
import { type ReleaseSlot, Slots } from '#base/async/slots.js';
import { type LookPlace } from './find-look-place.js';

/** The place does not answer, so its state is unknown. */
export class UnansweredError extends Error {}

/** What {@link BoundedLooks} needs. */
export interface BoundedLooksOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Finds the place that an access of a path reaches (default: each path is a place that may hang). */
  readonly findPlace?: (path: string) => Promise<LookPlace>;
  /** Maximum of places that may hang and are accessed at a time (default: 2). */
  readonly mostAtOnce?: number;
}

/** The operation on a path. */
interface Look<T> {
  readonly path: string;
  readonly look: () => Promise<T>;
  readonly discard: ((late: T) => void) | undefined;
}

const LIMIT_MS = 10_000;
const MAX_AT_ONCE = 2;

/** See the module. */
export class BoundedLooks {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #findPlace: ((path: string) => Promise<LookPlace>) | undefined;
  /** By places that may hang: inside are those being accessed, including those that do not answer. */
  readonly #slots: Slots<string>;
  /** How many accesses of each place of the node itself are late and still unanswered. */
  readonly #overdue = new Map<string, number>();

  constructor({ clock, findPlace, mostAtOnce = MAX_AT_ONCE }: BoundedLooksOptions) {
    this.#clock = clock;
    // First come, first served, and one at a time at each place.
    const line = new ChosenLine<string>((waiting, inside) => {
      const taken = new Set(inside);
      const next = [...waiting].findIndex((place) => !taken.has(place));
      return next < 0 ? undefined : next;
    });
    this.#slots = new Slots({ limit: mostAtOnce, line });
    this.#findPlace = findPlace;
  }

  /** How many accesses of places that may hang are under way. */
  get underWay(): number {
    return this.#slots.facts.inside;
  }

  /**
   * Runs one access. `discard` gets a late result, for what has to be closed.
   *
   * Rejects as the access does; with an {@link UnansweredError} when it is not answered in time, or could not
   * begin because others are not.
   */
  async run<T>(path: string, look: () => Promise<T>, discard?: (late: T) => void): Promise<T> {
    const { name, mayHang } = await this.#placeOf(path);
    if (!mayHang) return this.#lookAtNode({ path, look, discard }, name);
    const leave = await this.#enter(name);
    if (leave === undefined) {
      const others = this.#slots.insideKeys;
      if (others.includes(name)) throw new UnansweredError(`${path} ${explain(path, [name])}`);
      throw new UnansweredError(`${path} ${explain(path, others)}`);
    }
    const looking = look();
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

  /** Blocks the place until it has answered. */
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

  /** Resolves when it is the caller's turn; with undefined when that took too long. */
  async #enter(place: string): Promise<ReleaseSlot | undefined> {
    const late = new AbortController();
    const timer = this.#clock.setTimer(LIMIT_MS, () => late.abort());
    try {
      return await this.#slots.take(place, late.signal);
    } catch {
      return undefined;
    } finally {
      timer.cancel();
    }
  }
}

function explain(path: string, silent: readonly string[]): string {
  if (silent.includes(path)) return 'does not answer';
  return `is not looked at: ${silent.join(' and ')} ${silent.length === 1 ? 'does' : 'do'} not answer`;
}
