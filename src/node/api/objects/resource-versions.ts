/**
 * Numbers that only increase, over restarts of the agent too: the resourceVersion of everything that it
 * serves.
 *
 * A block of numbers is reserved on disk before the first of it is used, so that an agent that is killed at
 * any point is followed by one that begins above. It assumes that a block lasts longer than writing the next
 * one.
 *
 * @module
 */
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

/** What a {@link ResourceVersions} needs. */
export interface ResourceVersionsOptions {
  /** The file of the reservation. */
  readonly file: string;
  readonly logger?: Logger;
  /** For tests. */
  readonly blockSize?: number;
}

const BLOCK_SIZE = 1_000_000;

/** See the module. */
export class ResourceVersions {
  readonly #options: ResourceVersionsOptions;
  readonly #blockSize: number;
  #current: number;
  /** On disk: no number above it was used. */
  #reserved: number;
  #reserving: Promise<void> | undefined;

  private constructor(options: ResourceVersionsOptions, start: number) {
    this.#options = options;
    this.#blockSize = options.blockSize ?? BLOCK_SIZE;
    this.#current = start;
    this.#reserved = start + this.#blockSize;
  }

  /**
   * Continues after the previous agent's numbers, and reserves the next block.
   *
   * If the reservation cannot be read or written, that is logged, and numbers come from the clock, which is
   * above all that were ever used.
   */
  static async open(options: ResourceVersionsOptions, nowMs: number): Promise<ResourceVersions> {
    const { file, logger = SILENT_LOGGER } = options;
    let start: number;
    try {
      const text = await readIfThere(file);
      start = text === undefined ? 0 : Number(text);
      if (text?.trim() === '' || !Number.isSafeInteger(start) || start < 0)
        throw new Error('it is no number');
    } catch (error) {
      logger.error('Reservation of resource versions cannot be read, counting from the clock', error, {
        path: file,
      });
      start = nowMs;
    }
    const versions = new ResourceVersions(options, start);
    await versions.#write(versions.#reserved);
    return versions;
  }

  /** The last used one. */
  get current(): number {
    return this.#current;
  }

  /** The next one. */
  next(): number {
    this.#current++;
    if (this.#reserved - this.#current < this.#blockSize / 2) {
      this.#reserving ??= this.#write(this.#reserved + this.#blockSize).finally(
        () => (this.#reserving = undefined),
      );
    }
    return this.#current;
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#reserving;
  }

  async #write(upTo: number): Promise<void> {
    const { file, logger = SILENT_LOGGER } = this.#options;
    // Also after a failure: numbers continue, and the next agent uses its own clock or file.
    this.#reserved = upTo;
    try {
      await writeWhole(file, `${upTo}\n`);
    } catch (error) {
      logger.error('Resource versions cannot be reserved on the disk', error, { path: file });
    }
  }
}
