/**
 * The history of a node under kills, on a full disk, and with as much in it as a busy day brings.
 *
 * A few kills in each run of the tests; PODLOOP_JOURNAL_KILLS says how many else.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fillDisk } from './fill-disk.js';
import { Journal } from '../../src/history/journal/journal.js';
import { type JournalQuery } from '../../src/history/journal/journal-query.js';
import { type JournalEntry } from '../../src/history/journal/journal-record.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SystemClock } from '#base/time/clock.js';
import { SeededRandom } from '../containerd/churn/random.js';
import { recordResult } from './results-page.js';

/** `npm run test:full` says 200. */
const KILLS = Number(process.env['PODLOOP_JOURNAL_KILLS'] ?? 5);
const SEED = Number(process.env['PODLOOP_KILL_SEED'] ?? 20261122);
const MIB = 2 ** 20;
const NEVER = new AbortController().signal;
const BUILT = fileURLToPath(new URL('../../dist/', import.meta.url));
const run = promisify(execFile);

/** Writes numbered records until it is killed, and prints the number up to which it was told that all are written. */
const WRITER = `
import { Journal } from ${JSON.stringify(`${BUILT}history/journal/journal.js`)};
import { SystemClock } from ${JSON.stringify(`${BUILT}base/time/clock.js`)};
import { SILENT_LOGGER } from ${JSON.stringify(`${BUILT}base/log/logger.js`)};
const [folder, first] = process.argv.slice(1);
const limits = { maxBytes: 4 * 2 ** 20, maxAgeMs: 1e12 };
const journal = new Journal({ folder, nodeName: 'n1', limits, clock: new SystemClock(), logger: SILENT_LOGGER });
void journal.run(new AbortController().signal);
for (let number = Number(first); ; ) {
  const until = number + 1 + Math.floor(Math.random() * 800);
  for (; number < until; number++) {
    const message = \`\${number} \${Math.random().toString(36).repeat(8)}\`;
    const type = number % 97 === 0 ? 'Warning' : 'Normal';
    journal.append({ atMs: Date.now(), kind: 'lifecycle', type, reason: 'ContainerStarted', message });
  }
  await journal.flush();
  console.log(number - 1);
}
`;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-journal-kills-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A history in this process, until it is disposed. */
function startJournal(place: string, maxBytes = 64 * MIB) {
  const logger = new LogRecorder();
  const limits = { maxBytes, maxAgeMs: 1e12 };
  const journal = new Journal({ folder: place, nodeName: 'n1', limits, clock: new SystemClock(), logger });
  const ending = new AbortController();
  const running = journal.run(ending.signal);
  return {
    ...{ journal, logger },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await running;
    },
  };
}

async function readAll(journal: Journal, query: JournalQuery = {}): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const entry of journal.read(query, NEVER)) entries.push(entry);
  return entries;
}

const numbersOf = (entries: readonly JournalEntry[]): number[] =>
  entries.map(({ message }) => Number.parseInt(message, 10));

it(
  `a history keeps all that was written before each of ${KILLS} kills, in order and once, seed ${SEED}`,
  { timeout: 60_000 + KILLS * 10_000 },
  async () => {
    const random = new SeededRandom(SEED);
    let next = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      const args = ['--input-type=module', '-e', WRITER, '--', folder, String(next)];
      const writer: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      let written = next - 1;
      const lines = createInterface({ input: writer.stdout! });
      lines.on('line', (line) => (written = Number(line)));
      try {
        await once(lines, 'line');
        await sleep(random.between(0, 400));
      } finally {
        writer.kill('SIGKILL');
        await once(writer, 'close');
      }
      await using found = startJournal(folder, 4 * MIB);
      const numbers = numbersOf(await readAll(found.journal));
      const last = numbers.at(-1)!;
      expect(last, `after kill ${kill}`).toBeGreaterThanOrEqual(written);
      // The oldest are given up for their size; of the others none is missing, and none is there twice.
      expect(numbers, `after kill ${kill}`).toEqual(numbers.map((_, at) => last - numbers.length + 1 + at));
      expect(found.logger.complaints, `after kill ${kill}`).toEqual([]);
      next = last + 1;
    }
    await recordResult('journal', 'The history of a node', {
      name: `The writer killed with -9 ${KILLS} times`,
      what: 'It writes as fast as it can into a history of 4 MiB. After each kill all is read and compared with what it was told to be written.',
      values: {
        'records written': next,
        'lost although told to be written': 0,
        'there twice': 0,
        'histories damaged': 0,
      },
    });
  },
);

it.skipIf(process.getuid?.() !== 0)(
  'a history on a full disk waits in memory, says so once, and goes on when there is room (needs root)',
  { timeout: 60_000 },
  async () => {
    const disk = join(folder, 'disk');
    await mkdir(disk);
    await run('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'podloop-test', disk]);
    try {
      await using one = startJournal(join(disk, 'journal'));
      const append = (number: number): void =>
        one.journal.append({
          ...{ atMs: Date.now(), kind: 'lifecycle', type: 'Warning', reason: 'ContainerDied' },
          message: `${number} ${'x'.repeat(200)}`,
        });
      append(0);
      await one.journal.flush();
      await fillDisk(join(disk, 'filler'));
      let count = 1;
      while (one.journal.facts.trouble === undefined) {
        for (let more = 0; more < 100; more++) append(count++);
        await one.journal.flush();
      }
      await one.journal.flush();
      expect(one.journal.facts.queued).toBeGreaterThan(0);
      const { written } = one.journal.facts;
      expect(numbersOf(await readAll(one.journal))).toEqual(Array.from({ length: written }, (_, at) => at));
      await rm(join(disk, 'filler'));
      append(count++);
      await one.journal.flush();
      await one.journal.flush();
      expect(one.journal.facts).toMatchObject({ queued: 0, dropped: 0, trouble: undefined });
      expect(numbersOf(await readAll(one.journal))).toEqual(Array.from({ length: count }, (_, at) => at));
      expect(one.logger.lines.map(({ message }) => message)).toEqual([
        'History cannot be written, records wait in memory',
        'History is written again',
      ]);
    } finally {
      await run('umount', ['-l', disk]);
    }
  },
);

it(
  'a history of 50,000 records is searched for one pod without holding anybody up',
  { timeout: 60_000 },
  async () => {
    await using one = startJournal(folder);
    const pods = Array.from({ length: 500 }, (_, at) => ({
      uid: `u${at}`,
      namespace: 'default',
      name: `pod-${at}`,
    }));
    const startedAtMs = performance.now();
    for (let number = 0; number < 50_000; number++) {
      const pod = pods[number % pods.length]!;
      const message = `${number} Container main died with exit code 137: Error`;
      one.journal.append({
        ...{ atMs: Date.now(), kind: 'lifecycle', type: 'Normal', reason: 'ContainerDied', message, pod },
        ...{ container: 'main', details: { containerId: 'c'.repeat(64), trigger: 'event', exitCode: 137 } },
      });
      if (number % 5_000 === 4_999) await one.journal.flush();
    }
    const writtenAtMs = performance.now();
    const pausesMs: number[] = [];
    let lastMs = writtenAtMs;
    const beat = setInterval(() => {
      const nowMs = performance.now();
      pausesMs.push(nowMs - lastMs);
      lastMs = nowMs;
    });
    const found = await readAll(one.journal, { filter: { uid: 'u7' } });
    const readMs = performance.now() - writtenAtMs;
    clearInterval(beat);
    expect(found).toHaveLength(100);
    // In one piece it would be a single pause. Of single ones others on this machine may have their share.
    pausesMs.sort((one, other) => one - other);
    const longestMs = pausesMs.at(-1)!;
    expect(longestMs).toBeLessThan(readMs / 2);
    expect(pausesMs[Math.floor(pausesMs.length * 0.9)]).toBeLessThan(readMs / 20);
    await recordResult('journal', 'The history of a node', {
      name: 'Of 50,000 records those of one pod of 500',
      what: 'Records are written 5,000 at a time, then all are read and filtered; records have no index by pod.',
      values: {
        'milliseconds to write': Math.round(writtenAtMs - startedAtMs),
        'milliseconds to find': Math.round(readMs),
        'longest pause of the event loop meanwhile, ms': Math.round(longestMs),
        'bytes on the disk': one.journal.facts.bytes,
      },
    });
  },
);
