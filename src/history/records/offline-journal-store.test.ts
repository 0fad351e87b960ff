import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FIRST_KEY } from '../journal/journal-id.js';
import { JournalStore, type StoredPair } from '../journal/journal-store.js';
import { FakeClock } from '#testing/fake-clock.js';
import { OfflineJournalStore } from './offline-journal-store.js';

const PAIRS: readonly StoredPair[] = [
  ['r000000000000001-0000000000', 'one'],
  ['r000000000000001-0000000001', 'two'],
];

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-lent-store-test-'));
  const store = await JournalStore.open({ folder });
  await store.write(PAIRS, false);
  await store.close();
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

it('a history is open only while it is read, and read on when it is free again', async () => {
  const clock = new FakeClock();
  await using lent = new OfflineJournalStore(folder, clock);
  const [first] = await lent.readAfter(FIRST_KEY, 1);
  expect(first).toEqual(PAIRS[0]);
  await expect(JournalStore.open({ folder })).rejects.toMatchObject({ trouble: 'locked' });
  await clock.advance(250);
  // Closing it is real work, on a thread.
  let taken: JournalStore | undefined;
  const take = async () => (taken ??= await JournalStore.open({ folder }).catch(() => undefined));
  await expect.poll(take).toBeDefined();
  await expect(lent.readAfter(first![0], 1)).rejects.toMatchObject({ trouble: 'locked' });
  await taken?.close();
  expect(await lent.readAfter(first![0], 1)).toEqual([PAIRS[1]]);
  expect(await lent.readBefore(PAIRS[1]![0], 5)).toEqual([PAIRS[0]]);
  expect(await lent.has(PAIRS[1]![0])).toBe(true);
});
