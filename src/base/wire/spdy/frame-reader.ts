import { decodeControlFrame } from './decode-control-frame.js';
import { FLAG_FIN, FRAME_HEAD_BYTES, SpdyError, type SpdyFrame } from './spdy-frame.js';

/** The largest control frame; Kubernetes' streams have a few short headers each. */
export const MAX_CONTROL_BYTES = 16 * 1024;
const EMPTY = Buffer.alloc(0);

/** The rest of a data frame whose head was read. */
interface OpenData {
  readonly stream: number;
  readonly fin: boolean;
  left: number;
}

/**
 * Splits a stream of bytes into frames.
 *
 * It buffers at most one control frame: data is passed on as it comes, in parts, whatever the length of the
 * frame.
 */
export class FrameReader {
  #rest: Buffer = EMPTY;
  #data: OpenData | undefined;

  /**
   * Returns the frames that this chunk completes.
   *
   * Throws {@link SpdyError} if the bytes are not SPDY; nothing can be read after that.
   */
  *push(chunk: Buffer): Generator<SpdyFrame, void, undefined> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) yield frame;
  }

  #next(): SpdyFrame | undefined {
    if (this.#data !== undefined) return this.#nextData(this.#data);
    if (this.#rest.length < FRAME_HEAD_BYTES) return undefined;
    const first = this.#rest.readUInt32BE(0);
    const second = this.#rest.readUInt32BE(4);
    const flags = second >>> 24;
    const length = second & 0xff_ff_ff;
    if (first >>> 31 === 1) return this.#nextControl(first, flags, length);
    if (first === 0) throw new SpdyError('data for stream 0');
    this.#take(FRAME_HEAD_BYTES);
    this.#data = { stream: first, fin: (flags & FLAG_FIN) !== 0, left: length };
    return this.#nextData(this.#data, length === 0);
  }

  #nextControl(first: number, flags: number, length: number): SpdyFrame | undefined {
    if (length > MAX_CONTROL_BYTES) throw new SpdyError(`a control frame of ${length} bytes`);
    if (this.#rest.length < FRAME_HEAD_BYTES + length) return undefined;
    this.#take(FRAME_HEAD_BYTES);
    const version = (first >>> 16) & 0x7f_ff;
    return decodeControlFrame({ version, type: first & 0xff_ff, flags, payload: this.#take(length) });
  }

  #nextData(data: OpenData, empty = false): SpdyFrame | undefined {
    if (this.#rest.length === 0 && !empty) return undefined;
    const payload = this.#take(Math.min(data.left, this.#rest.length));
    data.left -= payload.length;
    if (data.left === 0) this.#data = undefined;
    return { type: 'data', stream: data.stream, payload, fin: data.fin && data.left === 0 };
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }
}
