import {
  FrameType,
  LARGEST_WINDOW,
  SETTING_INITIAL_WINDOW,
  SPDY_VERSION,
  SpdyError,
  type SpdyFrame,
} from './spdy-frame.js';

/** A control frame before decoding. */
export interface ControlFrame {
  readonly version: number;
  readonly type: number;
  readonly flags: number;
  readonly payload: Buffer;
}

const STREAM_MASK = 0x7f_ff_ff_ff;

/** Decodes a control frame; throws {@link SpdyError} if it has another version or is malformed. */
export function decodeControlFrame({ version, type, flags, payload }: ControlFrame): SpdyFrame {
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
