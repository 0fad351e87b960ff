import { FLAG_FIN, FRAME_HEAD_BYTES, FrameType, SPDY_VERSION } from './spdy-frame.js';

/** The head of a data frame; its payload of at most 16 MiB - 1 follows as it is. */
export function encodeDataHead(stream: number, length: number, fin: boolean): Buffer {
  const head = Buffer.allocUnsafe(FRAME_HEAD_BYTES);
  head.writeUInt32BE(stream, 0);
  head.writeUInt32BE((fin ? FLAG_FIN << 24 : 0) + length, 4);
  return head;
}

/** @param block compressed headers. */
export function encodeSynStream(stream: number, block: Buffer, flags = 0): Buffer {
  // After the stream's number: the associated stream, three bits of priority, the credential's slot.
  return Buffer.concat([
    encodeHead(FrameType.synStream, 10 + block.length, flags),
    words(stream, 0),
    Buffer.alloc(2),
    block,
  ]);
}

/** @param block compressed headers. */
export function encodeSynReply(stream: number, block: Buffer): Buffer {
  return Buffer.concat([encodeHead(FrameType.synReply, 4 + block.length), words(stream), block]);
}

/** Ends a stream at once; `status` is one of ResetStatus. */
export function encodeRstStream(stream: number, status: number): Buffer {
  return encodeControl(FrameType.rstStream, words(stream, status));
}

/** Requests the same frame back. */
export function encodePing(id: number): Buffer {
  return encodeControl(FrameType.ping, words(id));
}

/** Announces that no stream after this one is accepted; `status` is one of GoAwayStatus. */
export function encodeGoAway(lastStream: number, status: number): Buffer {
  return encodeControl(FrameType.goAway, words(lastStream, status));
}

/** @param stream 0 for the window of the whole connection. */
export function encodeWindowUpdate(stream: number, delta: number): Buffer {
  return encodeControl(FrameType.windowUpdate, words(stream, delta));
}

function encodeControl(type: number, payload: Buffer): Buffer {
  return Buffer.concat([encodeHead(type, payload.length), payload]);
}

function encodeHead(type: number, length: number, flags = 0): Buffer {
  return words(0x80_00_00_00 + SPDY_VERSION * 0x1_00_00 + type, flags * 0x1_00_00_00 + length);
}

function words(...values: number[]): Buffer {
  const buffer = Buffer.allocUnsafe(4 * values.length);
  for (const [at, value] of values.entries()) buffer.writeUInt32BE(value, 4 * at);
  return buffer;
}
