import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock } from '#base/time/clock.js';

/** How {@link SyncTurns} cuts the work. */
export interface SyncTurnsOptions {
  readonly clock: Clock;
  /** Syncs that begin between two turns of the event loop. */
  readonly perTurn: number;
  /** Lets the event loop turn once (default: setImmediate). */
  readonly yieldToLoop?: (() => Promise<unknown>) | undefined;
}

/** Syncs that began a moment ago. */
const PLACES = 16;
/** Who takes longer waits for the runtime, and no longer for this process; in milliseconds. */
const LEAVE_AFTER_MS = 200;

/**
 * Hands out the beginnings of syncs a few per turn of the event loop, pods that are to end first.
 *
 * One relist may wake hundreds of workers at once. What a sync does before its first call of the runtime is computation
 * and many small looks at files: of those that begin together all end late, so only so many are under way, and who came
 * first is through first. A sync that takes longer than a moment leaves its place: how many wait for the runtime is not
 * limited here, as calls have a bound of their own. Pods that are to end need no place.
 */
export class SyncTurns {
  readonly #options: SyncTurnsOptions;
  readonly #ending: (() => void)[] = [];
  readonly #others: (() => void)[] = [];
  #taken = 0;
  #granting = false;

  constructor(options: SyncTurnsOptions) {
    this.#options = options;
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#ending.length + this.#others.length;
  }

  /** Resolves when it is the caller's turn, with what is to be called at the end of the sync, whatever became of it. */
  async take(isEnding: boolean): Promise<() => void> {
    await new Promise<void>((resolve) => {
      (isEnding ? this.#ending : this.#others).push(resolve);
      this.#grantSoon();
    });
    if (isEnding) return () => undefined;
    let isThere = true;
    const leave = (): void => {
      if (!isThere) return;
      isThere = false;
      timer.cancel();
      this.#taken--;
      this.#grantSoon();
    };
    const timer = this.#options.clock.setTimer(LEAVE_AFTER_MS, leave, { unref: true });
    return leave;
  }

  #grantSoon(): void {
    if (!this.#granting && this.#mayGrant()) void this.#grant();
  }

  #mayGrant(): boolean {
    return this.#ending.length > 0 || (this.#others.length > 0 && this.#taken < PLACES);
  }

  async #grant(): Promise<void> {
    this.#granting = true;
    const { perTurn, yieldToLoop = nextTurn } = this.#options;
    // Those that ask in the same turn are all there before the first is chosen.
    await Promise.resolve();
    while (this.#mayGrant()) {
      for (let granted = 0; granted < perTurn && this.#mayGrant(); granted++) this.#grantOne();
      await yieldToLoop();
    }
    this.#granting = false;
  }

  #grantOne(): void {
    const ending = this.#ending.shift();
    if (ending !== undefined) ending();
    else {
      this.#taken++;
      this.#others.shift()!();
    }
  }
}
