import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { LogRecorder } from '../testing/log-recorder.js';
import { type JournalWrite, journalWritten } from '../util/journal-channels.js';
import { Journal, type JournalOptions } from './journal.js';
import { type JournalQuery } from './journal-query.js';
import { type JournalEntry, type JournalRecord } from './journal-record.js';
import { JournalStore } from './journal-store.js';

const MIB = 2 ** 20;
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

/** A journal that runs until it is disposed. */
function start(more: Partial<JournalOptions> = {}) {
  const limits = { maxBytes: 64 * MIB, maxAgeMs: 7 * 24 * 3_600_000 };
  const journal = new Journal({ folder, limits, clock, logger, ...more });
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
  it('gives back what it was given, in order, also after a restart', async () => {
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

  it('writes what came within 200 ms at once', async () => {
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

  it('goes on in the order in which things happened when the clock is set back', async () => {
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

  it('says in its place how much it could not keep', async () => {
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
  });

  it('stays within its size, and gives up the oldest', { timeout: 30_000 }, async () => {
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

  it('gives up what is too old', async () => {
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
});

describe('a history that is not well', () => {
  it.each([
    ['CURRENT', 'garbage'],
    ['CURRENT', 'MANIFEST-999999\n'],
  ])('is set aside, said, and begun anew: %s holds %j', async (name, content) => {
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

  it('says once that it cannot be set aside, however often that is tried', async () => {
    await mkdir(folder);
    await writeFile(join(folder, 'CURRENT'), 'garbage');
    // No system renames a folder by the name that it has for itself.
    await using one = start({ folder: `${folder}/.` });
    for (let tries = 0; tries < 3; tries++) await one.journal.flush();
    expect(logger.complaints.map(({ message }) => message)).toEqual(['Damaged history cannot be set aside']);
  });

  it('passes over a record that is not what was written', async () => {
    {
      await using first = start();
      for (const message of ['one', 'two', 'three']) first.journal.append(record(message));
    }
    const level = new ClassicLevel(folder);
    const [, second] = await level.iterator({ gt: 'r' }).all();
    await level.put(second![0], second![1].replace('two', 'too'));
    await level.close();
    await using again = start();
    expect(messagesOf(await readAll(again.journal))).toEqual(['one', 'three']);
    expect(again.journal.facts.damaged).toBe(1);
  });

  it('keeps records while somebody else has it, says so once, and writes them afterwards', async () => {
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
