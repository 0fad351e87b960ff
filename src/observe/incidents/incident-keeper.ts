/**
 * Keeps incidents: the calls and samples before, during and after, on the disk.
 *
 * In: examinations, checks, and the calls of the flight recorder. Out: a folder for each incident. Nothing waits for the
 * disk. While it cannot be written or hangs, incidents stay in memory without their calls, and say so.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { Mutex } from '#base/async/mutex.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { withinTime } from '#base/async/within-time.js';
import { messageOf } from '#base/errors/errors.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type Finding } from '#doctor';
import { cutOff, type Incident, IncidentStore, type StoredIncidents } from '#history';
import { CallRecording } from '#proxy/record';
import { type QuickFacts } from '../findings/find-suspicions.js';
import { type FindingSpell } from '../findings/finding-tracker.js';
import { type Examination } from '../findings/finding-watch.js';
import { type CallRing, type RingCall } from './call-ring.js';
import { type BookUpdate, IncidentBook, RECORDED_MS } from './incident-book.js';
import { SampleRing } from './sample-ring.js';

/** What an {@link IncidentKeeper} works with. */
export interface IncidentKeeperOptions {
  readonly rootDir: string;
  readonly ring: Pick<CallRing, 'calls' | 'follow'>;
  readonly hostRoot: string;
  readonly nodeName: string;
  /** podloop's. */
  readonly version: string;
  readonly runtime: () => Incident['runtime'];
  /**
   * Called for each incident that an earlier observer left open, before that is written: resolves once it is on record. Whoever is
   * killed in between records it twice rather than never.
   */
  readonly onCutOff?: (incident: Incident) => Promise<void>;
  /** What an incident may have on the disk (default: 32 MiB each); for tests. */
  readonly room?: IncidentRoom;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What an incident may have on the disk, in bytes. */
export interface IncidentRoom {
  readonly recordingBytes: number;
  readonly samplesBytes: number;
}

/** Of all incidents; the oldest go first. */
const LIMITS = { maxCount: 50, maxBytes: 256 * 2 ** 20 };
const ROOM: IncidentRoom = { recordingBytes: 32 * 2 ** 20, samplesBytes: 32 * 2 ** 20 };
/** What came before an incident is written in parts, as each has to be made out of what the ring shares. */
const MAX_RECORDED_AT_ONCE = 2 ** 20;
const SAMPLES = { maxBytes: 2 * 2 ** 20, maxAgeMs: 10 * 60_000 };
/** Incidents that could not be written. */
const MAX_IN_MEMORY = 20;
/** Calls that wait until the file of their recording is there, and their bytes. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 16 * 2 ** 20;
/** Writes that wait for a disk; beyond them, measurements are dropped. */
const MAX_WRITES = 100;
/** A disk that takes longer to be read hangs; at the end, nobody waits longer for it. */
const DISK_LIMIT_MS = 5_000;
/** How much of its name the kernel keeps of a process. */
const MAX_COMMAND = 15;
const NOTHING_WRITTEN = Symbol('nothing written');

/** A recording under way. */
interface OpenRecording {
  readonly id: number;
  readonly recording: CallRecording;
  readonly numbers: Map<RingCall, number>;
  readonly leave: () => void;
  readonly untilMs: number;
  samplesBytes: number;
}

/** See the module. */
export class IncidentKeeper implements AsyncDisposable {
  readonly #options: IncidentKeeperOptions;
  readonly #store: IncidentStore;
  readonly #samples = new SampleRing(SAMPLES);
  /** By id: what could not be written. */
  readonly #unwritten = new Map<number, Incident>();
  #book: IncidentBook | undefined;
  #recording: OpenRecording | undefined;
  /** Of those in it, the newest will be written soon. */
  readonly #queued = new Set<number>();
  /** Writes come one after another. */
  readonly #disk = new Mutex();
  readonly #ended = new AbortController();
  #writes = 0;
  #isFailing = false;
  /** Whether the file of a recording is being made. */
  #isBeginning = false;
  /** Whether the book has missed examinations, as the disk did not say which incidents there are. */
  #isBehind = true;

  constructor(options: IncidentKeeperOptions) {
    this.#options = options;
    this.#store = new IncidentStore(options.rootDir);
  }

  /**
   * Reads what earlier observers have left, and closes the incident that one of them left open. Nobody has to wait for
   * it: what is examined meanwhile becomes an incident afterwards.
   */
  async start(): Promise<void> {
    const { nodeName: node, version: podloop, runtime, onCutOff, clock, logger } = this.#options;
    const beganMs = clock.now();
    const ids = await this.#store.ids();
    const { items, damaged } = await this.#store.list();
    this.#book = new IncidentBook({ node, podloop, runtime }, (ids.at(-1) ?? 0) + 1);
    for (const { id, why } of damaged) logger.warn('Incident cannot be read', { id, why });
    for (const incident of items) {
      if (incident.state !== 'open') continue;
      const { gaps, ...rest } = cutOff(incident, await this.#store.lastWrittenMs(incident.id));
      const next = `the next observer began at ${new Date(beganMs).toISOString()}`;
      const left = { ...rest, gaps: [...gaps, next] };
      // The history may be on a disk that hangs.
      if (onCutOff !== undefined) await settlesWithin(onCutOff(left), DISK_LIMIT_MS, clock);
      this.#write(left);
      // One by one, as few may wait to be written.
      await this.settled();
    }
    // Of observers that are killed again and again none lives to see the end of an incident.
    this.#prune();
    await this.settled();
  }

  /** The incident that lasts. */
  get open(): Incident | undefined {
    return this.#book?.open;
  }

  /** All incidents, those that could not be written among them, in their order; of a disk that hangs only the latter. */
  async list(): Promise<StoredIncidents> {
    const { logger } = this.#options;
    const { items, damaged } = await this.#read(async () => this.#store.list()).catch((error: unknown) => {
      logger.error('Incidents cannot be read', error, { folder: this.#store.folder });
      return { items: [], damaged: [] };
    });
    const all = new Map([...items, ...this.#unwritten.values()].map((incident) => [incident.id, incident]));
    return { items: [...all.values()].sort((one, other) => one.id - other.id), damaged };
  }

  /** Throws RangeError for one that cannot be read. */
  async find(id: number): Promise<Incident | undefined> {
    return this.#unwritten.get(id) ?? (await this.#read(async () => this.#store.find(id)));
  }

  /** The file with the calls of an incident. */
  recordingOf(id: number): string {
    return this.#store.recordingOf(id);
  }

  /** The file with what was measured during an incident. */
  samplesOf(id: number): string {
    return this.#store.samplesOf(id);
  }

  checked(facts: QuickFacts, sample: object): void {
    this.#noteRecordingEnd();
    const { health, ...rest } = facts;
    const { healthy, listInFlightMs, stuckPodCount } = health;
    this.#sample('check', { ...rest, healthy, listInFlightMs, stuckPodCount, ...sample });
  }

  examined({ facts, changes }: Examination, active: readonly FindingSpell[]): void {
    const { clock, ring } = this.#options;
    const nowMs = clock.now();
    const [oldest] = ring.calls;
    const recordedFromMs = nowMs - (oldest === undefined ? 0 : clock.monotonicMs() - oldest.beganMs);
    const explainEnd = (finding: Finding): string | undefined => this.#explainEnd(finding);
    if (facts !== undefined) this.#sample('examination', { facts });
    if (this.#book === undefined) return;
    this.#noteRecordingEnd();
    const news = this.#isBehind ? { began: active, ended: [] } : changes;
    this.#isBehind = false;
    this.#apply(this.#book.examined({ changes: news, active, nowMs, recordedFromMs, explainEnd }));
  }

  /** Resolves once everything so far was written, or could not be. */
  async settled(): Promise<void> {
    await this.#disk.settled();
  }

  /** Writes what waits, as far as the disk takes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#endRecording();
    await settlesWithin(this.settled(), DISK_LIMIT_MS, this.#options.clock);
    this.#ended.abort();
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    return await withinTime({ clock, limitMs: DISK_LIMIT_MS, signal: this.#ended.signal }, read);
  }

  #apply({ opened, closed, changed }: BookUpdate): void {
    const { logger, clock } = this.#options;
    if (closed !== undefined) {
      logger.info('Incident is over', { id: closed.id, began: closed.beganAt, ended: closed.endedAt });
      this.#endRecording();
    } else if (this.#recordingOfOpen !== undefined && clock.monotonicMs() > this.#recordingOfOpen.untilMs) {
      this.#endRecording();
      this.#noteGap('it lasts longer than an hour, and only its first hour is recorded');
    }
    if (opened !== undefined) {
      const { id, findings } = opened;
      logger.warn('Incident began', { id, first: findings[0]?.code });
      this.#enqueue(async () => this.#store.create(opened));
      this.#beginRecording(opened);
    }
    for (const incident of changed) this.#write(incident);
    if (closed !== undefined) this.#prune();
    // What could not be written is tried again whenever something is news.
    if (changed.length > 0) for (const incident of this.#unwritten.values()) this.#write(incident);
  }

  #prune(): void {
    this.#enqueue(async () => this.#store.prune(LIMITS, this.#book?.open?.id));
  }

  /** That of the incident that lasts; the one before may still be written. */
  get #recordingOfOpen(): OpenRecording | undefined {
    return this.#recording?.id === this.#book?.open?.id ? this.#recording : undefined;
  }

  /** A recording ends by itself when it is as large as it may be, or its disk takes no more. */
  #noteRecordingEnd(): void {
    const why = this.#recordingOfOpen?.recording.ended;
    if (why !== undefined) this.#noteGap(`its calls are not recorded to the end: ${why}`);
  }

  #beginRecording({ id }: Incident): void {
    const { ring, clock, logger, version, room = ROOM } = this.#options;
    const { endpoint: upstream } = this.#options.runtime();
    if (this.#isBeginning) {
      this.#noteGap('its calls could not be recorded: the disk hangs');
      return;
    }
    this.#isBeginning = true;
    // Taken now: what is in the ring may be gone when the disk has answered.
    const calls = new Set(ring.calls);
    const [oldest] = calls;
    const startMs = oldest?.beganMs ?? clock.monotonicMs();
    const path = this.#store.recordingOf(id);
    const lines = this.#samples.lines.join('');
    const open: { recording?: OpenRecording } = {};
    let waitingBytes = 0;
    let isIncomplete = false;
    const leave = ring.follow((call, what) => {
      if (open.recording !== undefined) record(open.recording, call, what);
      else if (what === 'message') waitingBytes += call.messages.at(-1)!.content.length;
      else if (what === 'began' && calls.size < MAX_WAITING && waitingBytes < MAX_WAITING_BYTES)
        calls.add(call);
      else if (what === 'began') isIncomplete = true;
    });
    this.#enqueue(async () => {
      try {
        const recording = await CallRecording.create({
          ...{ path, maxBytes: room.recordingBytes, startMs, upstream, version, clock, logger },
        });
        const untilMs = clock.monotonicMs() + RECORDED_MS;
        const samplesBytes = Buffer.byteLength(lines);
        open.recording = { id, recording, numbers: new Map(), leave, untilMs, samplesBytes };
        this.#recording = open.recording;
        if (isIncomplete) this.#noteGap('calls are missing that came while the disk did not answer');
        // Each as it is by now, and from here on as it goes on.
        let bytes = 0;
        for (const call of calls) {
          bytes += recordWhole(open.recording, call);
          if (bytes < MAX_RECORDED_AT_ONCE) continue;
          bytes = 0;
          await recording.flush();
        }
        calls.clear();
        // Only memory has what came before the incident: bring it to the disk first.
        await recording.flush();
        await appendFile(this.#store.samplesOf(id), lines, { mode: 0o600 });
      } catch (error) {
        leave();
        calls.clear();
        this.#noteGap(`its calls could not be recorded: ${messageOf(error)}`);
        throw error;
      } finally {
        this.#isBeginning = false;
      }
    });
  }

  #endRecording(): void {
    this.#enqueue(async () => {
      const open = this.#recording;
      this.#recording = undefined;
      open?.leave();
      await open?.recording[Symbol.asyncDispose]();
      return NOTHING_WRITTEN;
    });
  }

  #sample(kind: 'check' | 'examination', sample: object): void {
    const line = this.#samples.add(this.#options.clock.now(), kind, sample);
    const { room = ROOM } = this.#options;
    const recording = this.#recording;
    if (recording === undefined) return;
    const { id } = recording;
    recording.samplesBytes += Buffer.byteLength(line);
    if (recording.samplesBytes > room.samplesBytes) {
      this.#noteGap('measurements are missing, as they take more room than an incident may have');
      return;
    }
    if (this.#writes >= MAX_WRITES) {
      this.#noteGap('measurements are missing, as the disk did not take them in time');
      return;
    }
    this.#enqueue(async () => appendFile(this.#store.samplesOf(id), line, { mode: 0o600 }));
  }

  #noteGap(gap: string): void {
    const incident = this.#book?.noteGap(gap);
    if (incident !== undefined) this.#write(incident);
  }

  #write(incident: Incident): void {
    this.#unwritten.set(incident.id, incident);
    if (this.#unwritten.size > MAX_IN_MEMORY) this.#unwritten.delete(this.#unwritten.keys().next().value!);
    if (this.#queued.has(incident.id)) return;
    this.#queued.add(incident.id);
    this.#enqueue(async () => {
      this.#queued.delete(incident.id);
      const newest = this.#unwritten.get(incident.id);
      if (newest === undefined) return NOTHING_WRITTEN;
      if (!(await this.#store.create(newest))) await this.#store.write(newest);
      if (this.#unwritten.get(incident.id) === newest) this.#unwritten.delete(incident.id);
      return undefined;
    });
  }

  #enqueue(write: () => Promise<unknown>): void {
    const { logger } = this.#options;
    this.#writes++;
    void this.#disk.run(async () => {
      this.#writes--;
      try {
        // What had nothing to write says nothing of the disk.
        if ((await write()) === NOTHING_WRITTEN) return;
        if (this.#isFailing) logger.info('Incidents are written again', { folder: this.#store.folder });
        this.#isFailing = false;
      } catch (error) {
        if (!this.#isFailing)
          logger.error('Incidents cannot be written and stay in memory', error, {
            folder: this.#store.folder,
          });
        this.#isFailing = true;
      }
    });
  }

  #explainEnd({ process }: Finding): string | undefined {
    if (process === undefined) return undefined;
    const { pid, command } = process;
    const { hostRoot } = this.#options;
    // By now the pid may be that of another process.
    const isAlive = nameOf(path.join(hostRoot, `proc/${pid}/comm`)) === command.slice(0, MAX_COMMAND);
    return isAlive ? `${command} (pid ${pid}) goes on` : `${command} (pid ${pid}) has ended`;
  }
}

function nameOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trimEnd();
  } catch {
    return undefined;
  }
}

/** A call with all that has happened to it; returns how many bytes that is. */
function recordWhole(open: OpenRecording, call: RingCall): number {
  const number = open.recording.begin(call.path, call.beganMs, call.request.bytes);
  if (number === undefined) return 0;
  for (const { atMs, content } of call.messages)
    open.recording.message(number, call.path, atMs, content.bytes);
  if (call.end === undefined) open.numbers.set(call, number);
  else open.recording.end(number, call.path, call.end.atMs, call.end.how);
  return call.messages.reduce((sum, { content }) => sum + content.length, call.request.length);
}

function record(open: OpenRecording, call: RingCall, what: 'began' | 'message' | 'ended'): void {
  if (what === 'began') {
    recordWhole(open, call);
    return;
  }
  const number = open.numbers.get(call);
  if (number === undefined) return;
  if (what === 'message') {
    const { atMs, content } = call.messages.at(-1)!;
    open.recording.message(number, call.path, atMs, content.bytes);
    return;
  }
  open.numbers.delete(call);
  const { atMs, how } = call.end!;
  open.recording.end(number, call.path, atMs, how);
}
