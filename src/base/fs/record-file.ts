/**
 * One durable record: a JSON object with a version in a file of its own.
 *
 * In: values as they change. Out: the newest one, for a later process. Each write is a whole file, so that a
 * reader finds the old value or the new one. Writes of one file run one after another, in the order of the
 * calls. It assumes that one process has the file at a time.
 *
 * @module
 */
import { rm } from 'node:fs/promises';
import { Mutex } from '../async/mutex.js';
import { type Clock } from '../time/clock.js';
import { formatRecord, parseRecord, type RecordForm } from './record-form.js';
import { readIfThere, writeWhole } from './whole-file.js';

/** Options of {@link RecordFile}. */
export interface RecordFileOptions<Value> extends RecordForm<Value> {
  readonly path: string;
  /** Whether a value survives a power failure, not just the end of the process (default: true). */
  readonly durable?: boolean;
  /** Whether the name does, too (default: the same). A caller that says false syncs or renames the folder. */
  readonly syncsFolder?: boolean;
  /** For {@link RecordFile.writeSoon}. */
  readonly later?: LaterWrites;
}

/** How {@link RecordFile.writeSoon} writes. */
export interface LaterWrites {
  /** How long a value waits for more that is written with it (default: only for the write under way). */
  readonly delay?: { readonly clock: Pick<Clock, 'setTimer'>; readonly ms: number };
  /** Called with the error of a write that nobody waits for. */
  readonly onError: (error: unknown) => void;
}

/** See the module. */
export class RecordFile<Value> {
  readonly path: string;
  readonly #options: RecordFileOptions<Value>;
  readonly #writes = new Mutex();
  #underWay = 0;
  /** Computes the value that is due later. */
  #pending: (() => Value | undefined) | undefined;

  constructor(options: RecordFileOptions<Value>) {
    this.path = options.path;
    this.#options = options;
  }

  /**
   * Undefined if there is no file. Rejects if it cannot be read.
   *
   * `whenDamaged`: what counts instead if it contains anything else than what was written (default: rejects
   * with what is wrong). The file stays as it is.
   */
  async read(whenDamaged: (error: unknown) => Value | undefined = raise): Promise<Value | undefined> {
    const text = await readIfThere(this.path);
    if (text === undefined) return undefined;
    try {
      return parseRecord(this.#options, text);
    } catch (error) {
      return whenDamaged(error);
    }
  }

  /** Resolves once the value is in the file. Rejects if it cannot be written: then the file is as before. */
  async write(value: Value): Promise<void> {
    await this.#inTurn(() => this.#writeNow(value));
  }

  /**
   * Writes, a moment later, what `compute` returns by then; undefined removes the file. Calls until then are
   * one write.
   */
  writeSoon(compute: () => Value | undefined): void {
    const isScheduled = this.#pending !== undefined;
    this.#pending = compute;
    if (isScheduled) return;
    const { delay } = this.#options.later ?? {};
    if (delay === undefined) void this.#writePending();
    else delay.clock.setTimer(delay.ms, () => void this.#writePending(), { unref: true });
  }

  /** Removes the file after the writes so far; a missing one is fine. */
  async remove(): Promise<void> {
    await this.#inTurn(() => rm(this.path, { force: true }));
  }

  /** Writes what is due later now. Resolves when no write is under way. */
  async flush(): Promise<void> {
    await this.#writePending();
  }

  /** Nothing is being written, or is due. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.#pending === undefined;
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    this.#underWay++;
    try {
      await this.#writes.run(work);
    } finally {
      this.#underWay--;
    }
  }

  async #writePending(): Promise<void> {
    await this.#inTurn(async () => {
      const compute = this.#pending;
      this.#pending = undefined;
      if (compute === undefined) return;
      try {
        const value = compute();
        await (value === undefined ? rm(this.path, { force: true }) : this.#writeNow(value));
      } catch (error) {
        this.#options.later?.onError(error);
      }
    });
  }

  async #writeNow(value: Value): Promise<void> {
    const { durable = true, syncsFolder = durable } = this.#options;
    await writeWhole(this.path, formatRecord(this.#options, value), { durable, syncsFolder });
  }
}

function raise(error: unknown): never {
  throw error;
}
