import {
  FLAG_FIN,
  FRAME_HEAD_BYTES,
  FrameType,
  LARGEST_WINDOW,
  SETTING_INITIAL_WINDOW,
  SPDY_VERSION,
  SpdyError,
  type SpdyFrame,
} from './spdy-frame.js';

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

/** A control frame before decoding. */
interface ControlFrame {
  readonly version: number;
  readonly type: number;
  readonly flags: number;
  readonly payload: Buffer;
}

const STREAM_MASK = 0x7f_ff_ff_ff;

/** Decodes a control frame; throws {@link SpdyError} if it has another version or is malformed. */
function decodeControlFrame({ version, type, flags, payload }: ControlFrame): SpdyFrame {
  if (version !== SPDY_VERSION) throw new SpdyError(`a frame of SPDY/${version}`);
  switch (type) {
    case FrameType.synStream:
      requireBytes('SYN_STREAM', payload.length >= 10);
      return { type: 'syn-stream', stream: readStream(payload), flags, block: payload.subarray(10) };
    case FrameType.synReply:
      requireBytes('SYN_REPLY', payload.length >= 4);
      return { type: 'syn-reply', stream: readStream(payload), flags, block: payload.subarray(4) };
    case FrameType.headers:
      requireBytes('HEADERS', payload.length >= 4);
      return { type: 'headers', stream: readStream(payload), flags, block: payload.subarray(4) };
    case FrameType.rstStream:
      requireBytes('RST_STREAM', payload.length === 8);
      return { type: 'rst-stream', stream: readStream(payload), status: payload.readUInt32BE(4) };
    case FrameType.settings:
      return { type: 'settings', initialWindow: readInitialWindow(payload) };
    case FrameType.ping:
      requireBytes('PING', payload.length === 4);
      return { type: 'ping', id: payload.readUInt32BE(0) };
    case FrameType.goAway:
      requireBytes('GOAWAY', payload.length === 8);
      return { type: 'go-away', lastStream: readStream(payload), status: payload.readUInt32BE(4) };
    case FrameType.windowUpdate:
      requireBytes('WINDOW_UPDATE', payload.length === 8);
      return { type: 'window-update', stream: readStream(payload), delta: readDelta(payload) };
    default:
      return { type: 'unknown', typeNumber: type };
  }
}

function readStream(payload: Buffer): number {
  return payload.readUInt32BE(0) & STREAM_MASK;
}

function readDelta(payload: Buffer): number {
  const delta = payload.readUInt32BE(4) & STREAM_MASK;
  if (delta === 0) throw new SpdyError('a WINDOW_UPDATE by nothing');
  return delta;
}

/**
 * Four bytes of count, then each entry: one byte of flags, three of the setting's number, four of its value.
 */
function readInitialWindow(payload: Buffer): number | undefined {
  const count = payload.length < 4 ? -1 : payload.readUInt32BE(0);
  requireBytes('SETTINGS', payload.length === 4 + count * 8);
  let initialWindow: number | undefined;
  for (let at = 4; at < payload.length; at += 8) {
    if (payload.readUIntBE(at + 1, 3) === SETTING_INITIAL_WINDOW)
      initialWindow = payload.readUInt32BE(at + 4);
  }
  if (initialWindow !== undefined && initialWindow > LARGEST_WINDOW) {
    throw new SpdyError(`a window of ${initialWindow} bytes`);
  }
  return initialWindow;
}

function requireBytes(name: string, fits: boolean): void {
  if (!fits) throw new SpdyError(`a ${name} of the wrong length`);
}
