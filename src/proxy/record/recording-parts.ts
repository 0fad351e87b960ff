import { randomBytes } from 'node:crypto';
import { lstat, rename, rm } from 'node:fs/promises';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { hashInSlices } from './redaction/hash-in-slices.js';
import {
  type BeginFrame,
  type CloseFrame,
  encodeFrame,
  encodeJsonFrame,
  type EndFrame,
  FrameKind,
  type LostFrame,
  type MessageFrame,
  type MetaFrame,
  RECORDING_LIMITS,
  type RecordingLimits,
} from './recording-format.js';
import { RecordingWriter } from './recording-writer.js';

/** How {@link RecordingParts} is made. */
export interface RecordingPartsOptions {
  readonly path: string;
  /** Takes the place of files that are there, once {@link RecordingParts.place} is called. */
  readonly replace: boolean;
  /** What all files together may have, in bytes. */
  readonly maxBytes: number;
  /** `stop`: it ends there; `roll`: the older half goes, again and again. */
  readonly whenFull: 'stop' | 'roll';
  readonly meta: Omit<MetaFrame, 'part' | 'startedAt'>;
  readonly clock: Clock;
  /** How many calls and messages one file may have (default: as many as are read again). */
  readonly most?: RecordingLimits;
  /** When the recording began, in milliseconds of the clock that does not jump (default: now). */
  readonly startMs?: number;
}

/** Different messages of which it is known that they are in the file already. */
const MAX_REMEMBERED = 20_000;

/** What a frame of JSON has at most, but for one with a long error. */
const FRAME_BYTES = 512;
/** So much of its half of the room a file has had before the next one is begun, as far as messages are small. */
const LEAST_SHARE = 0.5;

/** What the last frame says besides when and why. */
export type ClosingCounts = Omit<CloseFrame, 'at' | 'reason'>;

/** A call that has begun and not ended, to be repeated in the next file. */
interface OpenCall {
  readonly frame: Omit<BeginFrame, 'request'>;
  readonly request: Buffer | undefined;
  readonly beganMs: number;
  /** How many messages of its answer came, … */
  messages: number;
  /** … and how many of them before this file. */
  messagesBefore: number;
}

/**
 * A recording as one file, or, when it rolls, as `FILE` and the one before it, `FILE.1`. Each can be read by itself.
 * Messages that were written before are referred to: a list that does not change costs a few bytes.
 */
export class RecordingParts {
  readonly #options: RecordingPartsOptions;
  #writer: RecordingWriter;
  /** Where the file is until it takes the place of another; undefined once it is in its place. */
  #draft: string | undefined;
  #startMs: number;
  #part = 0;
  #blobs = new Map<string, number>();
  /** Of messages that come again as the same bytes in memory. */
  readonly #digests = new WeakMap<Buffer, string>();
  #blobCount = 0;
  /** How many calls and messages are in this file. */
  #counts = { calls: 0, messages: 0 };
  readonly #open = new Map<number, OpenCall>();
  #bytesBefore = 0;
  /** Why there is no next file. */
  #failure: Error | undefined;

  private constructor(options: RecordingPartsOptions, writer: RecordingWriter, draft: string | undefined) {
    this.#options = options;
    this.#writer = writer;
    this.#draft = draft;
    this.#startMs = options.startMs ?? options.clock.monotonicMs();
  }

  /** Throws OPTION_INVALID when the file cannot be made. */
  static async create(options: RecordingPartsOptions): Promise<RecordingParts> {
    const { path, replace, whenFull } = options;
    if (replace) await assertReplaceable(path);
    if (whenFull === 'roll') await (replace ? assertReplaceable : assertFree)(`${path}.1`);
    const draft = replace ? `${path}.${randomBytes(4).toString('hex')}.new` : undefined;
    const parts = new RecordingParts(options, await createWriter(options, draft ?? path), draft);
    await parts.#writeMeta();
    return parts;
  }

  /**
   * Takes the place of the files that are to be replaced: until then those are as they were. Throws OPTION_INVALID.
   *
   * Another file is put there, and that one not emptied: it may be a link, or somebody may be reading it.
   */
  async place(): Promise<void> {
    const { path, whenFull } = this.#options;
    if (this.#draft === undefined) return;
    try {
      // Beside this recording it would pass for its older part.
      if (whenFull === 'roll') await rm(`${path}.1`, { force: true });
      await rename(this.#draft, path);
    } catch (error) {
      const why = `cannot be replaced: ${messageOf(error)}`;
      throw new PodloopError('OPTION_INVALID', `the recording ${path} ${why}`, { cause: error });
    }
    this.#draft = undefined;
  }

  /** Removes the file again, once it is closed: nothing is in it, and it would be in the way of the next try. */
  async discard(): Promise<void> {
    await rm(this.#draft ?? this.#options.path, { force: true });
  }

  /** Of all files that there were. */
  get bytes(): number {
    return this.#bytesBefore + this.#writer.bytes;
  }

  /** How many files were begun. */
  get parts(): number {
    return this.#part + 1;
  }

  /** Why nothing is written any more; undefined while it is. */
  get ended():
    { readonly reason: 'full' } | { readonly reason: 'failed'; readonly error: Error } | undefined {
    const { isFull } = this.#writer;
    const failure = this.#failure ?? this.#writer.failure;
    if (failure !== undefined) return { reason: 'failed', error: failure };
    return isFull && this.#options.whenFull === 'stop' ? { reason: 'full' } : undefined;
  }

  async begin(
    call: Omit<BeginFrame, 'at' | 'request'>,
    atMs: number,
    request: Buffer | undefined,
  ): Promise<void> {
    await this.#makeRoom(atMs, request?.length ?? 0, this.#counts.calls >= this.#most.calls);
    const frame = { ...call, at: this.#toTime(atMs) };
    this.#open.set(call.call, { frame, request, beganMs: atMs, messages: 0, messagesBefore: 0 });
    await this.#writeBegin(frame, request);
  }

  async message(call: number, atMs: number, payload: Buffer | undefined): Promise<void> {
    await this.#makeRoom(atMs, payload?.length ?? 0, this.#counts.messages >= this.#most.messages);
    const frames: Buffer[] = [];
    const blob = await this.#refer(payload, frames);
    const frame: MessageFrame = { call, at: this.#toTime(atMs), ...(blob === undefined ? {} : { blob }) };
    frames.push(encodeJsonFrame(FrameKind.MESSAGE, frame));
    const open = this.#open.get(call);
    if (open !== undefined) open.messages++;
    this.#counts.messages++;
    await this.#writer.add(frames, frame.at);
  }

  /** `missing` of how it ended is what was lost on the way here; what the parts before have is added. */
  async end(call: number, atMs: number, how: Omit<EndFrame, 'call' | 'at'>): Promise<void> {
    await this.#makeRoom(atMs, how.message?.length ?? 0, false);
    const missing = (how.missing ?? 0) + (this.#open.get(call)?.messagesBefore ?? 0);
    this.#open.delete(call);
    const frame: EndFrame = { call, at: this.#toTime(atMs), ...how, ...(missing > 0 ? { missing } : {}) };
    await this.#writer.add([encodeJsonFrame(FrameKind.END, frame)], frame.at);
  }

  async lost(atMs: number, lost: Omit<LostFrame, 'at'>): Promise<void> {
    const frame: LostFrame = { at: this.#toTime(atMs), ...lost };
    await this.#writer.add([encodeJsonFrame(FrameKind.LOST, frame)], frame.at);
  }

  /** Writes what waits to be packed: a kill costs none of it. */
  async flush(): Promise<void> {
    await this.#writer.flush();
  }

  /**
   * Ends the file as of that moment; calls that are open stay so in it. One that is full ended when the last was written that fitted:
   * of calls whose ends came later it is not known how long they took.
   */
  async close(counts: ClosingCounts, reason: CloseFrame['reason'], atMs: number): Promise<void> {
    await this.#writer.flush();
    const { isFull, writtenAt } = this.#writer;
    const at = isFull ? writtenAt : this.#toTime(atMs);
    const frame: CloseFrame = { at, reason: isFull && reason === 'stopped' ? 'full' : reason, ...counts };
    await this.#writer.close(encodeJsonFrame(FrameKind.CLOSE, frame));
  }

  /** Begins the next file when it rolls and there may be no room for what comes; the one so far is `FILE.1` then. */
  async #makeRoom(atMs: number, bytes: number, isCountedOut: boolean): Promise<void> {
    const { whenFull, maxBytes } = this.#options;
    if (isCountedOut && !this.#writer.isFull) await this.#writer.fill();
    if (whenFull !== 'roll' || this.#draft !== undefined) return;
    const { isFull, mostBytes } = this.#writer;
    if (!isFull && mostBytes + bytes + FRAME_BYTES <= maxBytes / 2) return;
    // What waits to be packed is much less when it is: mostly there is room after all.
    await this.#writer.flush();
    if (!this.#writer.isFull && this.#writer.bytes < (maxBytes / 2) * LEAST_SHARE) return;
    await this.#roll(atMs);
  }

  get #most(): RecordingLimits {
    return this.#options.most ?? RECORDING_LIMITS;
  }

  /** As of that moment, which may be long over: what passed then is written now. */
  async #roll(atMs: number): Promise<void> {
    const { path } = this.#options;
    await this.close({ calls: 0, redacted: 0, unknownFields: 0, unreadable: 0 }, 'rolled', atMs);
    if (this.#writer.failure !== undefined) return;
    const { bytes: written, dropped } = this.#writer;
    try {
      await rename(path, `${path}.1`);
      this.#writer = await createWriter(this.#options, path);
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      return;
    }
    this.#bytesBefore += written;
    this.#part++;
    this.#blobs = new Map();
    this.#blobCount = 0;
    this.#counts = { calls: 0, messages: 0 };
    this.#startMs = atMs;
    await this.#writeMeta();
    if (dropped > 0) await this.lost(this.#startMs, { calls: 0, messages: dropped });
    for (const open of this.#open.values()) {
      open.messagesBefore = open.messages;
      await this.#writeBegin({ ...open.frame, at: this.#toTime(open.beganMs) }, open.request);
    }
  }

  async #writeMeta(): Promise<void> {
    const { meta, clock } = this.#options;
    const startedAt = new Date(clock.now() - (clock.monotonicMs() - this.#startMs)).toISOString();
    const frame: MetaFrame = { ...meta, startedAt, part: this.#part };
    await this.#writer.add([encodeJsonFrame(FrameKind.META, frame)], 0);
  }

  async #writeBegin(call: Omit<BeginFrame, 'request'>, payload: Buffer | undefined): Promise<void> {
    const frames: Buffer[] = [];
    const request = await this.#refer(payload, frames);
    this.#counts.calls++;
    frames.push(encodeJsonFrame(FrameKind.BEGIN, request === undefined ? call : { ...call, request }));
    await this.#writer.add(frames, call.at);
  }

  /** The number of a message in this file; a message that is new goes in front of what refers to it. */
  async #refer(payload: Buffer | undefined, frames: Buffer[]): Promise<number | undefined> {
    if (payload === undefined) return undefined;
    const key = this.#digests.get(payload) ?? (await hashInSlices(payload));
    this.#digests.set(payload, key);
    const known = this.#blobs.get(key);
    if (known !== undefined) {
      // Move it to the end, so that what repeats is not evicted.
      this.#blobs.delete(key);
      this.#blobs.set(key, known);
      return known;
    }
    const blob = this.#blobCount++;
    this.#blobs.set(key, blob);
    if (this.#blobs.size > MAX_REMEMBERED) this.#blobs.delete(this.#blobs.keys().next().value!);
    frames.push(encodeFrame(FrameKind.BLOB, payload));
    return blob;
  }

  #toTime(atMs: number): number {
    return Math.round((atMs - this.#startMs) * 1000);
  }
}

/** Throws OPTION_INVALID when there is something of that name. */
async function assertFree(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  const why = 'the older part of the recording is to be there: move it away, or say --force to replace it';
  throw new PodloopError('OPTION_INVALID', `the file ${path} exists already, and ${why}`);
}

/** Throws OPTION_INVALID when there is something of that name that nobody wants to be replaced: a device, or a folder. */
async function assertReplaceable(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isFile() || found.isSymbolicLink()) return;
  throw new PodloopError(
    'OPTION_INVALID',
    `the recording ${path} cannot be written: it is there and is no file`,
  );
}

function createWriter(
  { maxBytes, whenFull, clock }: RecordingPartsOptions,
  path: string,
): Promise<RecordingWriter> {
  const own = whenFull === 'roll' ? Math.floor(maxBytes / 2) : maxBytes;
  return RecordingWriter.create({ path, maxBytes: own, clock });
}
