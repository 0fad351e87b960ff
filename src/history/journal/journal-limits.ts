import { type Clock } from '#base/time/clock.js';
import { findId, FIRST_KEY, keyAtTime, keyBehind, timeOfId } from './journal-id.js';
import { type JournalStore } from './journal-store.js';
import { decodeRecord } from './record-codec.js';

/** The limits of a history. */
export interface JournalLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** How often the limits are checked, unless much was written meanwhile. */
export const LOOK_MS = 30_000;
/** They are also checked when this share of the allowed size was written. */
const LOOK_SHARE = 1 / 32;
/** Records are removed before the limit: the store needs space to free space, and its log grows meanwhile. */
const FULL_SHARE = 0.85;
/** How much is left then, so that not every check removes records. */
const LEFT_SHARE = 0.65;
/** Old records are removed in steps of this share of the age. */
const STRIDE_SHARE = 0.02;
/** A record this far in the future was made by a wrong clock. */
const AHEAD_MS = 24 * 3_600_000;
const PAGE = 1_000;
const MARK_EVERY = 64;
/** How many records are decoded between two turns of the event loop, and in one check. */
const DECODED = 200;
const MAX_DECODED = 5_000;

/** Removes records that are too old from a store, and the oldest ones when it is too large. */
export class LimitKeeper {
  readonly #limits: JournalLimits;
  readonly #clock: Clock;
  readonly #time: BelievedTime;
  #lookAtMs = 0;
  #unlookedBytes = 0;
  #bytes = 0;

  constructor(limits: JournalLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#time = new BelievedTime(clock);
  }

  /** The store's size on the disk at the last check. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Notes how many bytes were written. */
  wrote(bytes: number): void {
    this.#unlookedBytes += bytes;
  }

  /** Checks the store if it is time to. */
  async look(store: JournalStore): Promise<void> {
    const beganMs = this.#clock.monotonicMs();
    const isDue = beganMs >= this.#lookAtMs;
    if (!isDue && this.#unlookedBytes < this.#limits.maxBytes * LOOK_SHARE) return;
    await this.#removeOld(store);
    this.#bytes = await this.#removeSurplus(store);
    this.#unlookedBytes = 0;
    this.#lookAtMs = beganMs + LOOK_MS;
  }

  async #removeOld(store: JournalStore): Promise<void> {
    const ends = await store.findEnds();
    const nowMs = ends === undefined ? undefined : this.#time.now(timeOfId(ends.last));
    if (ends === undefined || nowMs === undefined) return;
    const { maxAgeMs } = this.#limits;
    const oldestMs = nowMs - maxAgeMs;
    const strideMs = maxAgeMs * STRIDE_SHARE;
    // No record is newer than its id.
    if (timeOfId(ends.first) < oldestMs - strideMs) await store.removeBelow(keyAtTime(oldestMs));
    const cut = await findOwnAgeCut(store, { oldestMs, strideMs, aheadMs: nowMs + AHEAD_MS });
    if (cut !== undefined) await store.removeBelow(cut);
  }

  async #removeSurplus(store: JournalStore): Promise<number> {
    const { maxBytes } = this.#limits;
    const bytes = await store.measure();
    if (bytes <= maxBytes * FULL_SHARE) return bytes;
    await store.removeBelow(await findCut(store, 1 - (maxBytes * LEFT_SHARE) / bytes));
    return await store.measure();
  }
}

/**
 * The key below which records are too old by their own time.
 *
 * After the clock was ahead and is set back, ids continue from the wrong time until the clock reaches it
 * again, so they do not show the age.
 */
async function findOwnAgeCut(
  store: JournalStore,
  times: { readonly oldestMs: number; readonly strideMs: number; readonly aheadMs: number },
): Promise<string | undefined> {
  let firstOldMs = Infinity;
  let lastOld: string | undefined;
  for (let last = FIRST_KEY, looked = 0; looked < MAX_DECODED; looked += DECODED) {
    const page = await store.readAfter(last, DECODED);
    for (const [key, text] of page) {
      const atMs = decodeRecord(key, text)?.atMs;
      // The age of a damaged record, or one made by a clock that was ahead, is unknown: it is removed with
      // the ones after it.
      if (atMs === undefined || atMs > times.aheadMs) continue;
      if (atMs >= times.oldestMs) return cutBehind();
      firstOldMs = Math.min(firstOldMs, atMs);
      lastOld = key;
    }
    if (page.length < DECODED) break;
    last = page.at(-1)![0];
  }
  return cutBehind();

  function cutBehind(): string | undefined {
    const isWorthIt = firstOldMs < times.oldestMs - times.strideMs;
    return lastOld === undefined || !isWorthIt ? undefined : keyBehind(lastOld);
  }
}

/** The key below which this share of all records lies. */
async function findCut(store: JournalStore, share: number): Promise<string> {
  const marks: string[] = [];
  let count = 0;
  for await (const page of store.keys(PAGE)) {
    for (const key of page) {
      if (count % MARK_EVERY === 0 && findId(key) !== undefined) marks.push(key);
      count++;
    }
  }
  return marks[Math.ceil(marks.length * share)] ?? marks.at(-1) ?? FIRST_KEY;
}

/** More than any synchronized clock drifts. */
const JUMP_MS = 60_000;
/** How long a jump must have lasted. */
const DOUBT_MS = 3_600_000;
/** A starting agent believes the time at once if it is at most this long after the newest record. */
const PLAUSIBLE_MS = 24 * 3_600_000;

/**
 * The wall-clock time for irreversible decisions.
 *
 * A jump forward is believed only when it has lasted for an hour, as a wrong clock is corrected sooner. The
 * same holds at the start for a time more than a day after the newest record. A jump back is believed at
 * once, as it expires nothing.
 */
class BelievedTime {
  readonly #clock: Clock;
  /** The difference between the wall clock and the monotonic clock. */
  #offsetMs: number | undefined;
  #doubted: { readonly offsetMs: number; readonly sinceMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The present time, as far as it is believed; undefined if unknown. `newestMs` is the time of the newest
   * record.
   */
  now(newestMs: number): number | undefined {
    const nowMs = this.#clock.now();
    const monotonicMs = this.#clock.monotonicMs();
    const offsetMs = nowMs - monotonicMs;
    const isPlausible =
      this.#offsetMs === undefined ? nowMs <= newestMs + PLAUSIBLE_MS : offsetMs <= this.#offsetMs + JUMP_MS;
    if (!isPlausible) {
      const isSame = this.#doubted !== undefined && Math.abs(offsetMs - this.#doubted.offsetMs) <= JUMP_MS;
      if (!isSame) this.#doubted = { offsetMs, sinceMs: monotonicMs };
      if (monotonicMs - this.#doubted!.sinceMs < DOUBT_MS) {
        return this.#offsetMs === undefined ? undefined : monotonicMs + this.#offsetMs;
      }
    }
    this.#offsetMs = offsetMs;
    this.#doubted = undefined;
    return nowMs;
  }
}
