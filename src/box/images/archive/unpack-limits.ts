import { statfs } from 'node:fs/promises';
import { RpcCode, RpcError } from '../../rpc-error.js';

/** How much one image may take. */
export interface UnpackLimits {
  /** Of all files of all layers together, holes included. */
  readonly bytes: number;
  /** Of all layers together, those that are overwritten or removed later included. */
  readonly entries: number;
  /** What has to stay free on the disk, … */
  readonly freeBytes: number;
  /** … or, where that is less, this share of it. */
  readonly freeShare: number;
}

export const UNPACK_LIMITS: UnpackLimits = {
  bytes: 64 * 1024 ** 3,
  entries: 1_000_000,
  freeBytes: 256 * 1024 ** 2,
  freeShare: 0.05,
};

/** Headers of an entry with a long name and some attributes. */
const HEADER_BYTES = 4 * 1024;

/** How long the archive of a layer may be: room for all files that may be, and for the headers of all entries. */
export function archiveLimit({ bytes, entries }: UnpackLimits): number {
  return bytes + entries * HEADER_BYTES;
}

/** How much is written between two checks of the disk. */
const LOOK_EVERY_BYTES = 16 * 1024 ** 2;

/** Counts what an image takes and throws RESOURCE_EXHAUSTED before it is too much. */
export class UnpackMeter {
  readonly #limits: UnpackLimits;
  readonly #folder: string;
  #bytes = 0;
  #entries = 0;
  #unseenBytes = LOOK_EVERY_BYTES;

  /** `folder` is where it is written to. */
  constructor(limits: UnpackLimits, folder: string) {
    this.#limits = limits;
    this.#folder = folder;
  }

  /** Counts an entry by what it claims, before anything is written. */
  addEntry(size: number): void {
    this.#bytes += size;
    if (++this.#entries > this.#limits.entries)
      throw exhausted(`the image has more than ${this.#limits.entries} entries`);
    if (this.#bytes > this.#limits.bytes)
      throw exhausted(`the image has more than ${this.#limits.bytes} bytes of files`);
  }

  /** Counts bytes that are about to be written. */
  async addWritten(bytes: number): Promise<void> {
    this.#unseenBytes += bytes;
    if (this.#unseenBytes < LOOK_EVERY_BYTES) return;
    this.#unseenBytes = 0;
    const { bavail, bsize, blocks } = await statfs(this.#folder);
    const reserve = Math.min(this.#limits.freeBytes, this.#limits.freeShare * blocks * bsize);
    if (bavail * bsize < reserve)
      throw diskIsFull(`less than ${Math.ceil(reserve / 2 ** 20)}MiB are left on the disk of images`);
  }
}

/** The refusal of an image that is too large. */
export function exhausted(why: string): RpcError {
  return new RpcError(RpcCode.RESOURCE_EXHAUSTED, `the image is not unpacked: ${why}`);
}

/** The same where the disk has no room: {@link isFull} knows it by its cause. */
export function diskIsFull(why = 'the disk is full'): RpcError {
  const error = exhausted(why);
  error.cause = { code: 'ENOSPC' };
  return error;
}
