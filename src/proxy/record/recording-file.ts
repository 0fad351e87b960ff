import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { decodeJsonFrame, type RecordedFrame } from './recorded-frame.js';
import {
  BLOCK_HEADER_BYTES,
  decodeBlock,
  decodeBlockHeader,
  decodePreamble,
  FORMAT_VERSION,
  FrameKind,
  MAX_CALLS,
  MAX_MESSAGES,
  PREAMBLE_BYTES,
} from './recording-format.js';

/** More frames are not read: a small file may hold them without end. */
const MAX_FRAMES = 40_000_000;
/** Each call has a request. */
const MAX_BLOBS = MAX_CALLS + MAX_MESSAGES;
/** A writer packs some thousand. */
const MAX_FRAMES_IN_BLOCK = 200_000;
/** Blocks that are kept unpacked, since messages near one another are asked for. */
const MAX_CACHED_BLOCKS = 4;

/** Where the messages of a recording stand: block, begin in it, length. */
interface BlobPlaces {
  readonly blocks: number[];
  readonly begins: number[];
  readonly lengths: number[];
}

/**
 * A recording to be read: its frames in their order, then its messages by number.
 *
 * Nothing in it is believed: lengths, checksums and references are checked, and what is wrong is an error that names
 * the byte of the file. A file that was cut off ends where its last whole block does.
 */
export class RecordingFile implements AsyncDisposable {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #size: number;
  readonly #blobs: BlobPlaces = { blocks: [], begins: [], lengths: [] };
  readonly #kept = new Map<number, Promise<Buffer>>();
  #isCutOff = false;

  private constructor(path: string, file: FileHandle, size: number) {
    this.path = path;
    this.#file = file;
    this.#size = size;
  }

  /** Throws RECORDING_INVALID when it is not there, or no recording, or one of a newer version. */
  static async open(path: string): Promise<RecordingFile> {
    let file: FileHandle;
    try {
      // Without O_NONBLOCK a pipe would be waited for.
      file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      throw invalid(path, `cannot be read: ${messageOf(error)}`, error);
    }
    try {
      if (!(await file.stat()).isFile()) throw invalid(path, 'is no file');
      const preamble = Buffer.alloc(PREAMBLE_BYTES);
      const { bytesRead } = await file.read(preamble, 0, PREAMBLE_BYTES, 0);
      const version = decodePreamble(preamble.subarray(0, bytesRead));
      if (version === undefined) throw invalid(path, 'is no recording of podloop record');
      if (version > FORMAT_VERSION)
        throw invalid(path, `has version ${version} of the format, and this podloop knows ${FORMAT_VERSION}`);
      return new RecordingFile(path, file, (await file.stat()).size);
    } catch (error) {
      await file.close();
      throw error instanceof PodloopError
        ? error
        : invalid(path, `cannot be read: ${messageOf(error)}`, error);
    }
  }

  get bytes(): number {
    return this.#size;
  }

  /** Whether something is missing at its end; known once all frames were read. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** Every frame in its order, block by block. Rejects with RECORDING_INVALID, or the reason of the signal. */
  async *readFrames(signal?: AbortSignal): AsyncGenerator<readonly RecordedFrame[]> {
    this.#isCutOff = false;
    for (const places of [this.#blobs.blocks, this.#blobs.begins, this.#blobs.lengths]) places.length = 0;
    let frames = 0;
    let at = PREAMBLE_BYTES;
    while (at < this.#size) {
      signal?.throwIfAborted();
      const block = await this.#readBlock(at);
      if (block === undefined) {
        this.#isCutOff = true;
        return;
      }
      const found = this.#about(at, () => [...this.#decodeFrames(block.frames, at)]);
      frames += found.length;
      if (frames > MAX_FRAMES) throw invalid(this.path, `has more than ${MAX_FRAMES} frames`);
      if (at === PREAMBLE_BYTES && found[0]?.kind !== 'meta')
        throw this.#invalidAt(at, 'the first frame does not say what was recorded');
      yield found;
      at = block.end;
    }
    if (this.#size === PREAMBLE_BYTES) this.#isCutOff = true;
  }

  /** A message by its number, as found in a frame. */
  async readBlob(blob: number): Promise<Buffer> {
    const { blocks, begins, lengths } = this.#blobs;
    const at = blocks[blob];
    if (at === undefined) throw invalid(this.path, `refers to a message ${blob} that it does not have`);
    const frames = await this.#getBlock(at);
    return frames.subarray(begins[blob], begins[blob]! + lengths[blob]!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  #getBlock(at: number): Promise<Buffer> {
    const kept = this.#kept.get(at);
    this.#kept.delete(at);
    const frames =
      kept ??
      this.#readBlock(at).then((block) => {
        if (block === undefined) throw this.#invalidAt(at, 'a block is gone that was there');
        return block.frames;
      });
    this.#kept.set(at, frames);
    if (this.#kept.size > MAX_CACHED_BLOCKS) this.#kept.delete(this.#kept.keys().next().value!);
    return frames;
  }

  /** The block at that byte; undefined when the file ends in it. */
  async #readBlock(at: number): Promise<{ readonly frames: Buffer; readonly end: number } | undefined> {
    const header = await this.#read(at, BLOCK_HEADER_BYTES);
    if (header === undefined) return undefined;
    // What a lost power supply leaves: room that was given and never written to.
    if (header.every((byte) => byte === 0)) return undefined;
    const facts = this.#about(at, () => decodeBlockHeader(header));
    const packed = await this.#read(at + BLOCK_HEADER_BYTES, facts.packedLength);
    if (packed === undefined) return undefined;
    try {
      const frames = await decodeBlock(facts, packed);
      return { frames, end: at + BLOCK_HEADER_BYTES + facts.packedLength };
    } catch (error) {
      if (error instanceof RangeError) throw this.#invalidAt(at, error.message, error);
      throw error;
    }
  }

  /** So many bytes; undefined when there are fewer. */
  async #read(at: number, length: number): Promise<Buffer | undefined> {
    if (at + length > this.#size) return undefined;
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const { bytesRead } = await this.#file.read(bytes, done, length - done, at + done);
      if (bytesRead === 0) return undefined;
      done += bytesRead;
    }
    return bytes;
  }

  *#decodeFrames(block: Buffer, offset: number): Generator<RecordedFrame> {
    let frames = 0;
    for (let at = 0; at < block.length;) {
      if (++frames > MAX_FRAMES_IN_BLOCK) throw new RangeError(`more than ${MAX_FRAMES_IN_BLOCK} frames`);
      const kind = block[at++]!;
      let length = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = block[at++];
        if (byte === undefined || scale > 2 ** 28) throw new RangeError('a frame whose length does not end');
        length += (byte & 0x7f) * scale;
        if (byte < 0x80) break;
      }
      if (at + length > block.length) throw new RangeError('a frame that is longer than its block');
      if (kind === FrameKind.BLOB) {
        const { blocks, begins, lengths } = this.#blobs;
        if (blocks.length >= MAX_BLOBS) throw new RangeError(`more than ${MAX_BLOBS} messages`);
        yield { kind: 'blob', blob: blocks.length, begin: at, length };
        blocks.push(offset);
        begins.push(at);
        lengths.push(length);
      } else {
        const frame = decodeJsonFrame(kind, block.subarray(at, at + length));
        if (frame !== undefined) yield this.#checkReferences(frame);
      }
      at += length;
    }
  }

  #checkReferences(frame: RecordedFrame): RecordedFrame {
    const blob = frame.kind === 'begin' ? frame.request : frame.kind === 'message' ? frame.blob : undefined;
    if (blob !== undefined && blob >= this.#blobs.blocks.length)
      throw new RangeError(`a frame that refers to a message ${blob} which is not there yet`);
    return frame;
  }

  #about<T>(at: number, act: () => T): T {
    try {
      return act();
    } catch (error) {
      if (error instanceof RangeError) throw this.#invalidAt(at, error.message, error);
      throw error;
    }
  }

  #invalidAt(at: number, why: string, cause?: unknown): PodloopError {
    return invalid(this.path, `cannot be read from byte ${at} on: ${why}`, cause);
  }
}

function invalid(path: string, why: string, cause?: unknown): PodloopError {
  return new PodloopError('RECORDING_INVALID', `the recording ${path} ${why}`, { cause });
}
