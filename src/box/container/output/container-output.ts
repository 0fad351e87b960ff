import { Readable } from 'node:stream';
import { defer } from '../../deferred.js';
import { type ContainerFiles } from '../container-files.js';
import { type LogStream } from './cri-log-format.js';
import { type SpoolReader } from './spool-reader.js';

const READ_BYTES = 64 * 1024;

/** The live output of a container for whoever attaches: reads the spools behind the log's back, at its own pace. */
export class ContainerOutput {
  readonly #files: ContainerFiles;
  readonly #tails = new Set<SpoolTail>();
  #idle = defer<undefined>();

  constructor(options: { readonly files: ContainerFiles }) {
    this.#files = options.files;
  }

  /** What comes into a spool from now on. It ends at {@link SpoolTail.finish}. */
  async follow(stream: LogStream): Promise<SpoolTail> {
    const tail = await SpoolTail.open(this.#files.openSpool(stream), () => {
      this.#tails.delete(tail);
      if (this.#tails.size === 0) this.#idle.resolve(undefined);
    });
    this.#tails.add(tail);
    return tail;
  }

  /** Gives the disk of the spools back once nobody follows. To be called when there will be no more output. */
  async dropSpools(): Promise<void> {
    while (this.#tails.size > 0) {
      this.#idle = defer();
      await this.#idle.promise;
    }
    await this.#files.removeSpools();
  }

  /** Says that there may be new output. */
  poke(): void {
    for (const tail of this.#tails) tail.poke();
  }
}

/**
 * The end of a growing spool as a stream. A reader that is too slow misses what was removed before it came. It fails
 * with the error of a spool that cannot be read.
 */
class SpoolTail extends Readable {
  readonly #spool: SpoolReader;
  readonly #onClose: () => void;
  #position: number;
  #wanting = false;
  #reading = false;
  #again = false;
  #finished = false;

  private constructor(spool: SpoolReader, position: number, onClose: () => void) {
    super({ highWaterMark: READ_BYTES });
    this.#spool = spool;
    this.#position = position;
    this.#onClose = onClose;
  }

  static async open(spool: SpoolReader, onClose: () => void): Promise<SpoolTail> {
    return new SpoolTail(spool, await spool.findEnd(), onClose);
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
    void this.#spool.close().then(
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
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#reading = false;
    }
  }

  /** False when there was nothing. */
  async #readOnce(): Promise<boolean> {
    const buffer = Buffer.alloc(READ_BYTES);
    const bytesRead = await this.#spool.read(buffer, this.#position);
    if (bytesRead === 0) {
      const next = await this.#spool.findNext(this.#position);
      if (next === this.#position) return false;
      this.#position = next;
      return true;
    }
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
