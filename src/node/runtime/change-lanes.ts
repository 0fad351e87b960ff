import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { RankLine } from '#base/async/slot-line.js';
import { Slots, type SlotsFacts } from '#base/async/slots.js';
import { AdaptiveBound, type AdaptiveBoundOptions } from '#watch';
import { isOverload } from './unsettled-changes.js';

/** Options of {@link ChangeLanes}. */
export interface ChangeLanesOptions {
  readonly clock: Clock;
  /** The limit for changes other than stops and commands. */
  readonly bound?: AdaptiveBoundOptions | undefined;
}

/** The present work of all lanes. */
export interface ChangeLanesFacts {
  readonly changes: SlotsFacts;
  readonly stops: SlotsFacts;
  readonly commands: SlotsFacts;
}

/** A sandbox may wait for its network for minutes: after this time it frees its slot. */
const CHANGE_LEAVES_AFTER_MS = 10_000;
/** A stop mostly waits for the container, which costs the runtime nothing: only its beginning counts. */
const STOP_LEAVES_AFTER_MS = 1_000;
/**
 * The order of waiting changes: work that is nearly done goes first.
 *
 * Otherwise a hundred new pods would all have their sandboxes before the first of them runs.
 */
const RANKS: Readonly<Record<string, number>> = { create_container: 1, run_podsandbox: 2, remove_image: 3 };
const FIRST_RANK = 0;
/** For clean-up: a full node that comes back has hundreds of dead containers, and pods to restart. */
const LAST_RANK = 3;
const STOPS_AT_ONCE = 32;
const COMMANDS_AT_ONCE = 32;
/** A hook that is nearly done should not be cut off; one that hangs should not delay the agent's end. */
const COMMANDS_SETTLE_MS = 3_000;
/** Limit for calls that only wait; the most that a node could have. */
const MAX_WAITING = 10_000;

/**
 * The lanes into a runtime: one for stops, one for commands, and one with an adaptive limit for everything
 * else.
 *
 * Work that was let in runs to its end, even if its caller leaves; {@link settled} waits for all of it.
 */
export class ChangeLanes {
  readonly #clock: Clock;
  readonly #bound: AdaptiveBound;
  readonly #changes: Slots<number>;
  readonly #stops: Slots;
  readonly #commands: Slots;
  readonly #underWay = new Set<Promise<unknown>>();
  /** Hooks: a change that hangs may still happen, but nobody reads the result of a command. */
  readonly #commandsUnderWay = new Set<Promise<unknown>>();

  constructor({ clock, bound: options }: ChangeLanesOptions) {
    const bound = new AdaptiveBound(options);
    this.#clock = clock;
    this.#bound = bound;
    this.#changes = new Slots<number>({
      limit: () => bound.limit,
      line: new RankLine((rank) => rank),
      leave: { clock, afterMs: CHANGE_LEAVES_AFTER_MS, maxOutside: 4 * (options?.most ?? 64) },
    });
    const leave = { clock, afterMs: STOP_LEAVES_AFTER_MS, maxOutside: MAX_WAITING };
    this.#stops = new Slots({ limit: STOPS_AT_ONCE, leave });
    this.#commands = new Slots({ limit: COMMANDS_AT_ONCE, leave });
  }

  get facts(): ChangeLanesFacts {
    return { changes: this.#changes.facts, stops: this.#stops.facts, commands: this.#commands.facts };
  }

  /**
   * Resolves when nothing that was let in is under way any more.
   *
   * Commands get a few seconds to end; those that may be cut get none.
   */
  async settled(signal?: AbortSignal): Promise<void> {
    const commands = this.#settleCommands();
    while (this.#underWay.size > 0) await abortable(Promise.allSettled(this.#underWay), signal);
    await abortable(commands, signal);
  }

  async #settleCommands(): Promise<void> {
    if (this.#commandsUnderWay.size === 0) return;
    await settlesWithin(Promise.allSettled(this.#commandsUnderWay), COMMANDS_SETTLE_MS, this.#clock);
  }

  /**
   * Settles as the work does; the signal only ends the wait for its turn. `canWait`: everything else goes
   * first.
   */
  async change<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
    canWait = false,
  ): Promise<T> {
    const measured = async (): Promise<T> => {
      const underWay = this.#changes.facts.inside;
      const startedMs = this.#clock.monotonicMs();
      let overloaded = false;
      try {
        return await work();
      } catch (error) {
        overloaded = isOverload(error);
        throw error;
      } finally {
        const endedMs = this.#clock.monotonicMs();
        this.#bound.observe({ operation, startedMs, endedMs, underWay, overloaded });
      }
    };
    const rank = canWait ? LAST_RANK : (RANKS[operation] ?? FIRST_RANK);
    return await this.#track(this.#changes.run(rank, measured, signal));
  }

  /** The signal ends the wait at once, as nobody has to wait for a stop that a shorter one overtakes. */
  async stop(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    await abortable(this.#track(this.#stops.run(undefined, work, signal)), signal);
  }

  /** The signal ends the wait at once. `mayBeCut`: {@link settled} does not wait for it. */
  async command<T>(signal: AbortSignal | undefined, work: () => Promise<T>, mayBeCut = false): Promise<T> {
    const command = this.#commands.run(undefined, work, signal);
    return await abortable(mayBeCut ? command : this.#track(command, this.#commandsUnderWay), signal);
  }

  /** For work that is limited elsewhere. The signal ends the wait at once. */
  async unbounded<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    return await abortable(this.#track(work()), signal);
  }

  async #track<T>(work: Promise<T>, underWay = this.#underWay): Promise<T> {
    underWay.add(work);
    try {
      return await work;
    } finally {
      underWay.delete(work);
    }
  }
}
