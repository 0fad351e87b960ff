import { type CallSide } from './call-side.js';
import { type FieldsToSend } from './call-handler.js';
import {
  encodeFrameHeader,
  encodeHeaderFrames,
  encodeReset,
  FrameFlag,
  FrameType,
  LARGEST_PAYLOAD_BYTES,
} from './frame-format.js';

/** Frames to send, in pieces, and how many bytes of DATA they hold. */
export interface TakenFrames {
  readonly frames: readonly Buffer[];
  readonly dataBytes: number;
}

/** Takes what a side has to send out of its queue, as much as there is room for on its connection and its stream. */
export function takeFrames(
  side: CallSide,
  connectionRoom: number,
  encode: (fields: FieldsToSend) => Buffer,
): TakenFrames {
  const frames: Buffer[] = [];
  let dataBytes = 0;
  for (let item = side.queue[0]; item !== undefined; item = side.queue[0]) {
    if (item.kind === 'data') {
      const room = Math.min(LARGEST_PAYLOAD_BYTES, connectionRoom - dataBytes, side.window);
      if (room <= 0) break;
      dataBytes += takeDataFrame(side, room, frames);
      continue;
    }
    side.queue.shift();
    if (item.kind === 'headers') {
      frames.push(encodeHeaderFrames(side.streamId, encode(item.fields), item.endStream));
      side.headersSent = true;
      side.sinkEnded ||= item.endStream;
    } else if (item.kind === 'end') {
      frames.push(encodeFrameHeader(FrameType.DATA, FrameFlag.END_STREAM, side.streamId, 0));
      side.sinkEnded = true;
    } else {
      frames.push(encodeReset(side.streamId, item.code));
      side.sinkEnded = true;
    }
  }
  return { frames, dataBytes };
}

/** One frame of DATA of at most `room` bytes; gives its length. */
function takeDataFrame(side: CallSide, room: number, frames: Buffer[]): number {
  const parts: Buffer[] = [];
  let length = 0;
  for (let item = side.queue[0]; item?.kind === 'data' && length < room; item = side.queue[0]) {
    const part = item.bytes.subarray(0, room - length);
    parts.push(part);
    length += part.length;
    item.bytes = item.bytes.subarray(part.length);
    if (item.bytes.length === 0) side.queue.shift();
  }
  const ends = side.queue[0]?.kind === 'end';
  if (ends) {
    side.queue.shift();
    side.sinkEnded = true;
  }
  frames.push(
    encodeFrameHeader(FrameType.DATA, ends ? FrameFlag.END_STREAM : 0, side.streamId, length),
    ...parts,
  );
  side.noteSent(length);
  return length;
}
