import { expect } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { historyFolder, Journal, type JournalEntry } from '#history';
import { LogRecorder } from '#support/fakes/log-recorder.js';

const LIMITS = { maxBytes: 64 * 2 ** 20, maxAgeMs: 1e12 };

/** The history that an observer has left in its root folder, read as the next one would. */
export async function readJournal(root: string): Promise<JournalEntry[]> {
  const logger = new LogRecorder();
  const clock = new SystemClock();
  const journal = new Journal({
    folder: historyFolder(root),
    nodeName: 'test',
    limits: LIMITS,
    clock,
    logger,
  });
  const ending = new AbortController();
  const running = journal.run(ending.signal);
  const entries: JournalEntry[] = [];
  for await (const entry of journal.read({}, new AbortController().signal)) entries.push(entry);
  ending.abort();
  await running;
  expect(logger.complaints).toEqual([]);
  return entries;
}
