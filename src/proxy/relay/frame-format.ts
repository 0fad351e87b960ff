/**
 * The format of HTTP/2 frames (RFC 9113, sections 4 and 6), for reading and for writing.
 *
 * @module
 */

/** What a client sends before its first frame. */
export const CLIENT_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Length (24 bits), type, flags, stream id (31 bits). */
export const FRAME_HEADER_BYTES = 9;

/** What everybody has to accept; larger frames only when they say so, and nothing is gained by them. */
export const LARGEST_PAYLOAD_BYTES = 16_384;

/** The flow control window of a connection, and of a stream until settings say otherwise. */
export const FIRST_WINDOW_BYTES = 65_535;

/** The frame types that matter here: RFC 9113, section 6. */
export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Flags of frames; the meaning of a bit depends on the frame's type. */
export const FrameFlag = {
  END_STREAM: 0x1,
  ACK: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

/** Why a stream is reset (RFC 9113, section 7), as far as it is needed here. */
export const Http2Error = { NO_ERROR: 0, INTERNAL_ERROR: 2, REFUSED_STREAM: 7, CANCEL: 8 } as const;

const SETTING_INITIAL_WINDOW_SIZE = 4;

/** The nine bytes in front of a payload. */
export function encodeFrameHeader(type: number, flags: number, streamId: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  header.writeUIntBE(length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return header;
}

/** A whole frame. */
function encodeFrame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  return Buffer.concat([encodeFrameHeader(type, flags, streamId, payload.length), payload]);
}

/** Gives the peer room for this many more bytes; stream 0 is the connection. */
export function encodeWindowUpdate(streamId: number, bytes: number): Buffer {
  return encodeFrame(FrameType.WINDOW_UPDATE, 0, streamId, uint32(bytes));
}

/** Ends a stream at once, with an error code of HTTP/2. */
export function encodeReset(streamId: number, error: number): Buffer {
  return encodeFrame(FrameType.RST_STREAM, 0, streamId, uint32(error));
}

/** A header block as HEADERS, and CONTINUATION frames when it is long. */
export function encodeHeaderFrames(streamId: number, block: Buffer, endStream: boolean): Buffer {
  return encodeBlockFrames(FrameType.HEADERS, endStream ? FrameFlag.END_STREAM : 0, streamId, block);
}

/** A header block in the frames that carry one: `type` first, with these flags, then CONTINUATION. */
export function encodeBlockFrames(type: number, flags: number, streamId: number, block: Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < block.length; at += LARGEST_PAYLOAD_BYTES) {
    const part = block.subarray(at, at + LARGEST_PAYLOAD_BYTES);
    const last = at + part.length >= block.length ? FrameFlag.END_HEADERS : 0;
    frames.push(
      at === 0
        ? encodeFrame(type, flags | last, streamId, part)
        : encodeFrame(FrameType.CONTINUATION, last, streamId, part),
    );
  }
  return Buffer.concat(frames);
}

/** The initial window size of streams that a SETTINGS payload asks for, if it does. */
export function readInitialWindow(settings: Buffer): number | undefined {
  let size: number | undefined;
  for (let at = 0; at + 6 <= settings.length; at += 6) {
    if (settings.readUInt16BE(at) === SETTING_INITIAL_WINDOW_SIZE) size = settings.readUInt32BE(at + 2);
  }
  return size;
}

/** A number without its highest bit, which is reserved. */
export function readUint31(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) & 0x7fffffff;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
