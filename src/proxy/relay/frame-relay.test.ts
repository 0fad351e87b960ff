import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type EventEmitter } from 'node:events';
import { stat } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  RAW_PREFACE,
  type RawFrame,
  rawFrame,
  RawHttp2Peer,
  toBytes,
  uint32,
} from '#support/clients/raw-http2-peer.js';
import { RelayHarness, treatAll } from '#support/harness/relay-harness.js';
import { untilTrue } from '#support/until-true.js';
import { encodeStateless } from './hpack/encode-stateless.js';

const END_STREAM = 0x1;
const END_HEADERS = 0x4;

const PATH: readonly (readonly [string, string])[] = [
  [':method', 'POST'],
  [':path', '/runtime.v1.RuntimeService/Version'],
];

/** Everything that a connection may carry and that means nothing to the relay, and some that does. */
function talk(): RawFrame[] {
  const block = encodeStateless(PATH);
  return [
    rawFrame('SETTINGS', 0, Buffer.from('000400100000', 'hex')),
    rawFrame('WINDOW_UPDATE', 0, uint32(1000)),
    rawFrame('PING', 0, 'pingpong'),
    // In three frames.
    rawFrame('HEADERS', 1, block.subarray(0, 2)),
    rawFrame('CONTINUATION', 1, block.subarray(2, 7)),
    rawFrame('CONTINUATION', 1, block.subarray(7), END_HEADERS),
    rawFrame('DATA', 1, '\0\0\0\0\x03abc', END_STREAM),
    // With priority and padding.
    rawFrame('HEADERS', 3, Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 9]), block, Buffer.alloc(2)]), 0x2c),
    rawFrame('DATA', 3, Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0]), 0x8),
    rawFrame('DATA', 3, '', END_STREAM),
    rawFrame('PRIORITY', 3, '\0\0\0\0\x09'),
    rawFrame('RST_STREAM', 3, uint32(8)),
    rawFrame('DATA', 99, 'of a stream that nobody knows'),
    { type: 0xfe, flags: 0xff, streamId: 77, payload: Buffer.from('a type that nobody knows') },
    rawFrame('GOAWAY', 0, Buffer.alloc(8)),
  ];
}

/** The bytes in pieces of these sizes, over and over. */
async function sendInPieces(peer: RawHttp2Peer, bytes: Buffer, sizes: readonly number[]): Promise<void> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    peer.socket.write(bytes.subarray(at, at + size));
    at += size;
    // So that the pieces arrive as pieces, mostly.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the relay of frames', () => {
  it('listens at a socket that only its owner may open, and leaves none behind', async () => {
    const harness = await RelayHarness.start();
    expect((await stat(harness.socketPath)).mode & 0o777).toBe(0o600);
    await harness.relay.close();
    await expect(stat(harness.socketPath)).rejects.toThrow('ENOENT');
    await harness[Symbol.asyncDispose]();
  });

  it.each(['pass', 'tap', 'scan'] as const)(
    'leaves every byte of both directions as it is when calls %s, however they arrive',
    async (mode) => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), async (sizes) => {
          await using harness = await RelayHarness.start(treatAll(mode));
          const { client, server } = await harness.connect();
          const said = Buffer.concat([RAW_PREFACE, ...talk().map(toBytes)]);
          const answered = Buffer.concat(talk().map(toBytes));
          await sendInPieces(client, said, sizes);
          await untilTrue(() => server.received.length >= said.length);
          await sendInPieces(server, answered, sizes);
          await untilTrue(() => client.received.length >= answered.length);
          expect(server.received).toEqual(said);
          expect(client.received).toEqual(answered);
        }),
        { numRuns: 15 },
      );
    },
  );

  it.each(['pass', 'tap', 'scan', 'take'] as const)(
    'leaves megabytes as they are for a client that stops reading now and then, when calls %s',
    async (mode) => {
      await using harness = await RelayHarness.start(treatAll(mode));
      const { client, server } = await harness.connect();
      client.send(RAW_PREFACE, rawFrame('HEADERS', 1, encodeStateless(PATH), END_STREAM | END_HEADERS));
      client.send(
        rawFrame('WINDOW_UPDATE', 0, uint32(2 ** 30)),
        rawFrame('WINDOW_UPDATE', 1, uint32(2 ** 30)),
      );
      await untilTrue(() => server.of('WINDOW_UPDATE').length >= (mode === 'take' ? 1 : 2));
      const message = Buffer.alloc(6 * 2 ** 20, 0);
      for (let at = 0; at < message.length; at += 4) message.writeUInt32BE(at, at);
      message.writeUInt32BE(message.length - 5, 1);
      message[0] = 0;
      server.send(rawFrame('HEADERS', 1, encodeStateless([[':status', '200']]), END_HEADERS));
      for (let at = 0; at < message.length; at += 16_000) {
        server.send(rawFrame('DATA', 1, message.subarray(at, at + 16_000)));
        if (at % 640_000 === 0) {
          client.socket.pause();
          await new Promise((resolve) => setTimeout(resolve, 2));
          client.socket.resume();
        }
      }
      const received = (): Buffer => Buffer.concat(client.of('DATA').map(({ payload }) => payload));
      server.send(rawFrame('HEADERS', 1, encodeStateless([['grpc-status', '0']]), 0x5));
      await untilTrue(() => client.of('HEADERS').length === 2);
      expect(received().equals(message)).toBe(true);
    },
  );

  it('passes what is no HTTP/2 through, unseen', async () => {
    await using harness = await RelayHarness.start(treatAll('take'));
    const { client, server } = await harness.connect();
    client.socket.write('PRI * HTTP/1.1\r\n\r\n');
    await untilTrue(() => server.received.length >= 18);
    server.socket.write('HTTP/1.1 400 What\r\n\r\n');
    await untilTrue(() => client.received.length >= 21);
    expect(server.received.toString()).toBe('PRI * HTTP/1.1\r\n\r\n');
    expect(client.received.toString()).toBe('HTTP/1.1 400 What\r\n\r\n');
  });

  it('passes on that one end has said its last word, while the other goes on', async () => {
    await using harness = await RelayHarness.start();
    const { client, server } = await harness.connect();
    client.send(RAW_PREFACE);
    client.socket.end();
    await untilTrue(() => server.ended);
    expect(client.closed).toBe(false);
    server.send(rawFrame('PING', 0, 'stillhere'.slice(0, 8)));
    server.socket.end();
    await untilTrue(() => client.ended);
    expect(client.of('PING')).toHaveLength(1);
    await untilTrue(() => harness.relay.counts.openConnections === 0);
  });

  it.each([
    ['client', 'server'],
    ['server', 'client'],
  ] as const)('passes on that the %s is gone', async (one, other) => {
    await using harness = await RelayHarness.start();
    const both = await harness.connect();
    both.client.send(RAW_PREFACE);
    await untilTrue(() => both.server.received.length > 0);
    both[one].socket.destroy();
    await untilTrue(() => both[other].ended);
    // As every HTTP/2 library does when it hears that.
    both[other].socket.end();
    await untilTrue(() => harness.relay.counts.openConnections === 0);
  });

  it('does not wait for ever for a server that keeps what its client has left', async () => {
    await using harness = await RelayHarness.start(undefined, { lingerMs: 20 });
    const { client, server } = await harness.connect();
    client.send(RAW_PREFACE);
    await untilTrue(() => server.received.length > 0);
    client.socket.destroy();
    await untilTrue(() => server.closed || server.ended);
    await untilTrue(() => harness.relay.counts.openConnections === 0);
  });

  it('closes a client’s connection when there is no server', async () => {
    await using harness = await RelayHarness.start();
    await harness.server[Symbol.asyncDispose]();
    for (let i = 0; i < 3; i++) {
      const client = await RawHttp2Peer.connect(harness.socketPath);
      await untilTrue(() => client.closed || client.ended);
      client.socket.destroy();
    }
    await untilTrue(() => harness.relay.counts.openConnections === 0);
    expect(harness.log).toEqual(['The server cannot be reached, its clients are turned away']);
  });

  it('outlives a connection that cannot be accepted, and says so once', async () => {
    await using harness = await RelayHarness.start();
    const servers = new Set<EventEmitter>();
    const onAccepted = (message: unknown): void => {
      servers.add((message as { socket: { server: EventEmitter } }).socket.server);
    };
    subscribe('net.server.socket', onAccepted);
    await harness.connect();
    unsubscribe('net.server.socket', onAccepted);
    // Of the relay and of the server behind it: which is which shows in who listens.
    const errors = [new Error('accept ENFILE'), new Error('accept ENFILE')];
    const listened = [...servers].filter((server) => server.listenerCount('error') > 0);
    expect(listened).toHaveLength(1);
    for (const error of errors) listened[0]!.emit('error', error);
    await harness.connect();
    expect(harness.log).toEqual(['A connection could not be accepted']);
  });
});
