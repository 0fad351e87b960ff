import { setImmediate as nextTurn } from 'node:timers/promises';

/** How {@link SyncTurns} cuts the work. */
export interface SyncTurnsOptions {
  /** Syncs that begin between two turns of the event loop. */
  readonly perTurn: number;
  /** Lets the event loop turn once; setImmediate unless told. */
  readonly yieldToLoop?: () => Promise<unknown>;
}

/**
 * Hands out the beginnings of syncs a few per turn of the event loop, pods that are to end first.
 *
 * One relist may wake hundreds of workers at once, and the part of a sync before its first call is computation. How
 * many syncs are under way is not limited here: they wait for the runtime, and calls to the runtime have a bound of
 * their own.
 */
export class SyncTurns {
  readonly #options: SyncTurnsOptions;
  readonly #ending: (() => void)[] = [];
  readonly #others: (() => void)[] = [];
  #granting = false;

  constructor(options: SyncTurnsOptions) {
    this.#options = options;
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#ending.length + this.#others.length;
  }

  /** Resolves when it is the caller's turn. */
  async take(isEnding: boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      (isEnding ? this.#ending : this.#others).push(resolve);
      if (!this.#granting) void this.#grant();
    });
  }

  async #grant(): Promise<void> {
    this.#granting = true;
    const { perTurn, yieldToLoop = nextTurn } = this.#options;
    // Those that ask in the same turn are all there before the first is chosen.
    await Promise.resolve();
    while (this.waiting > 0) {
      for (let granted = 0; granted < perTurn; granted++) (this.#ending.shift() ?? this.#others.shift())?.();
      await yieldToLoop();
    }
    this.#granting = false;
  }
}
