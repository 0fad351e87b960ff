import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** What a {@link RateLimit} needs. */
export interface RateLimitOptions {
  /** So many each second, in the long run; Infinity for no limit. */
  readonly perSecond: number;
  /** So many at once, after a pause; at least 1. */
  readonly burst: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
}

/** Whose turn it is when both wait: `urgent` ones have most of the turns, and never all of them. */
export type Precedence = 'urgent' | 'usual';

/** So many that are urgent pass before one that is not. */
const URGENT_IN_A_ROW = 3;
/** What is left out when a turn is counted up from many small parts. */
const ROUNDING = 1e-9;

/**
 * A bucket of turns: `burst` of them at first, refilled at `perSecond`. Who comes when it is empty waits: three of four turns
 * go to those who are urgent, each kind has its own in the order of coming.
 */
export class RateLimit {
  readonly #options: RateLimitOptions;
  readonly #waiting = { urgent: new Set<() => void>(), usual: new Set<() => void>() };
  #turns: number;
  #filledAtMs: number;
  #urgentInARow = 0;
  #timer: ClockTimer | undefined;

  constructor(options: RateLimitOptions) {
    this.#options = options;
    this.#turns = options.burst;
    this.#filledAtMs = options.clock.monotonicMs();
  }

  /** Waits for a turn: for how long, in milliseconds. Rejects with the signal's reason, and takes no turn then. */
  async take(signal: AbortSignal, precedence: Precedence = 'usual'): Promise<number> {
    signal.throwIfAborted();
    const { perSecond, clock } = this.#options;
    if (perSecond === Infinity) return 0;
    this.#fill();
    if (this.#size === 0 && this.#takeTurn()) return 0;
    const cameAtMs = clock.monotonicMs();
    await new Promise<void>((resolve, reject) => {
      const queue = this.#waiting[precedence];
      const pass = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        queue.delete(pass);
        if (this.#size === 0) this.#disarm();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.add(pass);
      this.#arm();
    });
    return clock.monotonicMs() - cameAtMs;
  }

  get #size(): number {
    return this.#waiting.urgent.size + this.#waiting.usual.size;
  }

  #fill(): void {
    const { perSecond, burst, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const added = ((nowMs - this.#filledAtMs) / 1_000) * perSecond;
    this.#turns = Math.min(Math.max(1, burst), this.#turns + added);
    this.#filledAtMs = nowMs;
  }

  #takeTurn(): boolean {
    if (this.#turns < 1 - ROUNDING) return false;
    this.#turns -= 1;
    return true;
  }

  #arm(): void {
    const { perSecond, clock } = this.#options;
    if (this.#timer !== undefined || this.#size === 0) return;
    const waitMs = Math.max(0, ((1 - this.#turns) / perSecond) * 1_000);
    this.#timer = clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#fill();
      while (this.#size > 0 && this.#takeTurn()) this.#letPass();
      this.#arm();
    });
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #letPass(): void {
    const { urgent, usual } = this.#waiting;
    const isTurnOfUsual = usual.size > 0 && (urgent.size === 0 || this.#urgentInARow >= URGENT_IN_A_ROW);
    this.#urgentInARow = isTurnOfUsual ? 0 : this.#urgentInARow + 1;
    const queue = isTurnOfUsual ? usual : urgent;
    const [next] = queue;
    queue.delete(next!);
    next!();
  }
}
