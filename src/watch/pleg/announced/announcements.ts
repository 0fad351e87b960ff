import { type RuntimeEvent } from '../../observed/runtime.js';
import { type Clock } from '#base/time/clock.js';
import { type ContainerChange } from '../diff.js';

/** How long after a change was seen its event may still come, in milliseconds. */
export const ANNOUNCE_GRACE_MS = 1_000;
/**
 * Events are remembered for at least this long, in milliseconds, as the list that shows them may come later.
 */
const MEMORY_MS = 60_000;
/** Upper limit of remembered events, and of awaited ones. */
const MEMORY_LIMIT = 8_192;

/** The event that announces each change; a change into an unknown state has none. */
const ANNOUNCED_BY: Readonly<Record<ContainerChange['type'], RuntimeEvent['type'] | undefined>> = {
  ContainerStarted: 'started',
  ContainerDied: 'stopped',
  ContainerRemoved: 'deleted',
  ContainerChanged: undefined,
};

/**
 * Checks whether the event stream announces every change, by comparing the changes that lists show with the
 * events.
 *
 * A change counts as announced if an event of that container and kind, made after the connect, arrived before
 * the change was seen or within a second after. Changes seen before the first list after the connect are not
 * judged, as their events may have come while there was no stream.
 */
export class Announcements {
  readonly #clock: Clock;
  readonly #onMissed: () => void;
  readonly #credit: number;
  /**
   * `type:containerId` of events without a matching change so far, in two generations; the older one is
   * dropped as a whole. (Repeatedly deleting the oldest entry of one large map walks over all earlier
   * deletions each time.)
   */
  #heard = new Set<string>();
  #heardBefore = new Set<string>();
  #heardSinceMs = 0;
  /** `type:containerId` to the monotonic time until which its event may come, oldest first. */
  readonly #awaited = new Map<string, number>();
  /** No awaited event is overdue before this time. */
  #nextOverdueMs = 0;
  #connectedAtNs: bigint | undefined;
  #judging = false;
  #announcedInARow = 0;
  #announced = 0;
  #missed = 0;

  /**
   * `onMissed` is called for each change that was not announced. A stream counts as if it had announced `credit` changes
   * (default: 0) when it connects, until it misses one.
   */
  constructor(options: { clock: Clock; onMissed: () => void; credit?: number }) {
    this.#clock = options.clock;
    this.#onMissed = options.onMissed;
    this.#credit = options.credit ?? 0;
  }

  /** How many changes were announced since the connect without a missed one between, with the credit. */
  get announcedInARow(): number {
    return this.#announcedInARow;
  }

  /** Total of announced changes. */
  get announced(): number {
    return this.#announced;
  }

  /** Total of changes that no event announced. */
  get missed(): number {
    return this.#missed;
  }

  /** Changes whose event may still come. */
  get awaiting(): number {
    return this.#awaited.size;
  }

  /** Notes that a stream was requested: only events made from now on count. */
  connected(): void {
    this.#reset();
    this.#announcedInARow = this.#credit;
    this.#connectedAtNs = this.#wallNs();
  }

  /** Notes that the first list after the connect is complete: changes are judged from now on. */
  caughtUp(): void {
    if (this.#connectedAtNs !== undefined) this.#judging = true;
  }

  /** Notes that the stream is gone: nothing is judged until the next one. */
  disconnected(): void {
    this.#reset();
  }

  /** Notes an event. One made before the connect announces nothing. */
  hear(event: RuntimeEvent): void {
    if (this.#connectedAtNs === undefined) return;
    if (event.createdAtNs < this.#connectedAtNs) {
      // If the wall clock was set back since the connect, event times prove nothing, and comparing them would
      // reject every event until the clock has caught up.
      const isSetBack = this.#wallNs() < this.#connectedAtNs;
      if (!isSetBack || event.createdAtNs === 0n) return;
      this.#connectedAtNs = event.createdAtNs;
    }
    const key = `${event.type}:${event.containerId}`;
    this.#settleOverdue();
    if (this.#awaited.delete(key)) {
      this.#countAnnounced();
      return;
    }
    this.#forgetOld();
    this.#heard.add(key);
  }

  /** Notes a change that a list showed. */
  see(change: ContainerChange): void {
    const type = ANNOUNCED_BY[change.type];
    if (!this.#judging || type === undefined) return;
    const key = `${type}:${change.container.id}`;
    if (this.#heard.delete(key) || this.#heardBefore.delete(key)) {
      this.#countAnnounced();
      return;
    }
    if (this.#awaited.size >= MEMORY_LIMIT) this.#countMissed();
    else this.#await(key);
  }

  /** Resets the count, as the stream's content proved unreliable. */
  distrust(): void {
    this.#announcedInARow = 0;
  }

  /** Counts changes whose event did not come in time. */
  sweep(): void {
    this.#settleOverdue();
  }

  #wallNs(): bigint {
    return BigInt(Math.floor(this.#clock.now())) * 1_000_000n;
  }

  #await(key: string): void {
    const dueMs = this.#clock.monotonicMs() + ANNOUNCE_GRACE_MS;
    if (this.#awaited.size === 0) this.#nextOverdueMs = dueMs;
    this.#awaited.set(key, dueMs);
  }

  #settleOverdue(): void {
    const now = this.#clock.monotonicMs();
    if (now < this.#nextOverdueMs) return;
    for (const [key, dueMs] of this.#awaited) {
      this.#nextOverdueMs = dueMs;
      if (dueMs > now) return;
      this.#awaited.delete(key);
      this.#countMissed();
    }
  }

  #countAnnounced(): void {
    this.#announced++;
    this.#announcedInARow++;
  }

  #countMissed(): void {
    this.#missed++;
    this.#announcedInARow = 0;
    this.#onMissed();
  }

  #forgetOld(): void {
    const now = this.#clock.monotonicMs();
    if (now - this.#heardSinceMs < MEMORY_MS && this.#heard.size < MEMORY_LIMIT / 2) return;
    this.#heardBefore = this.#heard;
    this.#heard = new Set();
    this.#heardSinceMs = now;
  }

  #reset(): void {
    this.#heard.clear();
    this.#heardBefore.clear();
    this.#heardSinceMs = this.#clock.monotonicMs();
    this.#awaited.clear();
    this.#connectedAtNs = undefined;
    this.#judging = false;
    this.#announcedInARow = 0;
  }
}
