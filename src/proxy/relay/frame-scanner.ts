import {
  CLIENT_PREFACE,
  FRAME_HEADER_BYTES,
  FrameFlag,
  FrameType,
  LARGEST_PAYLOAD_BYTES,
  readUint31,
} from './frame-format.js';
import { type HeaderUnit, readHeaderUnit } from './header-unit.js';
import { ProtocolError } from './protocol-error.js';

/**
 * What becomes of a DATA frame: its bytes go on as they are, go on and are looked at, or go no further. `stall`
 * leaves it, and all behind it, where it is until {@link FrameScanner.resume}.
 */
export type DataTreatment = 'pass' | 'tap' | 'take' | 'stall';

/** Decides on every frame. What it gives instead of `pass` takes the frame's place; an empty list drops it. */
export interface FrameHandler {
  onData(streamId: number, length: number, flags: number): DataTreatment;
  /** A piece of the payload of the DATA frame that was last decided on, with `tap` and `take`. */
  onDataBytes(bytes: Buffer): void;
  /** That payload is complete, likewise. */
  onDataEnd(): void;
  onHeaders(unit: HeaderUnit): 'pass' | readonly Buffer[];
  /** SETTINGS, WINDOW_UPDATE and RST_STREAM, whole. */
  onControl(type: number, flags: number, streamId: number, payload: Buffer): 'pass' | readonly Buffer[];
}

/** What a {@link FrameScanner} needs. */
export interface FrameScannerOptions {
  readonly handler: FrameHandler;
  /** Sends these on, in this order. */
  readonly write: (buffers: readonly Buffer[]) => void;
  /** Whether a client's preface comes first. */
  readonly expectPreface: boolean;
}

const EMPTY = Buffer.alloc(0);

/**
 * Finds the frames in one direction of a connection, and sends on what is not taken out.
 *
 * Runs of frames that pass go on as the bytes they came as, without a copy; a large payload goes on piece by piece as
 * it comes. Frames of our own are put in between frames only, never into one.
 */
export class FrameScanner {
  readonly #options: FrameScannerOptions;
  #buffer: Buffer = EMPTY;
  /** What has come since, and how much of it has to be there before it is worth a look: each look may copy it all. */
  #unjoined: Buffer[] = [];
  #unjoinedBytes = 0;
  #missing = 0;
  #holdsChunk = false;
  /** Where in the buffer the next frame begins, or the rest of the payload. */
  #at = 0;
  /** From here up to `#at` everything passes and is not sent yet. */
  #runStart = 0;
  #payloadLeft = 0;
  #treatment: DataTreatment = 'pass';
  #prefaceLeft: number;
  #scanning = false;
  #stalled = false;
  #opaque = false;
  #out: Buffer[] = [];
  /** The relay's own frames that wait for the end of a half-sent frame. */
  #waiting: Buffer[] = [];

  constructor(options: FrameScannerOptions) {
    this.#options = options;
    this.#prefaceLeft = options.expectPreface ? CLIENT_PREFACE.length : 0;
  }

  /** Whether a frame cannot go on yet. */
  get stalled(): boolean {
    return this.#stalled;
  }

  /** Whether it keeps bytes that came and have not gone on. */
  get holdsBytes(): boolean {
    return this.#holdsChunk || this.#unjoinedBytes > 0 || this.#waiting.length > 0;
  }

  /** Takes what came from the source. Throws ProtocolError or HpackError; then {@link goOpaque} or give up. */
  push(chunk: Buffer): void {
    if (this.#opaque) {
      this.#options.write([chunk]);
      return;
    }
    this.#unjoined.push(chunk);
    this.#unjoinedBytes += chunk.length;
    if (!this.#stalled && this.#unjoinedBytes >= this.#missing) this.#scan();
  }

  /** Goes on with what was stalled; whether nothing is any more. */
  resume(): boolean {
    this.#stalled = false;
    this.#scan();
    return !this.stalled;
  }

  /** Sends whole frames of the relay's own, as soon as no frame is half sent. */
  inject(...frames: Buffer[]): void {
    if (this.#isMidFrame) {
      this.#waiting.push(...frames);
    } else if (this.#scanning) {
      this.#flushRun();
      this.#out.push(...frames);
    } else {
      this.#options.write(frames);
    }
  }

  /** Looks at nothing any more: everything from the frame on that was not understood goes on as it is. */
  goOpaque(): void {
    this.#opaque = true;
    this.#stalled = false;
    this.#payloadLeft = 0;
    this.#join();
    const rest = this.#buffer;
    this.#buffer = EMPTY;
    if (rest.length > 0) this.#options.write([rest]);
  }

  get #isMidFrame(): boolean {
    return this.#payloadLeft > 0 && this.#treatment !== 'take';
  }

  #join(): void {
    const [first = EMPTY, ...others] = this.#unjoined;
    this.#buffer =
      others.length === 0 ? concat(this.#buffer, first) : Buffer.concat([this.#buffer, first, ...others]);
    this.#unjoined = [];
    this.#unjoinedBytes = 0;
    this.#missing = 0;
  }

  #scan(): void {
    this.#join();
    this.#scanning = true;
    this.#at = 0;
    this.#runStart = 0;
    try {
      while (this.#step());
    } finally {
      this.#flushRun();
      const rest = this.#buffer.subarray(this.#at);
      // Of a frame's head mostly: a copy, so that the rest of the chunk is free.
      this.#buffer = rest.length === 0 ? EMPTY : rest.length <= FRAME_HEADER_BYTES ? Buffer.from(rest) : rest;
      this.#holdsChunk = rest.length > FRAME_HEADER_BYTES;
      this.#scanning = false;
      if (!this.#isMidFrame && this.#waiting.length > 0) this.#out.push(...this.#waiting.splice(0));
      const out = this.#out;
      this.#out = [];
      if (out.length > 0) this.#options.write(out);
    }
  }

  /** Handles what comes next in the buffer; false when more is needed. */
  #step(): boolean {
    if (this.#payloadLeft > 0) return this.#passPayload();
    if (this.#waiting.length > 0) {
      this.#flushRun();
      this.#out.push(...this.#waiting.splice(0));
    }
    if (this.#prefaceLeft > 0) return this.#passPreface();
    if (this.#buffer.length - this.#at < FRAME_HEADER_BYTES) return false;
    const length = this.#buffer.readUIntBE(this.#at, 3);
    const type = this.#buffer[this.#at + 3]!;
    const flags = this.#buffer[this.#at + 4]!;
    const streamId = readUint31(this.#buffer, this.#at + 5);
    switch (type) {
      case FrameType.DATA:
        return this.#beginData(streamId, length, flags);
      case FrameType.HEADERS:
      case FrameType.PUSH_PROMISE:
        return this.#handleHeaders();
      case FrameType.CONTINUATION:
        throw new ProtocolError('a continuation without a header block before it');
      case FrameType.SETTINGS:
      case FrameType.WINDOW_UPDATE:
      case FrameType.RST_STREAM:
        return this.#handleControl(type, flags, streamId, length);
      default:
        // PRIORITY, PING, GOAWAY and what is not known concern the two ends alone.
        this.#at += FRAME_HEADER_BYTES;
        this.#payloadLeft = length;
        this.#treatment = 'pass';
        return true;
    }
  }

  #beginData(streamId: number, length: number, flags: number): boolean {
    const { handler: judge } = this.#options;
    const treatment = judge.onData(streamId, length, flags);
    if (treatment === 'stall') {
      this.#stalled = true;
      return false;
    }
    if (treatment === 'take') this.#flushRun();
    this.#at += FRAME_HEADER_BYTES;
    if (treatment === 'take') this.#runStart = this.#at;
    this.#payloadLeft = length;
    this.#treatment = treatment;
    if (length === 0 && treatment !== 'pass') judge.onDataEnd();
    return true;
  }

  #passPayload(): boolean {
    const { handler: judge } = this.#options;
    const taken = this.#treatment === 'take';
    const end = Math.min(this.#at + this.#payloadLeft, this.#buffer.length);
    const bytes = this.#buffer.subarray(this.#at, end);
    if (bytes.length === 0) return false;
    this.#payloadLeft -= bytes.length;
    this.#at = end;
    if (taken) this.#runStart = end;
    if (this.#treatment !== 'pass') {
      judge.onDataBytes(bytes);
      if (this.#payloadLeft === 0) judge.onDataEnd();
    }
    return true;
  }

  #passPreface(): boolean {
    const begin = CLIENT_PREFACE.length - this.#prefaceLeft;
    const bytes = this.#buffer.subarray(this.#at, this.#at + this.#prefaceLeft);
    if (bytes.length === 0) return false;
    if (!bytes.equals(CLIENT_PREFACE.subarray(begin, begin + bytes.length))) {
      throw new ProtocolError('the client does not speak HTTP/2');
    }
    this.#prefaceLeft -= bytes.length;
    this.#at += bytes.length;
    return true;
  }

  #handleHeaders(): boolean {
    const unit = readHeaderUnit(this.#buffer, this.#at);
    if (typeof unit === 'number') {
      this.#missing = unit - (this.#buffer.length - this.#at);
      return false;
    }
    this.#replace(this.#options.handler.onHeaders(unit), unit.frames.length);
    return true;
  }

  #handleControl(type: number, flags: number, streamId: number, length: number): boolean {
    const wanted = type === FrameType.SETTINGS ? length % 6 === 0 : length === 4;
    const isAck = type === FrameType.SETTINGS && (flags & FrameFlag.ACK) !== 0;
    if (!wanted || length > LARGEST_PAYLOAD_BYTES || (isAck && length > 0)) {
      throw new ProtocolError(`a frame of type ${type} has ${length} bytes`);
    }
    const end = this.#at + FRAME_HEADER_BYTES + length;
    if (this.#buffer.length < end) return false;
    const payload = this.#buffer.subarray(this.#at + FRAME_HEADER_BYTES, end);
    this.#replace(this.#options.handler.onControl(type, flags, streamId, payload), end - this.#at);
    return true;
  }

  #replace(verdict: 'pass' | readonly Buffer[], length: number): void {
    if (verdict !== 'pass') {
      this.#flushRun();
      this.#out.push(...verdict);
    }
    this.#at += length;
    if (verdict !== 'pass') this.#runStart = this.#at;
  }

  #flushRun(): void {
    if (this.#runStart < this.#at) this.#out.push(this.#buffer.subarray(this.#runStart, this.#at));
    this.#runStart = this.#at;
  }
}

/** Both, one behind the other; no copy when one is empty. */
function concat(first: Buffer, second: Buffer): Buffer {
  if (first.length === 0) return second;
  return second.length === 0 ? first : Buffer.concat([first, second]);
}
