/**
 * The history of a node that an observer watches: the same journal that an agent keeps, in the same folder.
 *
 * In: lifecycle events, and what the client and the event generator publish. Out: records on the disk, and the time up to
 * which they are complete there. After a kill the next observer records a gap from that time on, so that no gap is
 * without a name: not that of what waited in memory, nor that of an observer that was killed before it wrote anything.
 *
 * @module
 */
import { rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { untilNextBeatMs } from '#base/async/beat.js';
import { Mutex } from '#base/async/mutex.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { type Channels } from '#base/channels/publishing-channel.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import {
  CallRecords,
  historyFolder,
  Journal,
  type JournalEntry,
  type JournalFacts,
  type JournalPod,
  type JournalQuery,
  type JournalRecord,
  type RecordMaker,
  RepeatFolder,
  toLifecycleRecord,
} from '#history';
import { RuntimeRecords } from '#node/history';
import { type CriClient, type Pleg } from '#watch';

/** What an {@link ObserverHistory} listens to. */
export interface ObserverHistoryOptions {
  readonly rootDir: string;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly nodeName: string;
  /** podloop's. */
  readonly version: string;
  readonly client: Pick<CriClient, 'callsInFlight' | 'endpoint' | 'connectionState'>;
  readonly pleg: Pick<Pleg, 'subscribe' | 'health' | 'findObserved'>;
  readonly requestTimeoutMs: number;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often to check what hangs. */
const CHECK_MS = 1_000;
/** The file by whose time a later observer knows up to when the history is complete; and how often it is touched. */
const COMPLETE_FILE = 'observed';
const COMPLETE_MS = 10_000;
/** A use of the disk that takes longer hangs. */
const HANGS_MS = 10_000;
/** A disk that takes longer to take the last records hangs. */
const END_LIMIT_MS = 10_000;

/** See the module. */
export class ObserverHistory implements Disposable {
  readonly #options: ObserverHistoryOptions;
  readonly #journal: Journal;
  readonly #repeats: RepeatFolder;
  readonly #calls: CallRecords;
  readonly #runtime: RuntimeRecords;
  readonly #disk = new Mutex();
  /** Since when a use of the disk is pending. */
  #onDiskSinceMs: number | undefined;

  constructor(options: ObserverHistoryOptions) {
    const { rootDir, maxBytes, maxAgeMs, nodeName, client, pleg, channels, clock, logger } = options;
    this.#options = options;
    this.#journal = new Journal({
      ...{ folder: historyFolder(rootDir), nodeName, limits: { maxBytes, maxAgeMs } },
      ...{ channels, clock, logger },
    });
    const append = (record: JournalRecord): void => this.append(record);
    this.#repeats = new RepeatFolder({ clock, append });
    const findPod = (uid: string): JournalPod | undefined => pleg.findObserved(uid);
    const maker: RecordMaker = { channels, clock, append, repeats: this.#repeats, findPod };
    this.#calls = new CallRecords({
      ...{ ...maker, requestTimeoutMs: options.requestTimeoutMs },
      callsInFlight: () => client.callsInFlight(),
    });
    this.#runtime = new RuntimeRecords({
      ...{ ...maker, endpoint: client.endpoint },
      health: () => pleg.health(),
      isRuntimeThere: () => client.connectionState === 'ready',
    });
  }

  /** Its present state. */
  get facts(): JournalFacts {
    return this.#journal.facts;
  }

  /** Why the disk does not get the history now; undefined while all is well. */
  findProblem(): string | undefined {
    const { clock } = this.#options;
    const { trouble, dropped } = this.facts;
    const lost = `(${dropped} records lost)`;
    if (trouble !== undefined)
      return `the history stays in memory, as it cannot be written: ${trouble} ${lost}`;
    const hangsMs = clock.monotonicMs() - (this.#onDiskSinceMs ?? Infinity);
    if (hangsMs < HANGS_MS) return undefined;
    return `the history stays in memory, as its disk has not answered for ${formatSeconds(hangsMs)} ${lost}`;
  }

  /** Resolves once all records so far are on the disk, or waits for as long as it takes none. */
  async flush(): Promise<void> {
    await this.#journal.flush();
  }

  /** Adds a record. Never waits, never throws. */
  append(record: JournalRecord): void {
    const { pod, ...rest } = record;
    const about = pod === undefined ? { node: this.#options.nodeName } : { pod: toJournalPod(pod) };
    this.#journal.append({ ...rest, ...about });
  }

  /** See {@link Journal.read}. */
  read(query: JournalQuery, signal: AbortSignal): AsyncGenerator<JournalEntry, void, undefined> {
    return this.#journal.read(query, signal);
  }

  /** Stores records until the signal aborts, and then the remaining ones. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, version, client, pleg, logger, rootDir } = this.#options;
    const file = join(rootDir, COMPLETE_FILE);
    const startedAtMs = clock.now();
    this.#onDisk(async () => {
      await this.#recordGap(file);
      // What comes before the first list is lost if this observer is killed until then: a gap from here on.
      await this.#noteComplete(file, startedAtMs);
    });
    this.#appendOwn('ObserverStarted', `podloop ${version} observes ${client.endpoint}`);
    const writing = new AbortController();
    const written = this.#journal.run(writing.signal);
    const listening = this.#recordEvents(signal);
    let completeMs = -Infinity;
    let seenAtMs: number | undefined;
    while (!signal.aborted) {
      this.#calls.look();
      this.#runtime.look();
      this.#repeats.look();
      // The list of the last check: what it showed has been inspected since then, or is on record as stuck.
      const untilMs = seenAtMs;
      if (untilMs !== undefined && clock.monotonicMs() - completeMs >= COMPLETE_MS) {
        completeMs = clock.monotonicMs();
        this.#onDisk(async () => this.#noteComplete(file, untilMs));
      }
      seenAtMs = pleg.health().lastSeenAtMs;
      await clock.sleep(untilNextBeatMs(clock, CHECK_MS), signal).catch(() => undefined);
    }
    await listening;
    this.#repeats.end('');
    this.#appendOwn('ObserverStopped', `podloop ${version} ended`);
    writing.abort();
    // What ended in order leaves no gap without a name: the epoch says so.
    const ended = written.then(async () => this.#disk.run(async () => this.#noteWritten(file, 0)));
    if (!(await settlesWithin(ended, END_LIMIT_MS, clock)))
      logger.warn('The end of the history could not be written in time', { folder: rootDir });
  }

  /** Nobody waits for the disk: while it hangs, one use of it is pending and further ones are left out. */
  #onDisk(use: () => Promise<void>): void {
    if (this.#onDiskSinceMs !== undefined) return;
    this.#onDiskSinceMs = this.#options.clock.monotonicMs();
    void this.#disk.run(use).finally(() => {
      this.#onDiskSinceMs = undefined;
    });
  }

  /** Stops listening. Idempotent. */
  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]();
    this.#runtime[Symbol.dispose]();
  }

  async #recordGap(file: string): Promise<void> {
    const { clock } = this.#options;
    const lastMs = (await stat(file).catch(() => undefined))?.mtimeMs ?? 0;
    if (lastMs === 0) return;
    const nowMs = clock.now();
    const from = new Date(lastMs).toISOString();
    const forMs = Math.max(0, nowMs - lastMs);
    const length = formatSeconds(forMs);
    this.append({
      ...{ atMs: nowMs, kind: 'journal', type: 'Warning', reason: 'HistoryGap' },
      message: `The observer before was killed, or its disk could not be written: nothing is on record from about ${from} until now, ${length}; what came and went meanwhile is missing`,
      details: { from, forMs },
    });
  }

  /** All that was seen up to this time is a record by now; notes the time once the disk has them all. */
  async #noteComplete(file: string, ms: number): Promise<void> {
    await this.#journal.flush();
    await this.#noteWritten(file, ms);
  }

  /** A disk that cannot be written is reported by the journal. The file is never seen with another time. */
  async #noteWritten(file: string, ms: number): Promise<void> {
    if (this.facts.trouble !== undefined) return;
    const seconds = ms / 1_000;
    await utimes(file, seconds, seconds)
      .catch(async () => {
        const draft = `${file}.new`;
        await writeFile(draft, '', { mode: 0o600 });
        await utimes(draft, seconds, seconds);
        await rename(draft, file);
      })
      .catch(() => undefined);
  }

  async #recordEvents(signal: AbortSignal): Promise<void> {
    await using events = this.#options.pleg.subscribe();
    signal.addEventListener('abort', () => events.close(), { once: true });
    for await (const event of events) {
      const record = toLifecycleRecord(event);
      if (record !== undefined) this.append(record);
    }
  }

  #appendOwn(reason: string, message: string): void {
    const { clock, version, client } = this.#options;
    const details = { pid: process.pid, version, endpoint: client.endpoint };
    this.append({ atMs: clock.now(), kind: 'agent', type: 'Normal', reason, message, details });
  }
}

/** An observed pod has more fields than belong into a record. */
function toJournalPod({ uid, namespace, name }: JournalPod): JournalPod {
  return { uid, namespace, name };
}

function formatSeconds(ms: number): string {
  return formatGoDuration(Math.round(ms / 1_000) * 1_000);
}
