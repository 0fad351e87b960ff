import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type JournalWrite, journalWritten } from '#base/channels/journal-channels.js';
import { Journal, type JournalOptions } from './journal.js';
import { toKey } from './journal-id.js';
import { type JournalQuery } from './journal-query.js';
import { type JournalEntry, type JournalRecord } from './journal-record.js';
import { JournalStore } from './journal-store.js';

const MIB = 2 ** 20;
const HOUR = 3_600_000;
const NEVER = new AbortController().signal;

let home: string;
let folder: string;
let clock: FakeClock;
let logger: LogRecorder;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'podloop-journal-test-'));
  folder = join(home, 'journal');
  clock = new FakeClock();
  logger = new LogRecorder();
});

afterEach(async () => {
  await rm(home, { recursive: true });
});

/** A journal that runs until it is disposed of. */
function start(more: Partial<JournalOptions> = {}) {
  const limits = { maxBytes: 64 * MIB, maxAgeMs: 7 * 24 * 3_600_000 };
  const journal = new Journal({ folder, nodeName: 'n1', limits, clock, logger, ...more });
  const ending = new AbortController();
  const running = journal.run(ending.signal);
  const stop = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  return { journal, stop, [Symbol.asyncDispose]: stop };
}

const record = (message: string, more: Partial<JournalRecord> = {}): JournalRecord => ({
  ...{ atMs: clock.now(), kind: 'lifecycle', type: 'Normal', reason: 'ContainerStarted', message },
  ...more,
});

async function readAll(journal: Journal, query: JournalQuery = {}): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const entry of journal.read(query, NEVER)) entries.push(entry);
  return entries;
}

const messagesOf = (entries: readonly JournalEntry[]): string[] => entries.map(({ message }) => message);

describe('a history', () => {
  it('returns what was appended, in order, also after a restart', async () => {
    const pod = { uid: 'u1', namespace: 'default', name: 'web' };
    {
      await using first = start();
      first.journal.append(
        record('one', { pod, container: 'main', details: { at: 2n ** 63n, exitCode: 3 } }),
      );
      first.journal.append(record('two'));
    }
    await using second = start();
    second.journal.append(record('three'));
    await second.journal.flush();
    const entries = await readAll(second.journal);
    expect(messagesOf(entries)).toEqual(['one', 'two', 'three']);
    expect(entries[0]).toEqual({
      ...record('one', { pod, container: 'main' }),
      details: { at: '9223372036854775808', exitCode: 3 },
      id: `${clock.now()}-0`,
    });
  });

  it('writes what came within 200 ms together', async () => {
    const writes: JournalWrite[] = [];
    const leave = journalWritten.subscribe((write) => writes.push(write));
    await using one = start();
    await one.journal.flush();
    one.journal.append(record('one'));
    await clock.advance(100);
    one.journal.append(record('two'));
    await clock.advance(99);
    expect(one.journal.facts.queued).toBe(2);
    await clock.advance(1);
    await expect.poll(() => one.journal.facts.written).toBe(2);
    leave();
    expect(writes.map(({ records }) => records)).toEqual([2]);
  });

  it('flushes records to the disk with each warning, and at least every 5 s while records come', async () => {
    const syncs: boolean[] = [];
    const write = vi.spyOn(JournalStore.prototype, 'write');
    write.mockImplementation((_pairs, sync) => Promise.resolve(void syncs.push(sync)));
    try {
      await using started = start();
      const { journal } = started;
      const append = async (afterMs: number, more: Partial<JournalRecord> = {}): Promise<void> => {
        await clock.advance(afterMs);
        journal.append(record('x', more));
        await journal.flush();
      };
      await append(0);
      await append(4_900);
      await append(100);
      await append(4_900);
      await append(50, { type: 'Warning' });
      await append(4_900);
      await append(60_000);
      expect(syncs).toEqual([false, false, true, false, true, false, true]);
    } finally {
      write.mockRestore();
    }
  });

  it('continues in the order of events when the clock is set back', async () => {
    await using one = start();
    one.journal.append(record('before'));
    one.journal.append(record('after', { atMs: clock.now() - 3_600_000 }));
    await one.journal.flush();
    const entries = await readAll(one.journal);
    expect(messagesOf(entries)).toEqual(['before', 'after']);
    expect(messagesOf(await readAll(one.journal, { afterId: entries[0]!.id }))).toEqual(['after']);
    const sinceMs = clock.now() - 3_600_000;
    expect(messagesOf(await readAll(one.journal, { filter: { sinceMs, untilMs: sinceMs } }))).toEqual([
      'after',
    ]);
  });

  it('is filtered by time, pod, namespace, kind and type', async () => {
    const web = { uid: 'u1', namespace: 'default', name: 'web' };
    const db = { uid: 'u2', namespace: 'other', name: 'db' };
    await using one = start();
    one.journal.append(record('web', { pod: web }));
    await clock.advance(1_000);
    one.journal.append(record('db', { pod: db, kind: 'event', type: 'Warning' }));
    one.journal.append(record('node', { kind: 'health' }));
    await one.journal.flush();
    const find = async (filter: JournalQuery['filter'] & object) =>
      messagesOf(await readAll(one.journal, { filter }));
    expect(await find({ sinceMs: clock.now() })).toEqual(['db', 'node']);
    expect(await find({ untilMs: clock.now() - 1 })).toEqual(['web']);
    expect(await find({ namespace: 'other' })).toEqual(['db']);
    expect(await find({ namespace: 'default' })).toEqual(['web', 'node']);
    expect(await find({ pods: ['w', 'web'] })).toEqual(['web']);
    expect(await find({ uid: 'u2' })).toEqual(['db']);
    expect(await find({ kinds: ['health', 'lifecycle'] })).toEqual(['web', 'node']);
    expect(await find({ types: ['Warning'] })).toEqual(['db']);
  });

  it('is followed, each record once, until it ends', async () => {
    const one = start();
    one.journal.append(record('before'));
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { message } of one.journal.read({ follow: true }, NEVER)) seen.push(message);
    })();
    await one.journal.flush();
    for (const message of ['a', 'b']) {
      one.journal.append(record(message));
      await one.journal.flush();
    }
    await expect.poll(() => seen).toEqual(['before', 'a', 'b']);
    one.journal.append(record('last'));
    await one.stop();
    await reading;
    expect(seen).toEqual(['before', 'a', 'b', 'last']);
  });

  it('is followed up to the requested time, and no longer', async () => {
    await using one = start();
    const untilMs = clock.now() + 5_000;
    const follow = async (): Promise<string[]> => {
      const entries: string[] = [];
      const query = { follow: true, filter: { untilMs } };
      for await (const { message } of one.journal.read(query, NEVER)) entries.push(message);
      return entries;
    };
    one.journal.append(record('in time'));
    await one.journal.flush();
    const following = follow();
    await clock.advance(4_000);
    one.journal.append(record('just'));
    await one.journal.flush();
    await clock.advance(2_000);
    one.journal.append(record('too late'));
    await one.journal.flush();
    expect(await following).toEqual(['in time', 'just']);
    expect(await follow()).toEqual(['in time', 'just']);
  });

  it.each(['the reader', 'the history'])(
    'is not taken for whole when %s ends before all is read',
    async (who) => {
      const one = start();
      for (let number = 0; number < 500; number++) one.journal.append(record(String(number)));
      await one.journal.flush();
      const leaving = new AbortController();
      const records = one.journal.read({}, leaving.signal);
      await records.next();
      if (who === 'the reader') leaving.abort();
      else await one.stop();
      const rest = (async () => {
        for await (const { message } of records) expect(message).not.toBe('499');
      })();
      await expect(rest).rejects.toMatchObject({ code: 'JOURNAL_UNUSABLE' });
      await one.stop();
      await expect(readAll(one.journal)).rejects.toMatchObject({ code: 'JOURNAL_UNUSABLE' });
    },
  );

  it('reports lost records in their place', async () => {
    const one = start({ queueCapacity: 3 });
    for (let number = 1; number <= 5; number++) one.journal.append(record(String(number)));
    await one.journal.flush();
    one.journal.append(record('6'));
    await one.stop();
    await using again = start();
    expect(
      (await readAll(again.journal)).map(({ reason, message, count }) => count ?? [reason, message]),
    ).toEqual([
      ...['1', '2', '3'].map((message) => ['ContainerStarted', message]),
      2,
      ['ContainerStarted', '6'],
    ]);
    expect(one.journal.facts.dropped).toBe(2);
    const [gap] = await readAll(again.journal, { filter: { kinds: ['journal'] } });
    expect(gap).toMatchObject({ reason: 'RecordsDropped', node: 'n1' });
  });

  it('stays within its size, and removes the oldest', { timeout: 30_000 }, async () => {
    const maxBytes = 4 * MIB;
    await using one = start({ limits: { maxBytes, maxAgeMs: 1e12 } });
    let largest = 0;
    for (let round = 0; round < 100; round++) {
      for (let at = 0; at < 200; at++) {
        one.journal.append(record(`${round * 200 + at} ${Math.random().toString(36).repeat(40)}`));
      }
      await one.journal.flush();
      await clock.advance(1);
      largest = Math.max(largest, await sizeOf(folder));
    }
    const numbers = (await readAll(one.journal)).map(({ message }) => Number.parseInt(message, 10));
    expect(numbers.length).toBeGreaterThan(1_000);
    expect(numbers).toEqual(numbers.map((_, at) => 20_000 - numbers.length + at));
    expect(largest).toBeLessThanOrEqual(maxBytes);
  });

  it('removes what is too old', async () => {
    await using one = start({ limits: { maxBytes: 64 * MIB, maxAgeMs: 60_000 } });
    one.journal.append(record('old'));
    await one.journal.flush();
    await clock.advance(45_000);
    one.journal.append(record('newer'));
    await one.journal.flush();
    expect(messagesOf(await readAll(one.journal))).toEqual(['old', 'newer']);
    await clock.advance(30_000);
    await one.journal.flush();
    await expect.poll(async () => messagesOf(await readAll(one.journal))).toEqual(['newer']);
  });

  it('removes nothing because of a clock that jumps ahead and is corrected within the hour', async () => {
    await using one = start({ limits: { maxBytes: 64 * MIB, maxAgeMs: HOUR } });
    one.journal.append(record('before'));
    await one.journal.flush();
    clock.jumpWallClock(365 * 24 * HOUR);
    one.journal.append(record('ahead'));
    await clock.advance(HOUR / 2);
    await one.journal.flush();
    clock.jumpWallClock(-365 * 24 * HOUR);
    one.journal.append(record('after'));
    await one.journal.flush();
    expect(messagesOf(await readAll(one.journal))).toEqual(['before', 'ahead', 'after']);
  });

  it('removes what is too old by its own time if ids come from a clock that was ahead', async () => {
    await using one = start({ limits: { maxBytes: 64 * MIB, maxAgeMs: HOUR } });
    one.journal.append(record('ahead', { atMs: clock.now() + 365 * 24 * HOUR }));
    one.journal.append(record('old'));
    await one.journal.flush();
    await clock.advance(0.9 * HOUR);
    one.journal.append(record('newer'));
    await one.journal.flush();
    await clock.advance(0.2 * HOUR);
    await one.journal.flush();
    await expect.poll(async () => messagesOf(await readAll(one.journal))).toEqual(['newer']);
  });

  it('removes what is too old for a clock that stays ahead', async () => {
    await using one = start({ limits: { maxBytes: 64 * MIB, maxAgeMs: HOUR } });
    one.journal.append(record('before'));
    await one.journal.flush();
    clock.jumpWallClock(365 * 24 * HOUR);
    one.journal.append(record('after'));
    await one.journal.flush();
    // Each check settles before the next, as it does real work on a disk.
    for (let looks = 0; looks < 4; looks++) {
      await clock.advance(0.3 * HOUR);
      await one.journal.flush();
    }
    one.journal.append(record('newest'));
    await one.journal.flush();
    expect(messagesOf(await readAll(one.journal)).at(0)).not.toBe('before');
  });
});

describe('a history with problems', () => {
  it.each([
    ['CURRENT', 'garbage'],
    ['CURRENT', 'MANIFEST-999999\n'],
  ])('is set aside, reported, and replaced by a new one: %s contains %j', async (name, content) => {
    {
      await using first = start();
      first.journal.append(record('lost'));
    }
    await writeFile(join(folder, name), content);
    await using second = start();
    second.journal.append(record('new'));
    await second.journal.flush();
    await second.journal.flush();
    expect((await readAll(second.journal)).map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['ContainerStarted', 'HistoryDamaged']),
    );
    expect(existsSync(`${folder}.damaged`)).toBe(true);
    expect(logger.complaints.map(({ message }) => message)).toEqual([
      'History is damaged: it was set aside and a new one is begun',
    ]);
  });

  it('reports once that it cannot be set aside, however often that is tried', async () => {
    await mkdir(folder);
    await writeFile(join(folder, 'CURRENT'), 'garbage');
    // No system can rename a folder by its own `.` name.
    await using one = start({ folder: `${folder}/.` });
    for (let tries = 0; tries < 3; tries++) await one.journal.flush();
    expect(logger.complaints.map(({ message }) => message)).toEqual(['Damaged history cannot be set aside']);
  });

  it('skips a record that is not what was written', async () => {
    {
      await using first = start();
      for (const message of ['one', 'two', 'three']) first.journal.append(record(message));
    }
    const level = new ClassicLevel(folder);
    const [, second] = await level.iterator({ gt: 'r' }).all();
    await level.put(second![0], second![1].replace('two', 'too'));
    await level.close();
    await using again = start();
    for (const _ of ['as it is read', 'and once more']) {
      const entries = await readAll(again.journal);
      expect(entries.map(({ reason, message, count }) => [reason, count ?? message])).toEqual([
        ['ContainerStarted', 'one'],
        ['RecordsLost', 1],
        ['ContainerStarted', 'three'],
      ]);
      expect(entries[1]).toMatchObject({ node: 'n1' });
      // A reader that continues after it gets the rest once.
      expect(messagesOf(await readAll(again.journal, { afterId: entries[1]!.id }))).toEqual(['three']);
    }
    expect(again.journal.facts.damaged).toBe(1);
    expect(logger.complaints).toHaveLength(1);
  });

  it('reports how many records a damaged place on the disk has cost, and returns all others', async () => {
    const table = await writeTable(5_000);
    await damage(table, 0.5, 0.51);
    await using again = start();
    const entries = await readAll(again.journal);
    const lost = entries.filter(({ reason }) => reason === 'RecordsLost');
    expect(lost.length).toBeGreaterThan(0);
    const numbers = entries.flatMap(({ reason, message }) =>
      reason === 'RecordsLost' ? [] : [Number(message)],
    );
    const gone = lost.reduce((sum, { count = 0 }) => sum + count, 0);
    expect([numbers[0], numbers.at(-1), numbers.length + gone]).toEqual([0, 4_999, 5_000]);
    expect(entries.map(({ id }) => toKey(id))).toEqual(entries.map(({ id }) => toKey(id)).toSorted());
    expect(again.journal.facts.damaged).toBe(gone);
  });

  it('is set aside when a reader finds that the rest of it cannot be read', async () => {
    const table = await writeTable(5_000);
    await using one = start();
    await one.journal.flush();
    expect(one.journal.facts.trouble).toBeUndefined();
    await damage(table, 0.5, 1);
    one.journal.append(record('after'));
    await one.journal.flush();
    const readings = await Promise.all([1, 2, 3].map(() => readAll(one.journal)));
    expect(readings.map((entries) => entries.at(-1)!.reason)).toEqual(Array(3).fill('HistoryDamaged'));
    expect(readings[0]!.at(-1)).toMatchObject({ node: 'n1' });
    expect(logger.complaints.map(({ message }) => message)).toEqual([
      'History is damaged: it was set aside and a new one is begun',
    ]);
    expect(await readdir(`${folder}.damaged`)).toContain(basename(table));
    expect(existsSync(`${folder}.damaged`)).toBe(true);
    one.journal.append(record('new'));
    await one.journal.flush();
    expect(messagesOf(await readAll(one.journal)).at(-1)).toBe('new');
  });

  it('queues records while another process has it, reports that once, and writes them afterwards', async () => {
    const other = await JournalStore.open({ folder });
    await using one = start();
    one.journal.append(record('kept'));
    await one.journal.flush();
    await one.journal.flush();
    expect(one.journal.facts).toMatchObject({ queued: 1, written: 0 });
    await expect(readAll(one.journal)).rejects.toMatchObject({ code: 'JOURNAL_UNUSABLE' });
    await other.close();
    await one.journal.flush();
    expect(messagesOf(await readAll(one.journal))).toEqual(['kept']);
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'History cannot be written, records wait in memory',
      'History is written again',
    ]);
  });
});

/** Writes a history of `count` numbered records into one table; returns its path. */
async function writeTable(count: number): Promise<string> {
  {
    await using first = start();
    for (let number = 0; number < count; number++) first.journal.append(record(String(number)));
  }
  const level = new ClassicLevel(folder);
  await level.compactRange('r', 's');
  await level.close();
  const [name, ...others] = (await readdir(folder)).filter((each) => each.endsWith('.ldb'));
  expect(others).toEqual([]);
  return join(folder, name!);
}

/** Overwrites a part of a file, between these shares of its length, with garbage. */
async function damage(path: string, from: number, to: number): Promise<void> {
  await using file = await open(path, 'r+');
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.floor(size * (to - from)), 0xff);
  await file.write(bytes, 0, bytes.length, Math.floor(size * from));
}

async function sizeOf(path: string): Promise<number> {
  const names = await readdir(path);
  const sizes = names.map((name) =>
    stat(join(path, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
