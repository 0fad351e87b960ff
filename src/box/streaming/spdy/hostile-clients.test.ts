import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { SpdyClient } from '#support/clients/spdy-client.js';
import { execRequest, StreamingHarness } from '#support/harness/streaming-harness.js';
import { MAX_STREAMS } from './spdy-stream-table.js';

let lab: StreamingHarness;
const sockets: Socket[] = [];

beforeEach(async () => {
  lab = await StreamingHarness.start({ mostSessions: 3 });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await lab[Symbol.asyncDispose]();
});

const V4 = 'v4.channel.k8s.io';
const V5 = 'v5.channel.k8s.io';
const BUSY = execRequest('exec sleep 1000', { stdin: true });

/** The status that a request for an upgrade is answered with. */
async function ask(url: string, headers: Record<string, string | string[]> = {}): Promise<number> {
  const call = request(url, { headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', ...headers } });
  call.end();
  const event = (await Promise.race([once(call, 'response'), once(call, 'upgrade')])) as [
    IncomingMessage,
    Socket?,
  ];
  event[1]?.destroy();
  event[0].resume();
  return event[0].statusCode ?? 0;
}

function openRaw({ server } = lab): Promise<Socket> {
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)));
}

async function openWebSocket(): Promise<WebSocket> {
  const socket = new WebSocket(lab.server.grant(BUSY).replace('http', 'ws'), V5);
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return socket;
}

function closeOf(socket: WebSocket): Promise<number> {
  return new Promise((resolve) => socket.once('close', (code) => resolve(code)));
}

/** The kind of timer in /proc/net/tcp of a connection that is probed when it is silent, as `timer_active` of Documentation/networking/proc_net_tcp has it. */
const KEEP_ALIVE_TIMER = '02';

/** The timers that run for the established connections of a server of 127.0.0.1. */
async function timersOf(port: number): Promise<string[]> {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  return rows.filter((row) => row[1] === local && row[3] === '01').map((row) => row[5]!.slice(0, 2));
}

/** That the server is there for others: an exec that works. */
async function expectService(): Promise<void> {
  expect(await lab.serveOther()).toBe(1000);
}

describe('a request of a page in a browser', () => {
  it.each(['SPDY/3.1', 'websocket'])('is refused (%s), and uses no grant up', async (upgrade) => {
    const grant = lab.server.grant(execRequest('true'));
    const as = (headers: Record<string, string>): Promise<number> =>
      ask(grant, { Upgrade: upgrade, 'X-Stream-Protocol-Version': V4, ...headers });
    expect(await as({ Origin: 'http://evil.example' })).toBe(403);
    expect(await as({ Origin: 'null' })).toBe(403);
    expect(await as({ Host: `evil.example:${new URL(grant).port}` })).toBe(403);
    expect(await ask(grant, { 'X-Stream-Protocol-Version': V4, Origin: lab.server.baseUrl })).toBe(101);
  });
});

describe('a request without a grant', () => {
  it.each([
    '',
    '/',
    '/exec',
    '/exec/',
    '/exec/x',
    '/exec/AAAAAAAAAAAAAAAAAAAAAA',
    '/exec/../exec/x',
    '/%00',
    '//',
  ])('is not found: %o', async (path) => {
    expect(await ask(lab.server.baseUrl + path)).toBe(404);
  });

  it('is not found when its token was used, whatever for', async () => {
    const used = lab.server.grant(execRequest('true'));
    expect(await ask(used, { 'X-Stream-Protocol-Version': V4 })).toBe(101);
    expect(await ask(used, { 'X-Stream-Protocol-Version': V4 })).toBe(404);
    const elsewhere = lab.server.grant(execRequest('true'));
    expect(await ask(elsewhere.replace('/exec/', '/attach/'))).toBe(404);
    expect(await ask(elsewhere)).toBe(404);
    const longer = lab.server.grant(execRequest('true'));
    expect(await ask(`${longer}/more`)).toBe(404);
  });

  it('is told what is missing when it has a grant and asks for nothing that there is', async () => {
    expect(await ask(lab.server.grant(BUSY))).toBe(400);
    expect(await ask(lab.server.grant(BUSY), { Upgrade: 'h2c' })).toBe(400);
    expect(await ask(lab.server.grant(BUSY), { 'X-Stream-Protocol-Version': 'v9' })).toBe(403);
    expect((await fetch(lab.server.grant(BUSY))).status).toBe(400);
    const webSocket = { Upgrade: 'websocket', 'Sec-WebSocket-Protocol': 'v9' };
    expect(await ask(lab.server.grant(BUSY), webSocket)).toBe(403);
    expect(await ask(lab.server.grant(BUSY), { Upgrade: 'websocket' })).toBe(400);
  });

  it('is cut off when its head comes too slowly', async () => {
    // A server of its own: to one that waits so shortly anybody may be too slow on a busy machine.
    await using impatient = await StreamingHarness.start({ requestHeadTimeoutMs: 200 });
    const socket = await openRaw(impatient);
    socket.write('GET /exec/x HTTP/1.1\r\nX-Slow: ');
    socket.resume();
    await once(socket, 'close');
    while ((await impatient.serveOther().catch(() => 0)) !== 1000) await impatient.clock.sleep(5);
  });

  it('is cut off when its head is too long or no HTTP', async () => {
    for (const text of [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`, '\0\0\0\n']) {
      const socket = await openRaw();
      socket.write(text);
      socket.resume();
      await once(socket, 'close');
    }
    await expectService();
  });
});

describe('sessions', () => {
  it('are refused when too many are open', async () => {
    const open = await Promise.all([openWebSocket(), openWebSocket(), openWebSocket()]);
    expect(await ask(lab.server.grant(BUSY), { 'X-Stream-Protocol-Version': V4 })).toBe(503);
    open[0].terminate();
    await lab.untilSessions(2);
    await expectService();
    for (const socket of open) socket.terminate();
  });

  it('that are idle are ended, with their command', async () => {
    await using impatient = await StreamingHarness.start({ idleTimeoutMs: 50 });
    const client = await SpdyClient.connect(impatient.server.grant(execRequest('true')), V4);
    await client.closed;
    const socket = new WebSocket(impatient.server.grant(BUSY).replace('http', 'ws'), V5);
    expect(await closeOf(socket)).toBe(1006);
    await impatient.idle();
  });

  it('are all ended with the server, and their commands with them', async () => {
    const request_ = execRequest('echo $$; exec sleep 1000', { stdin: true });
    const client = await SpdyClient.connect(lab.server.grant(request_), V4);
    const streams = ['error', 'stdin', 'stdout', 'stderr'].map((streamtype) => client.open({ streamtype }));
    const stdout = await streams[2]!;
    while (!stdout.data.includes('\n')) await lab.clock.sleep(5);
    await lab.server.close();
    await client.closed;
    expect(() => process.kill(Number(stdout.data.toString()), 0)).toThrow();
  });
});

describe('a client that does not read', () => {
  it('holds its command up, and nobody else', async () => {
    const request_ = execRequest('head -c 300000000 /dev/zero; sleep 1000');
    const socket = new WebSocket(lab.server.grant(request_).replace('http', 'ws'), V5);
    await once(socket, 'open');
    socket.pause();
    const client = await SpdyClient.connect(lab.server.grant(request_), V4);
    for (const streamtype of ['error', 'stdout', 'stderr']) await client.open({ streamtype });
    client.socket.pause();
    const before = process.memoryUsage().rss;
    await lab.untilSteady(() => client.socket.readableLength);
    await lab.untilSessions(2);
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
    await expectService();
    socket.terminate();
    client.socket.destroy();
  });

  it('and asks for answers all the time is not read any more itself: SPDY', async () => {
    const client = await SpdyClient.connect(lab.server.grant(BUSY), V4);
    client.socket.pause();
    const pings = Buffer.concat(
      Array.from({ length: 5_000 }, () => Buffer.from('80030006000000040000000b', 'hex')),
    );
    // 60 MB of pings are more than all buffers on the way hold, if nobody reads them.
    for (let sent = 0; sent < 1_000; sent++) client.socket.write(pings);
    await lab.untilSteady(() => client.socket.writableLength);
    expect(client.socket.writableLength).toBeGreaterThan(20e6);
    client.socket.destroy();
    await expectService();
  });

  it('and asks for answers all the time gets few of them: WebSocket', async () => {
    const socket = await openWebSocket();
    let pongs = 0;
    socket.on('pong', () => pongs++);
    socket.pause();
    const sent = 200_000;
    for (let at = 1; at < sent; at++) {
      // Taken by the connection, which is read although nobody reads the answers.
      if (at % 1_000 === 0) await new Promise((taken) => socket.ping(Buffer.alloc(125), undefined, taken));
      else socket.ping(Buffer.alloc(125));
    }
    // Answers to all would be more than all buffers on the way hold.
    socket.resume();
    await lab.untilSteady(() => pongs);
    expect(pongs).toBeGreaterThan(0);
    expect(pongs).toBeLessThan(sent / 2);
    socket.terminate();
  });
});

describe('a client that sends what nobody takes', () => {
  it('is held up, not kept in memory: WebSocket', async () => {
    const socket = await openWebSocket();
    for (let sent = 0; sent < 60; sent++) socket.send(Buffer.alloc(1_000_000));
    await lab.untilSteady(() => socket.bufferedAmount);
    expect(socket.bufferedAmount).toBeGreaterThan(30e6);
    socket.terminate();
  });

  it('is held up, not kept in memory: SPDY', async () => {
    const client = await SpdyClient.connect(lab.server.grant(BUSY), V4);
    for (const streamtype of ['error', 'stdout', 'stderr']) await client.open({ streamtype });
    const stdin = await client.open({ streamtype: 'stdin' });
    for (let sent = 0; sent < 60; sent++) stdin.write(Buffer.alloc(1_000_000));
    await lab.untilSteady(() => client.socket.writableLength);
    expect(client.socket.writableLength).toBeGreaterThan(30e6);
    client.socket.destroy();
  });

  it('is ended when it cuts a message into too many parts', async () => {
    const socket = await openWebSocket();
    for (let at = 0; at < 20_000; at++) socket.send(Buffer.of(0), { fin: false });
    expect(await closeOf(socket)).toBe(1008);
    await lab.idle();
  });

  it('is ended when a single message is too large', async () => {
    const socket = await openWebSocket();
    socket.send(Buffer.alloc(5_000_000));
    expect(await closeOf(socket)).toBe(1009);
    await lab.idle();
  });

  it('is ended when a close names no channel', async () => {
    const socket = await openWebSocket();
    socket.send(Buffer.of(255));
    expect(await closeOf(socket)).toBe(1002);
  });

  it('may name channels that there are not', async () => {
    const socket = new WebSocket(
      lab.server.grant(execRequest('cat', { stdin: true })).replace('http', 'ws'),
      V5,
    );
    await once(socket, 'open');
    for (const bytes of [[], [1, 2], [9, 9], [255, 77], [254]]) socket.send(Buffer.from(bytes));
    socket.send(Buffer.of(255, 0));
    expect(await closeOf(socket)).toBe(1000);
  });
});

describe('a client of SPDY', () => {
  function forward(): Promise<SpdyClient> {
    const url = lab.server.grant({ kind: 'portforward', sandboxId: 's', ports: [] });
    return SpdyClient.connect(url, 'portforward.k8s.io');
  }

  it('gets no more streams than there may be', async () => {
    const client = await forward();
    const open = (requestid: number) =>
      client.open({ port: '80', requestid: String(requestid), streamtype: 'error' });
    const streams = await Promise.all(Array.from({ length: MAX_STREAMS + 20 }, (_, at) => open(at)));
    const outcomes = await Promise.allSettled(streams.map((stream) => stream.replied));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(MAX_STREAMS);
    streams[0]!.reset();
    await (
      await open(-1)
    ).replied;
    client.socket.destroy();
  });

  it('that opens and resets streams over and over leaves nothing behind', async () => {
    const client = await forward();
    for (let at = 0; at < 2_000; at++) {
      (await client.open({ port: '80', requestid: String(at), streamtype: 'error' })).reset();
    }
    await (
      await client.open({ port: '80', requestid: 'last', streamtype: 'error' })
    ).replied;
    client.socket.destroy();
  });

  it.each([
    ['a header bomb', (client: SpdyClient) => client.compress({ x: 'y'.repeat(5_000_000) })],
    ['headers that are not compressed', () => Promise.resolve(Buffer.from('nothing of the kind'))],
    ['the same header twice', (client: SpdyClient) => client.compress({ Port: '1', port: '2' })],
  ])('is shown the door over %s', async (_what, makeBlock) => {
    const client = await forward();
    client.sendFrame(
      1,
      Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), await makeBlock(client)]),
    );
    while (client.goAway === undefined) await lab.clock.sleep(5);
    expect(client.goAway).toBe(1);
    client.socket.end();
    await client.closed;
    await lab.idle();
  });

  it('whose streams count backwards, or are even, or do not exist, hears of it and goes on', async () => {
    const client = await forward();
    const first = await client.open({ port: '80', requestid: '1', streamtype: 'error' });
    await first.replied;
    for (const id of [1, 2]) {
      const block = await client.compress({ port: '80', requestid: 'x', streamtype: 'error' });
      client.sendFrame(1, Buffer.concat([Buffer.from([0, 0, 0, id, 0, 0, 0, 0, 0, 0]), block]));
    }
    await expect(first.ended).rejects.toThrow('reset with status 1');
    client.sendData(99, Buffer.from('for nobody'), true);
    client.sendFrame(3, Buffer.from([0, 0, 0, 99, 0, 0, 0, 5]));
    client.sendFrame(77, Buffer.from('unknown'));
    await (
      await client.open({ port: '80', requestid: '2', streamtype: 'error' })
    ).replied;
    client.socket.destroy();
  });

  it('that sends anything at all ends no more than its own connection', async () => {
    const frame = fc
      .tuple(fc.constantFrom(1, 2, 3, 4, 6, 7, 8, 9, 11), fc.nat(3), fc.uint8Array({ maxLength: 40 }))
      .map(([type, flags, payload]) => {
        const head = Buffer.from([0x80, 3, 0, type, flags, 0, 0, payload.length]);
        return Buffer.concat([head, payload]);
      });
    const data = fc
      .tuple(fc.constantFrom(0, 1, 3, 5), fc.nat(1), fc.uint8Array({ maxLength: 40 }))
      .map(([id, flags, payload]) =>
        Buffer.concat([Buffer.from([0, 0, 0, id, flags, 0, 0, payload.length]), payload]),
      );
    const noise = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(frame, data, noise), { maxLength: 12 }), async (pieces) => {
        const client = await SpdyClient.connect(lab.server.grant(execRequest('cat', { stdin: true })), V4);
        for (const streamtype of ['error', 'stdin', 'stdout', 'stderr']) await client.open({ streamtype });
        for (const piece of pieces) client.socket.write(piece);
        client.socket.end();
        await client.closed;
        await lab.idle();
      }),
      { numRuns: 60 },
    );
    await expectService();
  });
});

describe('a client of WebSocket', () => {
  it('whose machine is gone without a word is noticed: the kernel probes each connection', async () => {
    await openWebSocket();
    const port = Number(new URL(lab.server.baseUrl).port);
    // What was sent last may not be acknowledged yet.
    await expect.poll(() => timersOf(port), { timeout: 10_000 }).toEqual([KEEP_ALIVE_TIMER]);
  });

  it('that sends anything at all ends no more than its own connection', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }), async (pieces) => {
        const socket = await openRaw();
        const { pathname } = new URL(lab.server.grant(execRequest('cat', { stdin: true })));
        const head = [`GET ${pathname} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'];
        head.push('Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`);
        socket.write(`${head.join('\r\n')}\r\n\r\n`);
        socket.resume();
        for (const piece of pieces) socket.write(piece);
        socket.end();
        await once(socket, 'close');
        await lab.idle();
      }),
      { numRuns: 60 },
    );
    await expectService();
  });
});
