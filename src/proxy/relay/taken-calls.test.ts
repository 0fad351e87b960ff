import { describe, expect, it } from 'vitest';
import { RAW_PREFACE, rawFrame, type RawHttp2Peer, uint32 } from '#support/clients/raw-http2-peer.js';
import { RelayHarness, treatAll } from '#support/harness/relay-harness.js';
import { untilTrue } from '#support/until-true.js';
import { type CallControl, type CallHandler, type CallHeaders } from './call-handler.js';
import { GrpcMessage } from './grpc-message.js';
import { encodeStateless } from './hpack/encode-stateless.js';
import { HpackDecoder } from './hpack/hpack-decoder.js';

const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const CANCEL = 8;
const REQUEST = encodeStateless([[':path', '/runtime.v1.RuntimeService/Version']]);
const MESSAGE = Buffer.from('\0\0\0\0\x03abc');
/** `x-a: one` into the table; then the same by its index, the newest of the table. */
const ADDS_FIELD = Buffer.from('4003782d61036f6e65', 'hex');
const NEWEST_FIELD = Buffer.from('be', 'hex');

/** Starts a call with its message, and waits until the server has heard of it. */
async function call(
  { client, server }: { client: RawHttp2Peer; server: RawHttp2Peer },
  streamId: number,
): Promise<void> {
  client.send(
    rawFrame('HEADERS', streamId, REQUEST, END_HEADERS),
    rawFrame('DATA', streamId, MESSAGE, END_STREAM),
  );
  await untilTrue(() => server.of('HEADERS', streamId).length === 1);
}

/** What the header blocks that came say, in the order in which they came. */
function readHeaders(peer: RawHttp2Peer): string[] {
  const decoder = new HpackDecoder();
  return peer
    .of('HEADERS')
    .map(({ streamId, payload }) => [
      streamId,
      ...decoder.decode(payload).fields.map((f) => `${f.name}=${f.value}`),
    ])
    .map((parts) => parts.join(' '));
}

async function connected(harness: RelayHarness): Promise<{ client: RawHttp2Peer; server: RawHttp2Peer }> {
  const both = await harness.connect();
  both.client.send(RAW_PREFACE, rawFrame('SETTINGS', 0));
  return both;
}

describe('a call that is taken', () => {
  it('goes on frame by frame when its handler passes on what it gets', async () => {
    await using harness = await RelayHarness.start(treatAll('take'));
    const both = await connected(harness);
    await call(both, 1);
    await untilTrue(() => both.server.of('DATA', 1).length === 1);
    expect(both.server.of('DATA', 1)[0]).toMatchObject({ payload: MESSAGE, flags: END_STREAM });
    both.server.send(
      rawFrame('HEADERS', 1, ADDS_FIELD, END_HEADERS),
      // A padded frame: three bytes of padding behind a message of one.
      rawFrame('DATA', 1, Buffer.from([3, 0, 0, 0, 0, 1, 65, 0, 0, 0]), 0x8),
      rawFrame('HEADERS', 1, NEWEST_FIELD, END_HEADERS | END_STREAM),
    );
    await untilTrue(() => both.client.of('HEADERS', 1).length === 2);
    // In their places, so as they came.
    expect(both.client.of('HEADERS').map(({ payload }) => payload)).toEqual([ADDS_FIELD, NEWEST_FIELD]);
    expect(Buffer.concat(both.client.of('DATA').map(({ payload }) => payload))).toEqual(
      Buffer.from([0, 0, 0, 0, 1, 65]),
    );
  });

  it('may end with its headers, without a message', async () => {
    await using harness = await RelayHarness.start(treatAll('take'));
    const both = await connected(harness);
    both.client.send(rawFrame('HEADERS', 1, REQUEST, END_HEADERS | END_STREAM));
    await untilTrue(() => both.server.of('DATA', 1).length === 1);
    expect(both.server.of('HEADERS', 1)[0]!.flags).toBe(END_HEADERS);
    expect(both.server.of('DATA', 1)[0]).toMatchObject({ flags: END_STREAM, payload: Buffer.alloc(0) });
  });

  it('that fails gets a status from the relay; the server saw headers and an end, no message', async () => {
    await using harness = await RelayHarness.start(() => ({
      request: 'take',
      response: 'take',
      createHandler: (control) => ({
        ...IGNORE,
        onMessage: (_side, message) => {
          control.fail(14, 'gone: 100 % «weg»');
          // Too late for anybody.
          control.request.send(message);
          control.request.end();
          control.response.sendHeaders([[':status', '500']], true);
        },
      }),
    }));
    const both = await connected(harness);
    await call(both, 1);
    await untilTrue(() => both.server.of('DATA', 1).length === 1);
    await untilTrue(() => both.client.of('HEADERS', 1).length === 1);
    expect(both.server.of('DATA', 1)).toMatchObject([{ payload: Buffer.alloc(0), flags: END_STREAM }]);
    expect(both.server.of('RST_STREAM')).toEqual([]);
    expect(readHeaders(both.client)).toEqual([
      '1 :status=200 content-type=application/grpc grpc-status=14 ' +
        'grpc-message=gone: 100 %25 %C2%ABweg%C2%BB',
    ]);
    expect(both.client.of('HEADERS', 1)[0]!.flags).toBe(END_HEADERS | END_STREAM);
    // What the server still says of it is for nobody; the next call works.
    both.server.send(rawFrame('HEADERS', 1, ADDS_FIELD, END_HEADERS | END_STREAM));
    both.client.send(rawFrame('PING', 0, 'pingpong'));
    await untilTrue(() => both.server.of('PING').length === 1);
    expect(both.client.of('HEADERS')).toHaveLength(1);
  });

  it('that fails after its message went on is reset towards the server', async () => {
    await using harness = await RelayHarness.start(() => ({
      request: 'pass',
      response: 'take',
      createHandler: (control) => ({ ...IGNORE, onHeaders: () => control.fail(14, 'lost') }),
    }));
    const both = await connected(harness);
    await call(both, 1);
    both.server.send(rawFrame('HEADERS', 1, ADDS_FIELD, END_HEADERS));
    await untilTrue(() => both.server.of('RST_STREAM', 1).length === 1);
    expect(both.server.of('RST_STREAM', 1)[0]!.payload).toEqual(uint32(CANCEL));
    await untilTrue(() => both.client.of('HEADERS', 1).length === 1);
    expect(readHeaders(both.client)[0]).toContain('grpc-status=14');
  });

  it('that fails while the client still speaks tells it to stop, and gives it back the room it used', async () => {
    await using harness = await RelayHarness.start(() => ({
      request: 'take',
      response: 'take',
      createHandler: (control) => ({ ...IGNORE, onMessage: () => control.fail(8, 'enough') }),
    }));
    const both = await connected(harness);
    both.client.send(rawFrame('HEADERS', 1, REQUEST, END_HEADERS), rawFrame('DATA', 1, MESSAGE));
    await untilTrue(() => both.client.of('RST_STREAM', 1).length === 1);
    expect(both.client.of('RST_STREAM', 1)[0]!.payload).toEqual(uint32(0));
    both.client.send(rawFrame('DATA', 1, Buffer.alloc(1000)));
    const roomGiven = (): number =>
      both.client.of('WINDOW_UPDATE', 0).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    await untilTrue(() => roomGiven() === MESSAGE.length + 1000);
    expect(both.server.of('DATA', 1)).toMatchObject([{ payload: Buffer.alloc(0), flags: END_STREAM }]);
  });

  it('is given up on both ends when its client gives it up', async () => {
    const log: string[] = [];
    await using harness = await RelayHarness.start(
      treatAll('take', {
        onMessage: () => undefined,
        onEnd: () => undefined,
        onReset: (by, code) => void log.push(`${by} ${code}`),
        onClosed: () => void log.push('closed'),
      }),
    );
    const both = await connected(harness);
    await call(both, 1);
    both.client.send(rawFrame('RST_STREAM', 1, uint32(CANCEL)));
    await untilTrue(() => both.server.of('RST_STREAM', 1).length === 1);
    expect(log).toEqual(['client 8', 'closed']);
    // An answer that was on its way goes on: the client knows what it has given up.
    both.server.send(rawFrame('HEADERS', 1, ADDS_FIELD, END_HEADERS | END_STREAM));
    await untilTrue(() => both.client.of('HEADERS', 1).length === 1);
  });

  it('is closed for its handler when the connection breaks', async () => {
    const log: string[] = [];
    let control: CallControl | undefined;
    await using harness = await RelayHarness.start(() => ({
      request: 'take',
      response: 'take',
      createHandler: (begun) => {
        control = begun;
        return { ...IGNORE, onClosed: () => void log.push('closed') };
      },
    }));
    const both = await connected(harness);
    await call(both, 1);
    control!.breakConnection();
    await untilTrue(() => both.client.closed || both.client.ended);
    await untilTrue(() => both.server.closed || both.server.ended);
    await untilTrue(() => log.length === 1);
  });
});

const IGNORE: CallHandler = {
  onHeaders: () => undefined,
  onMessage: () => undefined,
  onEnd: () => undefined,
  onReset: () => undefined,
  onClosed: () => undefined,
};

describe('header blocks on a connection', () => {
  it('are written anew from the first one on that was held back, so that a client reads them all the same', async () => {
    const held: { control: CallControl; headers: CallHeaders }[] = [];
    await using harness = await RelayHarness.start(() => ({
      request: 'pass',
      response: 'take',
      createHandler: (control) => ({
        ...IGNORE,
        onHeaders: (_side, headers) => {
          if (held.length === 0) held.push({ control, headers });
          else control.response.forwardHeaders(headers);
        },
      }),
    }));
    const both = await connected(harness);
    for (const id of [1, 3]) await call(both, id);
    // The first goes into the server's table and stays here; the second relies on it.
    both.server.send(rawFrame('HEADERS', 1, ADDS_FIELD, END_HEADERS | END_STREAM));
    both.server.send(rawFrame('HEADERS', 3, NEWEST_FIELD, END_HEADERS | END_STREAM));
    await untilTrue(() => both.client.of('HEADERS').length === 1);
    const [{ control, headers }] = held as [(typeof held)[0]];
    control.response.forwardHeaders(headers);
    await untilTrue(() => both.client.of('HEADERS').length === 2);
    expect(readHeaders(both.client)).toEqual(['3 x-a=one', '1 x-a=one']);
  });

  it('stay as they are when the one that was held back left the table alone', async () => {
    const held: (() => void)[] = [];
    await using harness = await RelayHarness.start(() => ({
      request: 'pass',
      response: 'take',
      createHandler: (control) => ({
        ...IGNORE,
        onHeaders: (_side, headers) => void held.push(() => control.response.forwardHeaders(headers)),
      }),
    }));
    const both = await connected(harness);
    await call(both, 1);
    both.server.send(rawFrame('HEADERS', 1, encodeStateless([[':status', '200']]), END_HEADERS | END_STREAM));
    await untilTrue(() => held.length === 1);
    // A stream without a handler.
    both.server.send(rawFrame('HEADERS', 9, ADDS_FIELD, END_HEADERS));
    await untilTrue(() => both.client.of('HEADERS', 9).length === 1);
    expect(both.client.of('HEADERS', 9)[0]!.payload).toEqual(ADDS_FIELD);
    held[0]!();
    await untilTrue(() => both.client.of('HEADERS', 1).length === 1);
    expect(readHeaders(both.client)).toEqual(['9 x-a=one', '1 :status=200']);
  });
});

describe('an answer that is let go after all', () => {
  it('gets the room that its client gave meanwhile, and nothing of it is looked at', async () => {
    let control: CallControl | undefined;
    await using harness = await RelayHarness.start(() => ({
      request: 'pass',
      response: 'take',
      createHandler: (begun) => {
        control = begun;
        return IGNORE;
      },
    }));
    const both = await connected(harness);
    await call(both, 1);
    both.client.send(rawFrame('WINDOW_UPDATE', 1, uint32(5000)), rawFrame('PING', 0, 'pingpong'));
    await untilTrue(() => both.server.of('PING').length === 1);
    expect(both.server.of('WINDOW_UPDATE', 1)).toEqual([]);
    expect(control!.releaseResponse('pass')).toBe(true);
    await untilTrue(() => both.server.of('WINDOW_UPDATE', 1).length === 1);
    expect(both.server.of('WINDOW_UPDATE', 1)[0]!.payload).toEqual(uint32(5000));
    both.server.send(rawFrame('HEADERS', 1, ADDS_FIELD, END_HEADERS));
    await untilTrue(() => both.client.of('HEADERS', 1).length === 1);
    expect(control!.releaseResponse('tap')).toBe(false);
  });
});

describe('messages of a call', () => {
  it('come whole, whatever frames they are cut into', async () => {
    const seen: string[] = [];
    await using harness = await RelayHarness.start(
      treatAll('tap', { onMessage: (side, { payload }) => void seen.push(`${side} ${payload.toString()}`) }),
    );
    const both = await connected(harness);
    await call(both, 1);
    const bytes = Buffer.concat(
      ['one', '', 'three'].flatMap((text) => GrpcMessage.of(Buffer.from(text)).pieces),
    );
    for (const byte of bytes) both.server.send(rawFrame('DATA', 1, Buffer.from([byte])));
    await untilTrue(() => seen.length === 4);
    expect(seen).toEqual(['request abc', 'response one', 'response ', 'response three']);
  });
});
