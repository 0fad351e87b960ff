import { mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Channels } from '#base/channels/publishing-channel.js';
import { historyFolder, type JournalEntry } from '#history';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ObserverHistory, type ObserverHistoryOptions } from './observer-history.js';

const SECOND = 1_000;

/** The history of an observer, in a folder in which the one before it has left this time. */
async function setUp({
  completeMs,
  isBlocked = false,
}: { completeMs?: number | undefined; isBlocked?: boolean } = {}) {
  const rootDir = await mkdtemp(join(tmpdir(), 'podloop-observer-history-'));
  const file = join(rootDir, 'observed');
  if (completeMs !== undefined) {
    await writeFile(file, '');
    await utimes(file, completeMs / SECOND, completeMs / SECOND);
  }
  if (isBlocked) await writeFile(historyFolder(rootDir), '');
  const clock = new FakeClock();
  const startedAtMs = clock.now();
  const health = {
    ...{
      healthy: true,
      message: undefined,
      reason: undefined,
      thresholdMs: 180_000,
      listInFlightMs: undefined,
    },
    ...{ lastSeenAtMs: undefined as number | undefined, stuckPods: [], stuckPodCount: 0 },
  };
  const silent: ObserverHistoryOptions['client'] = {
    ...{ callsInFlight: () => [], endpoint: 'unix:///run/cri.sock', connectionState: 'ready' },
  };
  const history = new ObserverHistory({
    ...{ rootDir, maxBytes: 2 ** 22, maxAgeMs: 1e12, nodeName: 'node', version: '0.1.0' },
    ...{
      client: silent,
      requestTimeoutMs: 1_000,
      channels: new Channels(),
      clock,
      logger: new LogRecorder(),
    },
    pleg: {
      health: () => health,
      findObserved: () => undefined,
      subscribe: () => new NoEvents() as unknown as ReturnType<ObserverHistoryOptions['pleg']['subscribe']>,
    },
  });
  const ending = new AbortController();
  const running = history.run(ending.signal);
  const end = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  onTestFinished(async () => {
    await end();
    history[Symbol.dispose]();
    await rm(rootDir, { recursive: true });
  });
  const read = async (): Promise<JournalEntry[]> => {
    const entries: JournalEntry[] = [];
    for await (const entry of history.read({}, new AbortController().signal)) entries.push(entry);
    return entries;
  };
  /** The time in the file, in milliseconds; undefined while it is missing. */
  const noted = async (): Promise<number | undefined> =>
    stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
  /** Lets checks come and waits for what they do on the disk. */
  const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
    await expect
      .poll(async () => {
        await clock.advance(SECOND);
        return isSo();
      })
      .toBe(true);
  };
  return { rootDir, clock, startedAtMs, health, history, end, read, noted, until };
}

/** A subscription to which nothing comes. */
class NoEvents {
  close: () => void = () => undefined;
  readonly #closed = new Promise<void>((resolve) => {
    this.close = resolve;
  });

  async *[Symbol.asyncIterator](): AsyncGenerator<never, void, undefined> {
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

it('names the gap since the history of the observer before was complete', async () => {
  const { clock, read, until } = await setUp({ completeMs: Date.parse('2026-01-02T02:00:00Z') });
  await until(async () => (await read().catch(() => [])).length >= 2);
  const [gap] = (await read()).filter(({ reason }) => reason === 'HistoryGap');
  expect(gap).toMatchObject({ type: 'Warning', details: { from: '2026-01-02T02:00:00.000Z' } });
  expect(gap!.atMs).toBeLessThanOrEqual(clock.now());
});

it.for([
  ['the first', undefined],
  ['one after an orderly end', 0],
  ['one after a kill', Date.parse('2026-01-02T02:00:00Z')],
] as const)(
  'is complete up to its start before its first list, and then up to a list: %s',
  async ([, before]) => {
    const { clock, startedAtMs, health, noted, until } = await setUp({ completeMs: before });
    await until(async () => (await noted()) !== before);
    await clock.advance(30 * SECOND);
    // The times of files have a limited resolution.
    expect(Math.round((await noted())!)).toBe(startedAtMs);
    const listedAtMs = (health.lastSeenAtMs = clock.now());
    await until(async () => (await noted())! > startedAtMs + 1);
    expect(Math.round((await noted())!)).toBe(listedAtMs);
  },
);

it('is not complete while the disk does not take it, and says why', async () => {
  const before = Date.parse('2026-01-02T02:00:00Z');
  const { rootDir, clock, health, history, noted, until } = await setUp({
    completeMs: before,
    isBlocked: true,
  });
  health.lastSeenAtMs = clock.now();
  await until(() => history.findProblem()?.includes('cannot be written') === true);
  const { writeErrors } = history.facts;
  await until(() => history.facts.writeErrors > writeErrors + 2);
  expect(await noted()).toBe(before);
  await rm(historyFolder(rootDir));
  await until(async () => (await noted()) !== before);
  expect(history.findProblem()).toBeUndefined();
});

it('that ends in order leaves no gap to name', async () => {
  const { clock, health, noted, until, end } = await setUp();
  health.lastSeenAtMs = clock.now();
  await until(async () => (await noted()) !== undefined);
  await end();
  expect(await noted()).toBe(0);
});
