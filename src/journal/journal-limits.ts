import { FIRST_KEY, findId, keyAtTime, timeOfId } from './journal-id.js';
import { type JournalStore } from './journal-store.js';

/** How much is kept. */
export interface JournalLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** Room is made before there is none: the store needs some to give room back, and its log grows meanwhile. */
const FULL_SHARE = 0.85;
/** So much is left then, so that it is not done at every look. */
const LEFT_SHARE = 0.65;
/** What is too old goes in strides of this share of the age. */
const STRIDE_SHARE = 0.02;
const PAGE = 1_000;
const MARK_EVERY = 64;

/** Removes what is too old, and the oldest when it is too much. Resolves with the bytes that are taken then. */
export async function keepWithin(store: JournalStore, limits: JournalLimits, nowMs: number): Promise<number> {
  const { maxBytes, maxAgeMs } = limits;
  const ends = await store.findEnds();
  if (ends === undefined) return await store.measure();
  const oldestMs = nowMs - maxAgeMs;
  if (timeOfId(ends.first) < oldestMs - maxAgeMs * STRIDE_SHARE) await store.removeBelow(keyAtTime(oldestMs));
  const bytes = await store.measure();
  if (bytes <= maxBytes * FULL_SHARE) return bytes;
  await store.removeBelow(await findCut(store, 1 - (maxBytes * LEFT_SHARE) / bytes));
  return await store.measure();
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
