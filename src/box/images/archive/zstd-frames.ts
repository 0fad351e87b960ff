/** As much memory as the zstd program and Node allow a frame to want. */
export const MAX_WINDOW_BYTES = 2 ** 27;

const MAGIC = 0xfd2fb528;
/** Of frames that are to be skipped; their last four bits are free. */
const SKIPPABLE = 0x184d2a50;
const DICTIONARY_BYTES = [0, 1, 2, 4] as const;
const RLE = 1;

type Part = 'frame' | 'header' | 'skippable' | 'block';
const HEAD_BYTES = { frame: 5, skippable: 8, block: 3 } as const;

/**
 * Follows a stream of zstd from frame to frame, by the sizes of its blocks, and calls `onWindow` with how far back each frame
 * may refer: a decoder takes that much memory for it, in whichever frame of the stream it stands. What is no zstd is left to
 * the decoder.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc8878#section-3.1
 */
export class ZstdFrames {
  readonly #onWindow: (bytes: number) => void;
  #part: Part = 'frame';
  /** The first bytes of the part, until there are as many as it has. */
  #head = Buffer.alloc(0);
  #headBytes: number = HEAD_BYTES.frame;
  /** What is of no interest before the next part. */
  #skip = 0;
  #hasChecksum = false;

  constructor(onWindow: (bytes: number) => void) {
    this.#onWindow = onWindow;
  }

  /** The next bytes of the stream. Throws what `onWindow` does. */
  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const skipped = Math.min(this.#skip, bytes.length - at);
      this.#skip -= skipped;
      at += skipped;
      if (at === bytes.length) return;
      const end = Math.min(at + this.#headBytes - this.#head.length, bytes.length);
      this.#head = Buffer.concat([this.#head, bytes.subarray(at, end)]);
      at = end;
      if (this.#head.length === this.#headBytes) this.#read(this.#head);
    }
  }

  #read(head: Buffer): void {
    switch (this.#part) {
      case 'frame':
        this.#readFrame(head);
        return;
      case 'skippable':
        this.#skip = head.readUInt32LE(4);
        this.#expect('frame');
        return;
      case 'header':
        this.#hasChecksum = (head[4]! & 0x04) !== 0;
        this.#onWindow(windowOf(head));
        this.#expect('block');
        return;
      case 'block': {
        const block = head.readUIntLE(0, 3);
        const isLast = (block & 1) !== 0;
        this.#skip = ((block >> 1) & 3) === RLE ? 1 : block >> 3;
        if (isLast && this.#hasChecksum) this.#skip += 4;
        this.#expect(isLast ? 'frame' : 'block');
      }
    }
  }

  #readFrame(head: Buffer): void {
    const magic = head.readUInt32LE(0);
    const descriptor = head[4]!;
    if (magic === MAGIC) {
      this.#part = 'header';
      const { window, dictionary, content } = fieldsOf(descriptor);
      this.#headBytes = HEAD_BYTES.frame + window + dictionary + content;
    } else if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
      this.#part = 'skippable';
      this.#headBytes = HEAD_BYTES.skippable;
    } else this.#skip = Infinity;
  }

  #expect(part: 'frame' | 'block'): void {
    this.#part = part;
    this.#head = Buffer.alloc(0);
    this.#headBytes = HEAD_BYTES[part];
  }
}

/** How many bytes the fields of a header have, by its descriptor, in their order. */
function fieldsOf(descriptor: number): { window: number; dictionary: number; content: number } {
  const isSingle = (descriptor & 0x20) !== 0;
  const size = descriptor >> 6;
  return {
    window: isSingle ? 0 : 1,
    dictionary: DICTIONARY_BYTES[descriptor & 3]!,
    content: size === 0 ? Number(isSingle) : 2 ** size,
  };
}

/** A frame in one segment is its own window. */
function windowOf(header: Buffer): number {
  const { window, dictionary, content } = fieldsOf(header[4]!);
  if (window === 0) {
    const field = header.subarray(HEAD_BYTES.frame + dictionary);
    if (content === 8) return Number(field.readBigUInt64LE());
    return field.readUIntLE(0, content) + (content === 2 ? 256 : 0);
  }
  const byte = header[HEAD_BYTES.frame]!;
  const base = 2 ** (10 + (byte >> 3));
  return base + (base / 8) * (byte & 7);
}
