import { expect, it } from 'vitest';
import { FIRST_KEY, JournalIds, toKey } from './journal-id.js';
import { type JournalRecord } from './journal-record.js';
import { type StoredPair } from './journal-store.js';
import { readRecords } from './read-records.js';
import { encodeRecord } from './record-codec.js';

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 0, 2, 12);
const NEVER = new AbortController().signal;

/** Records that came at these times, by the clock of that moment; and how many of them were decoded. */
function sourceOf(timesMs: readonly number[]) {
  const ids = new JournalIds(undefined);
  const pairs = timesMs.map((atMs): StoredPair => {
    const key = toKey(ids.next(atMs));
    const words = { kind: 'agent', type: 'Normal', reason: 'Test', message: String(atMs) } as const;
    const record: JournalRecord = { atMs, ...words };
    return [key, encodeRecord(key, record)];
  });
  const source = {
    looked: 0,
    readAfter: async (key: string, limit: number) => {
      const page = pairs.filter(([each]) => each > key).slice(0, limit);
      source.looked += page.length;
      return page;
    },
    readBefore: async (key: string, limit: number) =>
      pairs
        .filter(([each]) => each < key && each > FIRST_KEY)
        .toReversed()
        .slice(0, limit),
    has: async (key: string) => pairs.some(([each]) => each === key),
    findNodeName: async () => 'n1',
  };
  return source;
}

const hours = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, at) => NOON + (from + at) * HOUR);

async function timesUntil(source: ReturnType<typeof sourceOf>, untilMs: number): Promise<number[]> {
  const times: number[] = [];
  for await (const { atMs } of readRecords(source, { filter: { untilMs } }, NEVER)) times.push(atMs);
  return times;
}

it('reading up to a time does not continue to the end of the history', async () => {
  const source = sourceOf(hours(0, 1_000));
  expect(await timesUntil(source, NOON + 3 * HOUR)).toEqual(hours(0, 4));
  expect(source.looked).toBeLessThan(1_000);
});

it.each([
  ['by an hour', [...hours(0, 3), NOON + HOUR, ...hours(3, 100)]],
  ['by a year, and lately', [...hours(0, 2), NOON + 9_000 * HOUR, NOON + HOUR, ...hours(3, 100)]],
])('reading up to a time finds everything if the clock was set back %s', async (_, times) => {
  const untilMs = NOON + HOUR;
  expect(await timesUntil(sourceOf(times), untilMs)).toEqual(times.filter((atMs) => atMs <= untilMs));
});
