import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeDataHead,
  encodeGoAway,
  encodePing,
  encodeRstStream,
  encodeSynReply,
  encodeSynStream,
  encodeWindowUpdate,
} from './encode-frame.js';
import { FrameReader, MAX_CONTROL_BYTES } from './frame-reader.js';
import { FLAG_FIN, SpdyError, type SpdyFrame } from './spdy-frame.js';

const control = (type: number, payload: Buffer, { flags = 0, version = 3 } = {}): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x80_00 + version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(flags * 2 ** 24 + payload.length, 4);
  return Buffer.concat([head, payload]);
};
const data = (stream: number, payload: Buffer, fin = false): Buffer =>
  Buffer.concat([encodeDataHead(stream, payload.length, fin), payload]);

/** Joins the parts of each data frame. */
function read(...chunks: Buffer[]): SpdyFrame[] {
  const reader = new FrameReader();
  const frames: SpdyFrame[] = [];
  for (const chunk of chunks) {
    for (const frame of reader.push(chunk)) {
      const last = frames.at(-1);
      if (frame.type === 'data' && last?.type === 'data' && last.stream === frame.stream && !last.fin) {
        frames.pop();
        frames.push({ ...frame, payload: Buffer.concat([last.payload, frame.payload]) });
      } else frames.push(frame);
    }
  }
  return frames;
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const edges = [0, ...at.map((each) => each % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}

describe('the frames of SPDY/3.1', () => {
  it('are read as they were written', () => {
    const block = Buffer.from('block');
    const bytes = Buffer.concat([
      encodeSynStream(1, block, FLAG_FIN),
      encodeSynReply(3, block),
      encodeRstStream(5, 7),
      encodePing(9),
      encodeGoAway(11, 1),
      encodeWindowUpdate(0, 13),
      data(15, Buffer.from('hello'), true),
      control(4, Buffer.from([0, 0, 0, 1, 0, 0, 0, 7, 0, 1, 0, 0])),
      control(99, Buffer.from('who knows')),
    ]);
    expect(read(bytes)).toEqual([
      { type: 'syn-stream', stream: 1, flags: FLAG_FIN, block },
      { type: 'syn-reply', stream: 3, flags: 0, block },
      { type: 'rst-stream', stream: 5, status: 7 },
      { type: 'ping', id: 9 },
      { type: 'go-away', lastStream: 11, status: 1 },
      { type: 'window-update', stream: 0, delta: 13 },
      { type: 'data', stream: 15, payload: Buffer.from('hello'), fin: true },
      { type: 'settings', initialWindow: 65_536 },
      { type: 'unknown', typeNumber: 99 },
    ]);
  });

  it('are the same wherever the bytes are split', () => {
    const frame = fc.oneof(
      fc.nat(2 ** 31 - 2).map((id) => encodePing(id)),
      fc
        .tuple(fc.integer({ min: 1, max: 99 }), fc.uint8Array({ maxLength: 300 }), fc.boolean())
        .map(([stream, bytes, fin]) => data(stream, Buffer.from(bytes), fin)),
      fc.uint8Array({ maxLength: 300 }).map((block) => encodeSynStream(1, Buffer.from(block))),
    );
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        (frames, cuts) => {
          // A marker between data frames separates those of one stream when parts are joined.
          const bytes = Buffer.concat(frames.flatMap((each) => [each, encodePing(7)]));
          expect(read(...cut(bytes, cuts))).toEqual(read(bytes));
        },
      ),
    );
  });

  it('of data are passed on in parts, without waiting for the rest', () => {
    const reader = new FrameReader();
    expect([...reader.push(encodeDataHead(1, 2 ** 24 - 1, true))]).toEqual([]);
    const parts = Array.from({ length: 256 }, (_, at) => Buffer.alloc(65_536 - (at === 255 ? 1 : 0)));
    const seen = parts.map((part) => {
      const [frame, ...more] = reader.push(part) as Iterable<SpdyFrame & { type: 'data' }>;
      return [frame!.payload.length === part.length, frame!.fin, more.length];
    });
    expect(seen).toEqual(parts.map((_, at) => [true, at === 255, 0]));
  });

  it('without data are frames, too', () => {
    expect(read(data(1, Buffer.alloc(0), true))).toEqual([
      { type: 'data', stream: 1, payload: Buffer.alloc(0), fin: true },
    ]);
  });
});

describe('bytes that are not SPDY/3.1', () => {
  it.each([
    ['another version', control(6, Buffer.alloc(4), { version: 2 })],
    ['data for stream 0', data(0, Buffer.from('x'))],
    ['a control frame that is too long', control(1, Buffer.alloc(MAX_CONTROL_BYTES + 1)).subarray(0, 8)],
    ['a SYN_STREAM without its numbers', control(1, Buffer.alloc(9))],
    ['a SYN_REPLY without its number', control(2, Buffer.alloc(3))],
    ['HEADERS without their number', control(8, Buffer.alloc(0))],
    ['a long RST_STREAM', control(3, Buffer.alloc(9))],
    ['a short PING', control(6, Buffer.alloc(3))],
    ['a short GOAWAY', control(7, Buffer.alloc(4))],
    ['a WINDOW_UPDATE by nothing', control(9, Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]))],
    ['SETTINGS that promise more than they hold', control(4, Buffer.from([255, 255, 255, 255]))],
    ['SETTINGS of an impossible window', control(4, Buffer.from([0, 0, 0, 1, 0, 0, 0, 7, 255, 0, 0, 0]))],
  ])('are rejected: %s', (_what, bytes) => {
    expect(() => read(bytes)).toThrow(SpdyError);
  });

  it('never give anything but frames or a SpdyError, and are never retained', () => {
    // Mostly plausible heads, so that the readers of payloads are tested too.
    const head = fc
      .tuple(fc.constantFrom(1, 2, 3, 4, 6, 7, 8, 9, 10), fc.nat(3), fc.nat(60))
      .map(([type, flags, length]) => control(type, Buffer.alloc(length), { flags }).subarray(0, 8));
    const piece = fc.oneof(
      head,
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        try {
          read(...pieces);
        } catch (error) {
          expect(error).toBeInstanceOf(SpdyError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
