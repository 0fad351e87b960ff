import { type Clock } from '#base/time/clock.js';
import { BelievedTime } from './believed-time.js';
import { FIRST_KEY, findId, keyAtTime, keyBehind, timeOfId } from './journal-id.js';
import { type JournalStore } from './journal-store.js';
import { decodeRecord } from './record-codec.js';

/** How much is kept. */
export interface JournalLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** So often it is looked, unless much was written meanwhile. */
export const LOOK_MS = 30_000;
/** Also looked at when this share of what is allowed was written. */
const LOOK_SHARE = 1 / 32;
/** Room is made before there is none: the store needs some to give room back, and its log grows meanwhile. */
const FULL_SHARE = 0.85;
/** So much is left then, so that it is not done at every look. */
const LEFT_SHARE = 0.65;
/** What is too old goes in strides of this share of the age. */
const STRIDE_SHARE = 0.02;
/** A record that is more than so much ahead was made by a clock that was wrong. */
const AHEAD_MS = 24 * 3_600_000;
const PAGE = 1_000;
const MARK_EVERY = 64;
/** So many are decoded before others get their turn, and so many at one look. */
const DECODED = 200;
const MOST_DECODED = 5_000;

/** Removes from a store what is too old, and the oldest when it is too much. */
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

  /** What the store took on the disk when it was looked at last. */
  get bytes(): number {
    return this.#bytes;
  }

  /** So many bytes more were written. */
  wrote(bytes: number): void {
    this.#unlookedBytes += bytes;
  }

  /** Looks at the store, when it is time to. */
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
    // No record is younger than its id.
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
 * The key below which records are too old by their own time. When the clock was ahead and is set back, ids stay where
 * they were until it has come there again, and say nothing of the age.
 */
async function findOwnAgeCut(
  store: JournalStore,
  times: { readonly oldestMs: number; readonly strideMs: number; readonly aheadMs: number },
): Promise<string | undefined> {
  let firstOldMs = Infinity;
  let lastOld: string | undefined;
  for (let last = FIRST_KEY, looked = 0; looked < MOST_DECODED; looked += DECODED) {
    const page = await store.readAfter(last, DECODED);
    for (const [key, text] of page) {
      const atMs = decodeRecord(key, text)?.atMs;
      // Of what is damaged, or was made by a clock that was ahead, nobody knows: it goes with what is behind it.
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

/** The key below which that share of all records lies. */
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
