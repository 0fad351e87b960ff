import { once } from 'node:events';
import { Duplex, PassThrough } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SpdyClient } from '#support/clients/spdy-client.js';
import { INITIAL_WINDOW_BYTES } from '#base/wire/spdy/spdy-frame.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { SpdySession } from './spdy-session.js';
import { type SpdyStream } from './spdy-stream.js';

function setUp({ accept = true, clientCounts = false } = {}) {
  const clock = new FakeClock();
  const [there, back] = [new PassThrough(), new PassThrough()];
  const transport = Duplex.from({ readable: there, writable: back });
  const client = new SpdyClient(Duplex.from({ readable: back, writable: there }));
  const streams: SpdyStream[] = [];
  const session = new SpdySession({
    transport,
    clock,
    logger: SILENT_LOGGER,
    idleTimeoutMs: 60_000,
    clientCounts,
    onStream: (stream) => {
      streams.push(stream);
      if (accept) stream.accept();
    },
  });
  const ended = session.run();
  return { clock, client, session, streams, ended };
}

/** Header blocks are read by zlib's threads, which no fake clock moves. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextRound();
}

it('shows each stream with its headers and carries both directions', async () => {
  const { client, streams } = setUp();
  const stream = await client.open({ StreamType: 'data', port: '80' });
  await stream.replied;
  expect(streams[0]?.headers).toEqual(
    new Map([
      ['streamtype', 'data'],
      ['port', '80'],
    ]),
  );
  stream.write('to the server');
  streams[0]!.outbound.write('to the client');
  expect(String(await once(streams[0]!.inbound, 'data'))).toBe('to the server');
  await until(() => stream.data.length > 0);
  expect(stream.data.toString()).toBe('to the client');
});

it('keeps the directions of a stream apart: the end of one is not that of the other', async () => {
  const { client, streams } = setUp();
  const stream = await client.open({});
  await stream.replied;
  streams[0]!.outbound.end('all');
  expect((await stream.ended).toString()).toBe('all');
  stream.write('still open');
  expect(String(await once(streams[0]!.inbound, 'data'))).toBe('still open');
});

it('knows streams that are one-way from the start', async () => {
  const { client, streams } = setUp();
  await (
    await client.open({}, 1)
  ).replied;
  await (
    await client.open({}, 2)
  ).replied;
  streams[0]!.inbound.resume();
  await until(() => streams[0]!.inbound.readableEnded);
  expect(streams[0]!.writable).toBe(true);
  expect(streams[1]!.writable).toBe(false);
});

it('lets the client know nothing of a stream that was reset, and the stream nothing of the client', async () => {
  const { client, streams } = setUp();
  const stream = await client.open({});
  await stream.replied;
  stream.reset();
  await until(() => streams[0]!.inbound.destroyed);
  expect(streams[0]!.outbound.destroyed).toBe(true);
  streams[0]!.outbound.write('too late');
  await nextRound();
  expect(stream.data).toHaveLength(0);
});

it('sends a ping every so often, so that a client that died is noticed though nobody reads it', async () => {
  const { clock, client } = setUp();
  await clock.advance(10_000);
  await until(() => client.pongs.length >= 2);
  expect(client.pongs).toEqual([2, 4]);
});

it('ends when nothing has come or gone for the idle time; pings are nothing', async () => {
  const { clock, client, session, ended } = setUp();
  await clock.advance(59_000);
  client.sendFrame(6, Buffer.from([0, 0, 0, 1]));
  await until(() => client.pongs.includes(1));
  expect(session.gone.aborted).toBe(false);
  await clock.advance(1_000);
  await ended;
  expect(session.gone.aborted).toBe(true);
});

it('gives the client time to read the last words, and no more', async () => {
  const { clock, client, session, streams, ended } = setUp();
  const stream = await client.open({});
  await stream.replied;
  streams[0]!.outbound.end('last words');
  await stream.ended;
  const closed = session.close();
  await until(() => client.goAway === 0);
  expect(session.gone.aborted).toBe(true);
  await clock.advance(5_000);
  await closed;
  await ended;
});

it('keeps nothing for streams that a client resets while it grants nothing', async () => {
  const { client, streams } = setUp();
  // Windows of no bytes.
  client.sendFrame(4, Buffer.from([0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0]));
  for (let at = 0; at < 3; at++) {
    const stream = await client.open({});
    await stream.replied;
    streams[at]!.outbound.write(Buffer.alloc(1000));
    expect(streams[at]!.outbound.writableNeedDrain).toBe(true);
    stream.reset();
    await until(() => streams[at]!.outbound.destroyed);
  }
  expect(streams.map(({ closed }) => closed)).toEqual([true, true, true]);
});

it.each([1, 3])(
  'sends a client that counts no more than the windows of %i streams before it grants any',
  async (count) => {
    const { client, streams } = setUp({ clientCounts: true });
    // As a client of ours does at once: room for all streams of the connection.
    client.sendFrame(9, Buffer.from([0, 0, 0, 0, 0, 0x10, 0, 0]));
    const opened: Awaited<ReturnType<typeof client.open>>[] = [];
    for (let at = 0; at < count; at++) opened.push(await client.open({}));
    await Promise.all(opened.map(({ replied }) => replied));
    for (const { outbound } of streams) outbound.write(Buffer.alloc(3 * INITIAL_WINDOW_BYTES));
    await until(() => opened.every(({ data }) => data.length >= INITIAL_WINDOW_BYTES));
    // A round trip behind all that was sent.
    client.sendFrame(6, Buffer.from([0, 0, 0, 1]));
    await until(() => client.pongs.includes(1));
    expect(opened.map(({ data }) => data.length)).toEqual(Array(count).fill(INITIAL_WINDOW_BYTES));
  },
);
