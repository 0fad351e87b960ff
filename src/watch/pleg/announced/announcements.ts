import { type RuntimeEvent } from '../../observed/runtime.js';
import { type Clock } from '#base/time/clock.js';
import { type ContainerChange } from '../diff.js';

/** How long after a change was seen its event may still come, in milliseconds. */
export const ANNOUNCE_GRACE_MS = 1_000;
/** Events are remembered for at least this long, in milliseconds: a look may come later than the event. */
const MEMORY_MS = 60_000;
/** More than that many remembered events, or awaited ones, are never kept. */
const MEMORY_LIMIT = 8_192;

/** Which event announces which change; a changed state of unknown kind has none. */
const ANNOUNCED_BY: Readonly<Record<ContainerChange['type'], RuntimeEvent['type'] | undefined>> = {
  ContainerStarted: 'started',
  ContainerDied: 'stopped',
  ContainerRemoved: 'deleted',
  ContainerChanged: undefined,
};

/**
 * Tells whether the event stream announces every change, by holding changes that looks found against the events.
 *
 * A change counts as announced when an event of that container and kind, made after the connect, arrived before
 * the change was seen or within a second after. What was seen before the first look after the connect is not
 * judged: the event may have come while nobody listened.
 */
export class Announcements {
  readonly #clock: Clock;
  readonly #onMissed: () => void;
  /**
   * `type:containerId` of events that no change was seen for yet, in two generations: the older one is dropped as
   * a whole. (Dropping the oldest entry of one large map, again and again, walks over all that were dropped before.)
   */
  #heard = new Set<string>();
  #heardBefore = new Set<string>();
  #heardSinceMs = 0;
  /** `type:containerId` to the monotonic time until which its event may come, oldest first. */
  readonly #awaited = new Map<string, number>();
  /** Nothing that is awaited is overdue before. */
  #nextOverdueMs = 0;
  #connectedAtNs: bigint | undefined;
  #judging = false;
  #announcedInARow = 0;
  #announced = 0;
  #missed = 0;

  /** `onMissed` is called when a change turns out not to have been announced. */
  constructor(options: { clock: Clock; onMissed: () => void }) {
    this.#clock = options.clock;
    this.#onMissed = options.onMissed;
  }

  /** Changes announced since the connect, with no missed one since. */
  get announcedInARow(): number {
    return this.#announcedInARow;
  }

  /** Changes announced, in all. */
  get announced(): number {
    return this.#announced;
  }

  /** Changes that no event announced, in all. */
  get missed(): number {
    return this.#missed;
  }

  /** Changes whose event may still come. */
  get awaiting(): number {
    return this.#awaited.size;
  }

  /** A stream was asked for: only events made from now on count. */
  connected(): void {
    this.#reset();
    this.#connectedAtNs = this.#wallNs();
  }

  /** The first look after the connect has been taken: from now on changes are judged. */
  caughtUp(): void {
    if (this.#connectedAtNs !== undefined) this.#judging = true;
  }

  /** The stream is gone: nothing is judged until the next. */
  disconnected(): void {
    this.#reset();
  }

  /** An event arrived. One from before the connect announces nothing. */
  hear(event: RuntimeEvent): void {
    if (this.#connectedAtNs === undefined) return;
    if (event.createdAtNs < this.#connectedAtNs) {
      // Where the clock on the wall was set back since, that says nothing: no event would count for as long.
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

  /** A look found a change. */
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

  /** What the stream told cannot be relied on: the row begins anew. */
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
