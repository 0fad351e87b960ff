import fc from 'fast-check';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { INITIAL_WINDOW_BYTES, SHARED_STREAMS, SHARED_WINDOW_BYTES } from '#base/wire/spdy/spdy-frame.js';
import { InboundStream } from './inbound-stream.js';

/** A stream, and what its connection counts. */
function setUp(): { readonly stream: InboundStream; readonly counted: { cost: number; bytes: number } } {
  const counted = { cost: 0, bytes: 0 };
  const stream = new InboundStream({
    take: (cost) => (counted.cost += cost),
    release: (cost, bytes) => {
      counted.cost -= cost;
      counted.bytes += bytes;
    },
  });
  return { stream, counted };
}

it('full windows of single bytes leave room on a shared connection', () => {
  const { stream, counted } = setUp();
  // What waits in the stream's own buffer is taken already.
  for (let at = 0; at < INITIAL_WINDOW_BYTES; at++) stream.deliver(Buffer.of(at & 255));
  expect((SHARED_STREAMS - 1) * counted.cost).toBeLessThan(SHARED_WINDOW_BYTES);
});

it('pieces of whatever sizes come in order, and all that was counted is released', async () => {
  const sizes = fc.array(fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 5_000 })), { maxLength: 100 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat({ max: 100 }), async (lengths, readFrom) => {
      const { stream, counted } = setUp();
      const pieces = lengths.map((length, at) => Buffer.alloc(length, at));
      let read: Promise<Buffer> | undefined;
      for (const [at, piece] of pieces.entries()) {
        if (at === readFrom) read = buffer(stream);
        stream.deliver(piece);
      }
      stream.deliverEnd();
      const expected = Buffer.concat(pieces);
      expect((await (read ?? buffer(stream))).equals(expected)).toBe(true);
      expect(counted).toEqual({ cost: 0, bytes: expected.length });
    }),
  );
});

it('pieces that are left unread are released with the stream', () => {
  const { stream, counted } = setUp();
  for (let at = 0; at < 5_000; at++) stream.deliver(Buffer.alloc(at % 7));
  stream.destroy();
  expect(counted.cost).toBe(0);
});
