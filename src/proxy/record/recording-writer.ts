import { type FileHandle, open } from 'node:fs/promises';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { writeFully } from '#base/fs/write-fully.js';
import { encodeBlock, encodePreamble, PREAMBLE_BYTES } from './recording-format.js';

/** How a {@link RecordingWriter} is made. */
export interface RecordingWriterOptions {
  readonly path: string;
  /** What the file may have, in bytes. */
  readonly maxBytes: number;
  readonly clock: Clock;
}

/** Frames are packed together up to this many bytes … */
const BLOCK_BYTES = 256 * 1024;
/** … and not kept back for longer than this: what a kill of the process costs. */
const FLUSH_AFTER_MS = 1_000;
/** What is left free for the last block, which says how it ended. */
const CLOSING_BYTES = 4 * 1024;

/**
 * Writes one file of a recording.
 *
 * ```
 *   open ─► writing ─┬► full      nothing more fits in the size that it may have
 *                    ├► failed    the disk said no: the file ends with the last whole block
 *                    └► closed
 * ```
 */
export class RecordingWriter {
  readonly #file: FileHandle;
  readonly #options: RecordingWriterOptions;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Taken out of what is pending, and not in the file yet. */
  #packingBytes = 0;
  /** The time of the newest frame that is pending. */
  #pendingAt = 0;
  #writtenAt = 0;
  #dropped = 0;
  /** Of the file, whole blocks only. */
  #bytes = PREAMBLE_BYTES;
  #writing: Promise<void> = Promise.resolve();
  #timer: ClockTimer | undefined;
  #isFull = false;
  #isClosed = false;
  #failure: Error | undefined;

  private constructor(file: FileHandle, options: RecordingWriterOptions) {
    this.#file = file;
    this.#options = options;
  }

  /** Throws OPTION_INVALID when there is a file already, or none can be made. */
  static async create(options: RecordingWriterOptions): Promise<RecordingWriter> {
    const { path } = options;
    try {
      const file = await open(path, 'wx', 0o600);
      try {
        await file.write(encodePreamble());
      } catch (error) {
        await file.close();
        throw error;
      }
      return new RecordingWriter(file, options);
    } catch (error) {
      const exists = systemCodeOf(error) === 'EEXIST';
      const why = exists
        ? 'exists already: choose another name, or say --force to replace it'
        : `cannot be written: ${messageOf(error)}`;
      throw new PodloopError('OPTION_INVALID', `the recording ${path} ${why}`, { cause: error });
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What the file will have at most once all that was taken is written. */
  get mostBytes(): number {
    return this.#bytes + this.#pendingBytes + this.#packingBytes + CLOSING_BYTES;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Takes nothing more, since there is as much in it as may be. */
  async fill(): Promise<void> {
    await this.flush();
    this.#isFull = true;
  }

  /** The time of the newest frame that is in the file. */
  get writtenAt(): number {
    return this.#writtenAt;
  }

  /** How many frames came when nothing fitted any more. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Why nothing can be written any more. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /**
   * Takes frames of that time, which stay together; resolves when more may come. Drops them when it is full, closed or
   * has failed.
   */
  async add(frames: readonly Buffer[], at: number): Promise<void> {
    if (this.#isFull || this.#isClosed || this.#failure !== undefined) {
      this.#dropped += frames.length;
      return;
    }
    this.#pendingAt = Math.max(this.#pendingAt, at);
    for (const frame of frames) {
      this.#pending.push(frame);
      this.#pendingBytes += frame.length;
    }
    if (this.#pendingBytes >= BLOCK_BYTES) await this.flush();
    else
      this.#timer ??= this.#options.clock.setTimer(FLUSH_AFTER_MS, () => void this.flush(), { unref: true });
  }

  /** Writes what waits as a block. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const [frames, { length: count }, at] = [Buffer.concat(this.#pending), this.#pending, this.#pendingAt];
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#packingBytes += frames.length;
    this.#writing = this.#writing.then(async () => {
      const isWritten = await this.#write(frames, CLOSING_BYTES);
      if (isWritten) this.#writtenAt = at;
      else this.#dropped += count;
      this.#packingBytes -= frames.length;
    });
    await this.#writing;
  }

  /** Writes the last frame, however full it is, and brings all of it to the disk. */
  async close(lastFrame: Buffer): Promise<void> {
    if (this.#isClosed) return;
    await this.flush();
    this.#isClosed = true;
    await this.#write(lastFrame, 0, true);
    await this.#file.sync().catch((error: unknown) => this.#fail(error));
    await this.#file.close().catch((error: unknown) => this.#fail(error));
  }

  /** Whether they are in the file. */
  async #write(frames: Buffer, reservedBytes: number, isLast = false): Promise<boolean> {
    if (frames.length === 0 || this.#failure !== undefined || (this.#isFull && !isLast)) return false;
    try {
      const block = await encodeBlock(frames);
      if (this.#bytes + block.length + reservedBytes > this.#options.maxBytes) {
        this.#isFull = true;
        return false;
      }
      await writeFully(this.#file, block, this.#bytes);
      this.#bytes += block.length;
      return true;
    } catch (error) {
      this.#fail(error);
      // A part of a block says nothing to anybody.
      await this.#file.truncate(this.#bytes).catch(() => undefined);
      return false;
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }
}
