import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type ContainerFiles } from './container-files.js';
import { type LogStream } from './cri-log-format.js';

const READ_BYTES = 64 * 1024;
/** The container's log gives spooled output back to the disk once this much more was carried. */
const LOST_BEHIND_BYTES = 1024 * 1024;

/** The live output of a container for whoever attaches: reads the spools behind the log's back, at its own pace. */
export class ContainerOutput {
  readonly #files: ContainerFiles;
  readonly #tails = new Set<SpoolTail>();

  constructor(options: { readonly files: ContainerFiles }) {
    this.#files = options.files;
  }

  /** What comes into a spool from now on. It ends at {@link SpoolTail.finish}. */
  async follow(stream: LogStream): Promise<SpoolTail> {
    const tail = await SpoolTail.open(this.#files.spoolPath(stream), () => this.#tails.delete(tail));
    this.#tails.add(tail);
    return tail;
  }

  /** Says that there may be new output. */
  poke(): void {
    for (const tail of this.#tails) tail.poke();
  }
}

/** The end of a growing file as a stream. A reader that is far behind misses what is between. */
export class SpoolTail extends Readable {
  readonly #path: string;
  readonly #onClose: () => void;
  #file: FileHandle | undefined;
  #position: number;
  #wanting = false;
  #reading = false;
  #again = false;
  #finished = false;

  private constructor(path: string, position: number, onClose: () => void) {
    super({ highWaterMark: READ_BYTES });
    this.#path = path;
    this.#position = position;
    this.#onClose = onClose;
  }

  static async open(path: string, onClose: () => void): Promise<SpoolTail> {
    const file = await open(path, 'r').catch(() => undefined);
    const tail = new SpoolTail(path, file === undefined ? 0 : (await file.stat()).size, onClose);
    tail.#file = file;
    return tail;
  }

  /** Says that there may be more. */
  poke(): void {
    if (this.#wanting) void this.#readOn();
  }

  /** Says that there will be no more than there is now. */
  finish(): void {
    this.#finished = true;
    this.poke();
  }

  override _read(): void {
    this.#wanting = true;
    void this.#readOn();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#onClose();
    const file = this.#file;
    this.#file = undefined;
    void (file?.close() ?? Promise.resolve()).then(
      () => callback(error),
      () => callback(error),
    );
  }

  async #readOn(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#again && this.#wanting && !this.destroyed) {
        this.#again = false;
        const finished = this.#finished;
        if (await this.#readOnce()) this.#again = true;
        else if (finished) this.#end();
      }
    } catch {
      this.#end();
    } finally {
      this.#reading = false;
    }
  }

  /** False when there was nothing. */
  async #readOnce(): Promise<boolean> {
    this.#file ??= await open(this.#path, 'r').catch(() => undefined);
    if (this.#file === undefined) return false;
    const { size } = await this.#file.stat();
    if (size - this.#position > LOST_BEHIND_BYTES) this.#position = size - LOST_BEHIND_BYTES;
    const { buffer, bytesRead } = await this.#file.read(
      Buffer.alloc(READ_BYTES),
      0,
      READ_BYTES,
      this.#position,
    );
    if (bytesRead === 0) return false;
    this.#position += bytesRead;
    this.#wanting = false;
    this.push(buffer.subarray(0, bytesRead));
    return true;
  }

  #end(): void {
    if (!this.destroyed && !this.readableEnded) this.push(null);
    this.#wanting = false;
  }
}
