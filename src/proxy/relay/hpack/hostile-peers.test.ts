import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  RAW_PREFACE,
  RAW_TYPES,
  type RawFrame,
  rawFrame,
  RawHttp2Peer,
  toBytes,
  uint32,
} from '#support/clients/raw-http2-peer.js';
import { RelayHarness, treatAll } from '#support/harness/relay-harness.js';
import { untilTrue } from '#support/until-true.js';
import { encodeStateless } from './encode-stateless.js';

const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const REQUEST = encodeStateless([[':path', '/runtime.v1.RuntimeService/Version']]);
const ANSWER = encodeStateless([[':status', '200']]);
const TRAILERS = encodeStateless([['grpc-status', '0']]);
const MESSAGE = Buffer.from('\0\0\0\0\x03abc');

/** Whether the relay still does its work for others: a call goes through and is answered. */
async function expectStillWorking(harness: RelayHarness): Promise<void> {
  const before = harness.server.peers.length;
  const client = await RawHttp2Peer.connect(harness.socketPath);
  client.send(RAW_PREFACE, rawFrame('SETTINGS', 0));
  client.send(rawFrame('HEADERS', 1, REQUEST, END_HEADERS), rawFrame('DATA', 1, MESSAGE, END_STREAM));
  await untilTrue(() => (harness.server.peers[before]?.of('DATA', 1).length ?? 0) > 0);
  harness.server.peers[before]!.send(
    rawFrame('HEADERS', 1, ANSWER, END_HEADERS),
    rawFrame('DATA', 1, MESSAGE),
    rawFrame('HEADERS', 1, TRAILERS, END_HEADERS | END_STREAM),
  );
  await untilTrue(() => client.of('HEADERS', 1).length === 2);
  expect(client.of('DATA', 1).map(({ payload }) => payload)).toEqual([MESSAGE]);
  client.socket.destroy();
}

const frame: fc.Arbitrary<Buffer> = fc.oneof(
  fc
    .record({
      type: fc.oneof(fc.constantFrom(...Object.values(RAW_TYPES)), fc.nat(255)),
      flags: fc.oneof(fc.constantFrom(0, END_STREAM, END_HEADERS, 5, 0x8, 0x20, 0x2d), fc.nat(255)),
      streamId: fc.oneof(fc.constantFrom(0, 1, 2, 3, 5), fc.nat(0x7fffffff)),
      payload: fc.oneof(
        fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
        fc.constantFrom(REQUEST, ANSWER, TRAILERS, MESSAGE, uint32(0), uint32(0x7fffffff)),
      ),
    })
    .map((each: RawFrame) => toBytes(each)),
  fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
);

describe('peers that say what they should not', () => {
  it.each(['tap', 'scan', 'take'] as const)(
    'end their own connection at most, when calls are under treatment: %s',
    async (mode) => {
      await using harness = await RelayHarness.start(treatAll(mode), { lingerMs: 20 });
      const talk = fc.array(fc.record({ byClient: fc.boolean(), bytes: frame }), { maxLength: 30 });
      await fc.assert(
        fc.asyncProperty(talk, async (said) => {
          const before = harness.server.peers.length;
          const client = await RawHttp2Peer.connect(harness.socketPath);
          await untilTrue(() => harness.server.peers.length > before);
          client.send(RAW_PREFACE);
          for (const { byClient, bytes } of said) {
            const peer = byClient ? client : harness.server.peers[before]!;
            if (!peer.socket.destroyed) peer.socket.write(bytes);
            await new Promise((resolve) => setImmediate(resolve));
          }
          client.socket.destroy();
          harness.server.peers[before]!.socket.destroy();
        }),
        { numRuns: 60 },
      );
      await expectStillWorking(harness);
      await untilTrue(() => harness.relay.counts.openConnections === 0);
      expect(harness.log.filter((line) => line.includes('failed'))).toEqual([]);
    },
  );

  it.each([
    [
      'CONTINUATION without end',
      [rawFrame('HEADERS', 1, REQUEST)],
      rawFrame('CONTINUATION', 1, 'x'.repeat(16_000)),
    ],
    ['CONTINUATION without anything in it', [rawFrame('HEADERS', 1, REQUEST)], rawFrame('CONTINUATION', 1)],
    ['SETTINGS that nobody confirms', [], rawFrame('SETTINGS', 0)],
  ])('are cut off: %s', async (_what, first, flood) => {
    await using harness = await RelayHarness.start(treatAll('take'), { lingerMs: 20 });
    const { client } = await harness.connect();
    // A call that is looked at, so that the connection cannot go on unseen.
    client.send(RAW_PREFACE, rawFrame('HEADERS', 99, REQUEST, END_HEADERS));
    client.send(...first.map((each) => ({ ...each, streamId: each.streamId + 100 })));
    const more = Buffer.concat(
      Array.from({ length: 100 }, () =>
        toBytes({ ...flood, streamId: flood.streamId === 0 ? 0 : flood.streamId + 100 }),
      ),
    );
    for (let i = 0; i < 2_000 && !client.closed && !client.ended; i++) {
      if (!client.socket.destroyed) client.socket.write(more);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await untilTrue(() => client.closed || client.ended);
    await expectStillWorking(harness);
  });

  it('get their long headers through, however small the pieces are', async () => {
    await using harness = await RelayHarness.start(treatAll('tap'));
    const { client, server } = await harness.connect();
    const path = `/service/${'x'.repeat(60_000)}`;
    const block = encodeStateless([[':path', path]]);
    const frames = Buffer.concat([
      toBytes(rawFrame('HEADERS', 1, block.subarray(0, 100))),
      toBytes(rawFrame('CONTINUATION', 1, block.subarray(100), END_HEADERS)),
    ]);
    client.send(RAW_PREFACE);
    for (let at = 0; at < frames.length; at += 500) {
      client.socket.write(frames.subarray(at, at + 500));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await untilTrue(() => server.received.length === RAW_PREFACE.length + frames.length);
    expect(server.received.subarray(RAW_PREFACE.length)).toEqual(frames);
  });

  it('may open and reset calls without end', async () => {
    await using harness = await RelayHarness.start(treatAll('take'));
    const { client } = await harness.connect();
    client.send(RAW_PREFACE);
    for (let id = 1; id < 4_000; id += 2) {
      client.send(rawFrame('HEADERS', id, REQUEST, END_HEADERS), rawFrame('RST_STREAM', id, uint32(8)));
    }
    await untilTrue(() => harness.server.peers[0]!.of('RST_STREAM').length === 2_000);
    await expectStillWorking(harness);
  });

  it('may die at each byte of an answer', async () => {
    await using harness = await RelayHarness.start(treatAll('take'), { lingerMs: 20 });
    const answer = Buffer.concat(
      [
        rawFrame('HEADERS', 1, ANSWER, END_HEADERS),
        rawFrame('DATA', 1, MESSAGE),
        rawFrame('HEADERS', 1, TRAILERS, END_HEADERS | END_STREAM),
      ].map(toBytes),
    );
    for (let bytes = 0; bytes <= answer.length; bytes++) {
      const before = harness.server.peers.length;
      const client = await RawHttp2Peer.connect(harness.socketPath);
      client.send(RAW_PREFACE, rawFrame('HEADERS', 1, REQUEST, END_HEADERS | END_STREAM));
      await untilTrue(() => (harness.server.peers[before]?.of('DATA', 1).length ?? 0) > 0);
      harness.server.peers[before]!.socket.write(answer.subarray(0, bytes));
      harness.server.peers[before]!.socket.destroySoon();
      await untilTrue(() => client.closed || client.ended);
      client.socket.destroy();
    }
    await untilTrue(() => harness.relay.counts.openConnections === 0);
    await expectStillWorking(harness);
  });
});
