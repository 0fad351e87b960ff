import { FRAME_HEADER_BYTES, FrameFlag, FrameType, readUint31 } from './frame-format.js';
import { ProtocolError } from './protocol-error.js';

/**
 * A header block with all the frames that carry it: HEADERS or PUSH_PROMISE, then CONTINUATION frames. Nothing else
 * may come between them, so they are handled as one.
 */
export interface HeaderUnit {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  /** The coded block, without padding and priority. */
  readonly block: Buffer;
  /** Of a PUSH_PROMISE: the four bytes that name the stream it promises. */
  readonly promised: Buffer | undefined;
  /** The frames as they came. */
  readonly frames: Buffer;
  readonly endStream: boolean;
}

/** An answer's trailers can be long, but not that long. */
const MAX_BLOCK_BYTES = 4 * 2 ** 20;
/** Senders fill frames before they begin another; one that does not makes work out of nothing. */
const MAX_FRAMES = 1_000;

/**
 * Reads the header block that begins at `at`; while a part of it is missing, gives how many bytes from there on are
 * needed at least. Throws ProtocolError when something else comes in between, or there is no end to it.
 */
export function readHeaderUnit(buffer: Buffer, at: number): HeaderUnit | number {
  const type = buffer[at + 3]!;
  const flags = buffer[at + 4]!;
  const streamId = readUint31(buffer, at + 5);
  if (type === FrameType.HEADERS && (flags & ~FrameFlag.END_STREAM) === FrameFlag.END_HEADERS) {
    // Nearly all are like that: one frame, with nothing but the block in it.
    const begin = at + FRAME_HEADER_BYTES;
    const end = begin + buffer.readUIntBE(at, 3);
    assertNotTooLong(end - begin);
    if (buffer.length < end) return end - at;
    return {
      type,
      flags,
      streamId,
      promised: undefined,
      block: buffer.subarray(begin, end),
      frames: buffer.subarray(at, end),
      endStream: (flags & FrameFlag.END_STREAM) !== 0,
    };
  }
  const fragments: Buffer[] = [];
  let promised: Buffer | undefined;
  for (let next = at; ;) {
    if (fragments.length >= MAX_FRAMES) throw new ProtocolError('a header block in far too many frames');
    if (buffer.length - next < FRAME_HEADER_BYTES) return next + FRAME_HEADER_BYTES - at;
    const end = next + FRAME_HEADER_BYTES + buffer.readUIntBE(next, 3);
    assertNotTooLong(end - at);
    const isFirst = next === at;
    if (
      !isFirst &&
      (buffer[next + 3] !== FrameType.CONTINUATION || readUint31(buffer, next + 5) !== streamId)
    ) {
      throw new ProtocolError('a header block is interrupted by another frame');
    }
    if (buffer.length < end) return end - at;
    const payload = buffer.subarray(next + FRAME_HEADER_BYTES, end);
    const ends = (buffer[next + 4]! & FrameFlag.END_HEADERS) !== 0;
    if (isFirst) {
      const fragment = unwrap(payload, type, flags);
      promised = type === FrameType.PUSH_PROMISE ? fragment.subarray(0, 4) : undefined;
      fragments.push(promised === undefined ? fragment : fragment.subarray(4));
    } else {
      fragments.push(payload);
    }
    next = end;
    if (!ends) continue;
    return {
      ...{ type, flags, streamId, promised },
      block: fragments.length === 1 ? fragments[0]! : Buffer.concat(fragments),
      frames: buffer.subarray(at, end),
      endStream: type === FrameType.HEADERS && (flags & FrameFlag.END_STREAM) !== 0,
    };
  }
}

function assertNotTooLong(bytes: number): void {
  if (bytes > MAX_BLOCK_BYTES) throw new ProtocolError('a header block of more than 4 MiB');
}

/** The payload of a first frame without padding and priority. */
function unwrap(payload: Buffer, type: number, flags: number): Buffer {
  const isPadded = (flags & FrameFlag.PADDED) !== 0;
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  const begin =
    (isPadded ? 1 : 0) + (type === FrameType.HEADERS && (flags & FrameFlag.PRIORITY) !== 0 ? 5 : 0);
  if (begin + padding > payload.length) throw new ProtocolError('more padding than there is of the frame');
  return payload.subarray(begin, payload.length - padding);
}
