import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** What happens when the recording is over: it pauses at its last moment, starts over, or ends. */
export type AtEnd = 'pause' | 'loop' | 'exit';

/** So often it begins anew at most: with each lap comes what happens in it, however little that is. */
const SHORTEST_LAP_MS = 1_000;

/** How a {@link ReplayClock} goes. */
export interface ReplayClockOptions {
  readonly clock: Clock;
  /** How many times as fast as it was. */
  readonly speed: number;
  /** Where it begins, and where it ends, in microseconds since the recording began. */
  readonly from: number;
  readonly end: number;
  readonly atEnd: AtEnd;
}

/** The time of a recording while it is replayed. It stands until {@link start}. */
export class ReplayClock {
  readonly #options: ReplayClockOptions;
  #startMs: number | undefined;

  constructor(options: ReplayClockOptions) {
    this.#options = options;
  }

  get hasStarted(): boolean {
    return this.#startMs !== undefined;
  }

  get loops(): boolean {
    return this.#options.atEnd === 'loop';
  }

  /** Where it begins, in microseconds since the recording began. */
  get from(): number {
    return this.#options.from;
  }

  start(): void {
    this.#startMs ??= this.#options.clock.monotonicMs();
  }

  /** Which moment of the recording it is, in microseconds, and the how manyth time. */
  now(): { readonly at: number; readonly lap: number } {
    const { from, end } = this.#options;
    const passed = this.#passed();
    if (!this.loops) return { at: Math.min(from + passed, end), lap: 0 };
    const length = this.#lapLength;
    return { at: Math.min(from + (passed % length), end), lap: Math.floor(passed / length) };
  }

  /** How long something that took so long then takes now, in milliseconds. */
  toMs(duration: number): number {
    return Math.max(0, duration) / 1000 / this.#options.speed;
  }

  /** Calls back at that moment of that lap; at once when it is over. Keeps no process alive. */
  setTimer(at: number, lap: number, callback: () => void): ClockTimer {
    const { clock, from } = this.#options;
    const due = lap * this.#lapLength + (at - from);
    return clock.setTimer(this.toMs(due - this.#passed()), callback, { unref: true });
  }

  /** In microseconds of the recording; a short one stays at its last moment until it may start over. */
  get #lapLength(): number {
    const { from, end, speed } = this.#options;
    return Math.max(end - from, Math.ceil(SHORTEST_LAP_MS * 1000 * speed));
  }

  /** Microseconds of the recording that have passed since the start, over all laps. */
  #passed(): number {
    const { clock, speed } = this.#options;
    if (this.#startMs === undefined) return 0;
    return Math.max(0, Math.round((clock.monotonicMs() - this.#startMs) * 1000 * speed));
  }
}
