import { truncate, type FileHandle } from 'node:fs/promises';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { formatRfc3339 } from '#base/time/rfc3339.js';
import { type ContainerFiles } from '../container-files.js';
import { formatCriLog, type LogStream } from './cri-log-format.js';
import { readLogPosition, recoverPosition, writeLogPosition } from './log-position.js';
import { openLogFile } from './open-log-file.js';
import { Mutex } from '#base/async/mutex.js';
import { type NanoClock } from '../../nano-clock.js';
import { type SpoolReader } from './spool-reader.js';
import { SPOOL_FILE_BYTES } from '../supervisor-script.js';

/** What a {@link ContainerLog} needs. */
export interface ContainerLogOptions {
  readonly files: ContainerFiles;
  /** Where the log goes; its folder is made when it is missing. */
  readonly logPath: string;
  readonly time: NanoClock;
  readonly logger: Logger;
}

const READ_BYTES = 256 * 1024;
/** How many chunks of a stream are carried before those who wait get their turn. */
const TURN_CHUNKS = 8;
/** How much output may have to be read again after a crash. */
const RECORD_EVERY_BYTES = 1024 * 1024;
const STREAMS: readonly LogStream[] = ['stdout', 'stderr'];

/**
 * Carries a container's output from its two spools into its log in the format of CRI, in order within a stream.
 *
 * Lives as long as the container's supervisor; a new one goes on where the last one was killed. A line's time is
 * the time at which it was carried. What cannot be written (a full disk) stays in the spool and is tried again.
 */
export class ContainerLog {
  readonly #options: ContainerLogOptions;
  readonly #mutex = new Mutex();
  readonly #carried: Record<LogStream, number> = { stdout: 0, stderr: 0 };
  readonly #spools: Readonly<Record<LogStream, SpoolReader>>;
  /** Where the first file of each spool begins, as far as we know. */
  readonly #released: Record<LogStream, number> = { stdout: 0, stderr: 0 };
  #log: FileHandle | undefined;
  #waiting = false;
  #unrecorded = 0;
  #finished = false;

  constructor(options: ContainerLogOptions) {
    this.#options = options;
    const { files } = options;
    this.#spools = { stdout: files.openSpool('stdout'), stderr: files.openSpool('stderr') };
  }

  /** Opens the log, taking up the position of whoever wrote it before. Rejects when the file cannot be opened. */
  open(): Promise<void> {
    return this.#mutex.run(async () => {
      const { files, logPath } = this.#options;
      const position = await readLogPosition(files.positionPath);
      if (position?.final === true) {
        this.#finished = true;
        return;
      }
      if (position !== undefined) {
        const recovered = await recoverPosition(position, logPath);
        this.#carried.stdout = recovered.stdout;
        this.#carried.stderr = recovered.stderr;
        // The last write may have been cut short: its beginning is written again, whole.
        if (recovered.torn !== undefined) await truncate(recovered.torn.path, recovered.torn.wholeBytes);
      }
      // Without a record of how far it was carried, what was removed from the spool counts as carried, and no more: what
      // is there is better twice in the log than not at all.
      for (const stream of STREAMS) {
        this.#carried[stream] = await this.#spools[stream].findNext(this.#carried[stream]);
      }
      await this.#openLog();
      try {
        await this.#recordPosition(false);
      } catch (error) {
        await this.#closeFiles();
        throw error;
      }
    });
  }

  /**
   * Says that there may be new output. Returns at once; one round of carrying serves all who asked meanwhile. It is
   * carried turn by turn: a container that never stops writing keeps nobody else waiting.
   */
  poke(): void {
    if (this.#waiting || this.#finished) return;
    this.#waiting = true;
    void this.#mutex.run(async () => {
      this.#waiting = false;
      try {
        if (await this.#carry(false, TURN_CHUNKS)) this.poke();
      } catch (error) {
        this.#complain(error);
      }
    });
  }

  /**
   * Carries everything that is there; with `final`, the rest of an unfinished line too, and closes the log: nobody
   * writes any more.
   *
   * @returns whether the log is whole and closed: nobody needs the spools any more.
   */
  drain(final: boolean): Promise<boolean> {
    return this.#mutex.run(async () => {
      if (this.#finished) return true;
      try {
        if (!final) {
          await this.#carryUpTo(await this.#findEnds());
          return false;
        }
        await this.#carry(true, Infinity);
        await this.#recordPosition(true);
        this.#finished = true;
      } catch (error) {
        this.#complain(error);
        return false;
      }
      await this.#closeFiles();
      return true;
    });
  }

  /** Goes on in a new file at the log's path: somebody has renamed the old one. */
  reopen(): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#finished) return;
      const old = this.#log;
      await this.#openLog();
      await old?.close();
      await this.#recordPosition(false);
    });
  }

  /** Lets go of the files without ending the log: somebody else will take it up. */
  close(): Promise<void> {
    return this.#mutex.run(async () => {
      if (!this.#finished && this.#log !== undefined) {
        await this.#recordPosition(false).catch((error: unknown) => this.#complain(error));
      }
      this.#finished = true;
      await this.#closeFiles();
    });
  }

  /** Carries so many chunks of each stream at most; whether there may be more. */
  async #carry(final: boolean, mostChunks: number): Promise<boolean> {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    let busy = true;
    for (let chunk = 0; busy && chunk < mostChunks; chunk++) {
      busy = false;
      for (const stream of STREAMS) if (await this.#carryChunk(stream, buffer, final)) busy = true;
    }
    return busy;
  }

  /** Somebody may be writing on, and faster than this carries: what comes meanwhile is for the next turn. */
  async #carryUpTo(ends: Readonly<Record<LogStream, number>>): Promise<void> {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (const stream of STREAMS) {
      while (this.#carried[stream] < ends[stream] && (await this.#carryChunk(stream, buffer, false)));
    }
  }

  async #findEnds(): Promise<Readonly<Record<LogStream, number>>> {
    return { stdout: await this.#spools.stdout.findEnd(), stderr: await this.#spools.stderr.findEnd() };
  }

  /** Carries one chunk of one stream; false when there was nothing to carry. */
  async #carryChunk(stream: LogStream, buffer: Buffer, final: boolean): Promise<boolean> {
    if (this.#log === undefined) return false;
    const bytesRead = await this.#spools[stream].read(buffer, this.#carried[stream]);
    // The rest of a line may be ended only when nothing comes behind it.
    const last = final && bytesRead < buffer.length;
    const timestamp = formatRfc3339(this.#options.time.now());
    const { text, consumed } = formatCriLog(buffer.subarray(0, bytesRead), stream, timestamp, last);
    if (consumed === 0) return false;
    await this.#append(this.#log, text);
    this.#carried[stream] += consumed;
    this.#unrecorded += consumed;
    if (this.#unrecorded >= RECORD_EVERY_BYTES) await this.#recordPosition(false);
    return true;
  }

  async #append(log: FileHandle, text: Buffer): Promise<void> {
    let written = 0;
    try {
      while (written < text.length) written += (await log.write(text, written)).bytesWritten;
    } catch (error) {
      // Half a line must not stay: the whole piece is tried again.
      if (written > 0) await log.truncate((await log.stat()).size - written);
      throw error;
    }
  }

  async #openLog(): Promise<void> {
    this.#log = await openLogFile(this.#options.logPath);
  }

  async #recordPosition(final: boolean): Promise<void> {
    if (this.#log === undefined) return;
    const { ino, size } = await this.#log.stat({ bigint: true });
    const position = { ...this.#carried, inode: String(ino), logBytes: Number(size), final };
    await writeLogPosition(this.#options.files.positionPath, position);
    this.#unrecorded = 0;
    await this.#releaseSpools();
  }

  /** Removes what was carried, now that this is on record: a killed runtime goes on behind it. */
  async #releaseSpools(): Promise<void> {
    for (const stream of STREAMS) {
      if (this.#carried[stream] - this.#released[stream] < SPOOL_FILE_BYTES) continue;
      this.#released[stream] = await this.#spools[stream].release(this.#carried[stream]);
    }
  }

  #complain(error: unknown): void {
    const { logPath, logger } = this.#options;
    logger.warn('Output not written to the log, trying again later', {
      path: logPath,
      err: messageOf(error),
    });
  }

  async #closeFiles(): Promise<void> {
    const log = this.#log;
    this.#log = undefined;
    await log?.close();
    for (const stream of STREAMS) await this.#spools[stream].close();
  }
}
