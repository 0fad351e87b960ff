import { BinaryReader, type WireType } from '@bufbuild/protobuf/wire';

import { type StringCache } from './string-cache.js';

/** Counters of what could not be read; shared by all readers of a client. */
export interface WireCounters {
  /** Fields that this version does not know, or has under another wire type. */
  unknownFields: number;
}

/**
 * A protobuf reader that decodes strings natively through a {@link StringCache}, and counts unknown fields.
 *
 * It otherwise behaves as the library's own reader. The unknown fields are those that generated code skips.
 * The result holds no view of the bytes read: strings are copies, and generated code copies `bytes` fields.
 */
export class InterningReader extends BinaryReader {
  readonly #bytes: Buffer;
  readonly #strings: StringCache;
  readonly #counters: WireCounters;

  constructor(bytes: Uint8Array, strings: StringCache, counters: WireCounters) {
    super(bytes);
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#strings = strings;
    this.#counters = counters;
  }

  override string(strict?: boolean): string {
    if (strict === true) return super.string(strict);
    const length = this.uint32();
    const start = this.pos;
    const end = start + length;
    if (end > this.len) throw new RangeError('premature EOF');
    this.pos = end;
    return this.#strings.read(this.#bytes, start, end);
  }

  override skip(wireType: WireType, fieldNo?: number, recursionLimit?: number): Uint8Array {
    this.#counters.unknownFields++;
    return super.skip(wireType, fieldNo, recursionLimit);
  }
}
