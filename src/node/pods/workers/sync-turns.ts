import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock } from '#base/time/clock.js';

/** Options of {@link SyncTurns}. */
export interface SyncTurnsOptions {
  readonly clock: Clock;
  /** Syncs that start between two turns of the event loop. */
  readonly perTurn: number;
  /** Lets the event loop turn once (default: setImmediate). */
  readonly yieldToLoop?: (() => Promise<unknown>) | undefined;
}

/** Syncs that started a moment ago. */
const PLACES = 16;
/** A sync that takes longer waits for the runtime, not for this process; in milliseconds. */
const LEAVE_AFTER_MS = 200;

/**
 * Starts syncs a few per turn of the event loop, pods that are to end first.
 *
 * One relist may wake hundreds of workers at once. Before its first call of the runtime, a sync computes and
 * reads many small files. If many do that together all of them end late, so only a few run at a time, first
 * come, first served. A sync that takes longer than a moment leaves its place: calls of the runtime have
 * their own limit. Pods that are to end need no place.
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

  /** How many syncs wait for their turn. */
  get waiting(): number {
    return this.#ending.length + this.#others.length;
  }

  /**
   * Resolves when it is the caller's turn; the returned function has to be called at the end of the sync in
   * any case.
   */
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
    // Lets all requests of the same turn arrive before the first is chosen.
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
