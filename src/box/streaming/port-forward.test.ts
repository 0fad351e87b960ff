import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { request } from 'node:http';
import { type Duplex, Transform } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { SpdyClient } from '#support/clients/spdy-client.js';
import { StreamingHarness } from '#support/harness/streaming-harness.js';

let lab: StreamingHarness;
let target: Server;
let port: number;
let onConnection: (socket: Socket) => void;

beforeEach(async () => {
  lab = await StreamingHarness.start();
  target = createServer({ allowHalfOpen: true }, (socket) => onConnection(socket));
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  ({ port } = target.address() as AddressInfo);
});

afterEach(async () => {
  await lab[Symbol.asyncDispose]();
  await new Promise((resolve) => target.close(resolve));
});

function grant(...ports: number[]): string {
  return lab.server.grant({ kind: 'portforward', sandboxId: 's', ports });
}

/** Opens the two streams of a connection, as client-go does. */
async function forward(client: SpdyClient, to: number, requestid: string) {
  const headers = { port: String(to), requestid };
  const error = await client.open({ ...headers, streamtype: 'error' });
  const data = await client.open({ ...headers, streamtype: 'data' });
  await Promise.all([error.replied, data.replied]);
  return { error, data };
}

/** Takes a WebSocket's place: the bytes of a SPDY connection inside of binary messages. */
async function openTunnel(url: string): Promise<{ tunnel: Duplex; protocol: string }> {
  const { socket, protocol } = await new Promise<{ socket: Duplex; protocol: string }>((resolve, reject) => {
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
      'Sec-WebSocket-Protocol': 'SPDY/3.1+portforward.k8s.io',
    };
    const call = request(url, { headers });
    call.once('error', reject);
    call.once('upgrade', (response, upgraded, head) => {
      if (head.length > 0) upgraded.unshift(head);
      resolve({ socket: upgraded, protocol: String(response.headers['sec-websocket-protocol']) });
    });
    call.end();
  });
  return { tunnel: wrapFrames(socket), protocol };
}

/** The frames of RFC 6455: masked with zeros from us, unmasked from the server, none longer than 64 KiB. */
function wrapFrames(socket: Duplex): Duplex {
  let rest = Buffer.alloc(0);
  const tunnel = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      for (let at = 0; at < chunk.length; at += 65_000) {
        const part = chunk.subarray(at, at + 65_000);
        const head = Buffer.from([0x82, 0xfe, part.length >> 8, part.length & 255, 0, 0, 0, 0]);
        socket.write(Buffer.concat([head, part]));
      }
      callback();
    },
    final(callback) {
      socket.end();
      callback();
    },
    destroy(error, callback) {
      socket.destroy();
      callback(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 2) {
      const short = rest[1]! & 0x7f;
      const head = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (rest.length < head) return;
      const length = head === 2 ? short : head === 4 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
      if (rest.length < head + length) return;
      if ((rest[0]! & 0x0f) === 2) tunnel.push(rest.subarray(head, head + length));
      rest = rest.subarray(head + length);
    }
  });
  socket.once('close', () => tunnel.destroy());
  return tunnel;
}

const transports: [string, () => Promise<SpdyClient>][] = [
  ['SPDY/3.1', () => SpdyClient.connect(grant(), 'portforward.k8s.io')],
  [
    'SPDY/3.1 inside of a WebSocket',
    async () => {
      const { tunnel, protocol } = await openTunnel(grant());
      return new SpdyClient(tunnel, protocol);
    },
  ],
];

describe.each(transports)('a port forwarded by %s', (_name, connect) => {
  it('is agreed upon', async () => {
    expect((await connect()).protocol).toMatch(/^(SPDY\/3\.1\+)?portforward\.k8s\.io$/);
  });

  it('carries both directions, each to its end', async () => {
    onConnection = (socket) => {
      let length = 0;
      socket.write('hello ');
      socket.on('data', (chunk: Buffer) => (length += chunk.length));
      socket.on('end', () => socket.end(`${length}`));
    };
    const { data, error } = await forward(await connect(), port, '0');
    for (let sent = 0; sent < 64; sent++) data.write(Buffer.alloc(50_000));
    data.end();
    expect((await data.ended).toString()).toBe('hello 3200000');
    expect(await error.ended).toHaveLength(0);
  });

  it('carries many connections at once, whichever order their streams come in', async () => {
    onConnection = (socket) => socket.pipe(socket);
    const client = await connect();
    const ids = Array.from({ length: 50 }, (_, at) => String(at));
    const errors = await Promise.all(
      ids.map((requestid) => client.open({ port: String(port), requestid, streamtype: 'error' })),
    );
    const echoes = await Promise.all(
      [...ids].reverse().map(async (requestid) => {
        const data = await client.open({ port: String(port), requestid, streamtype: 'data' });
        await data.replied;
        data.write(`echo ${requestid}`);
        data.end();
        return (await data.ended).toString();
      }),
    );
    expect(echoes.reverse()).toEqual(ids.map((id) => `echo ${id}`));
    expect((await Promise.all(errors.map((error) => error.ended))).every(({ length }) => length === 0)).toBe(
      true,
    );
  });

  it('at which nobody listens is said to be so, and the connection stays for others', async () => {
    onConnection = (socket) => socket.end('fine');
    const client = await connect();
    const nobody = createServer();
    await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve));
    const { port: closed } = nobody.address() as AddressInfo;
    await new Promise((resolve) => nobody.close(resolve));
    const { data, error } = await forward(client, closed, '0');
    expect((await error.ended).toString()).toContain(`error forwarding port ${closed}: connect ECONNREFUSED`);
    await expect(data.ended).rejects.toThrow('reset');
    const second = await forward(client, port, '1');
    expect((await second.data.ended).toString()).toBe('fine');
  });

  it('whose program breaks off is reset without a word, so that the client keeps its other ports', async () => {
    onConnection = (socket) => socket.once('data', () => socket.resetAndDestroy());
    const { data, error } = await forward(await connect(), port, '0');
    data.write('break off');
    await expect(data.ended).rejects.toThrow('reset');
    expect(await error.ended).toHaveLength(0);
  });

  it('lets go of the program when the client resets its stream, or leaves', async () => {
    const closed: string[] = [];
    onConnection = (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (text: Buffer) => socket.once('close', () => closed.push(text.toString())));
      socket.once('data', () => socket.write('ready'));
      socket.once('end', () => socket.end());
    };
    const client = await connect();
    const first = await forward(client, port, '0');
    const second = await forward(client, port, '1');
    for (const [{ data }, word] of [
      [first, 'one'],
      [second, 'two'],
    ] as const) {
      data.write(word);
      while (data.data.length === 0) await lab.clock.sleep(5);
    }
    first.data.reset();
    while (closed.length < 1) await lab.clock.sleep(5);
    expect(closed).toEqual(['one']);
    client.socket.destroy();
    await lab.idle();
    while (closed.length < 2) await lab.clock.sleep(5);
    expect(closed).toEqual(['one', 'two']);
  });

  it.each([{ port: '0' }, { port: '65536' }, { port: 'http' }, { port: '' }, { streamtype: 'stdin' }])(
    `refuses streams that make no sense: %o`,
    async (headers) => {
      const client = await connect();
      const stream = await client.open({ streamtype: 'data', requestid: '0', port: '80', ...headers });
      await expect(stream.replied).rejects.toThrow('reset with status 3');
    },
  );

  it('refuses a second stream of the same kind for a connection', async () => {
    const client = await connect();
    const headers = { port: String(port), requestid: '0', streamtype: 'error' };
    await (
      await client.open(headers)
    ).replied;
    await expect((await client.open(headers)).replied).rejects.toThrow('reset with status 3');
  });
});

describe('a forwarded connection of which one stream is missing', () => {
  it('is given up after a while', async () => {
    await using impatient = await StreamingHarness.start({ streamCreationTimeoutMs: 30 });
    const url = impatient.server.grant({ kind: 'portforward', sandboxId: 's', ports: [] });
    const client = await SpdyClient.connect(url, 'portforward.k8s.io');
    const error = await client.open({ port: '80', requestid: '0', streamtype: 'error' });
    const data = await client.open({ port: '80', requestid: '1', streamtype: 'data' });
    expect((await error.ended).toString()).toContain('timed out');
    await expect(data.ended).rejects.toThrow('reset');
  });
});

describe('ports forwarded by WebSocket channels', () => {
  it('carry both directions behind the number of each port', async () => {
    onConnection = (socket) => socket.once('data', (text: Buffer) => socket.end(`echo ${text.toString()}`));
    const socket = new WebSocket(grant(port, 1).replace('http', 'ws'), 'v4.channel.k8s.io');
    const seen = ['', '', '', ''];
    socket.on('message', (message: Buffer) => (seen[message[0]!]! += message.subarray(1).toString('latin1')));
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(Buffer.from('\0hello'));
    const code = await new Promise((resolve) => socket.once('close', resolve));
    const name = (each: number): string => Buffer.from([each & 255, each >> 8]).toString('latin1');
    expect(seen.slice(0, 3)).toEqual([`${name(port)}echo hello`, name(port), name(1)]);
    expect(seen[3]).toContain('error forwarding port 1: connect ECONNREFUSED');
    expect(code).toBe(1000);
  });

  it('have a digit each in the variant that is text, beyond the tenth too', async () => {
    onConnection = (socket) => socket.end('here');
    const ports = [...Array.from({ length: 6 }, () => 1), port];
    const socket = new WebSocket(grant(...ports).replace('http', 'ws'), 'v4.base64.channel.k8s.io');
    const seen = new Map<string, string>();
    socket.on('message', (message: Buffer) => {
      const text = message.toString();
      const channel = text.slice(0, 1);
      const data = Buffer.from(text.slice(1), 'base64').toString('latin1');
      seen.set(channel, (seen.get(channel) ?? '') + data);
    });
    await new Promise((resolve) => socket.once('close', resolve));
    // '0' and twelve more.
    expect(seen.get('<')?.slice(2)).toBe('here');
    expect([...seen.keys()].sort().join('')).toBe('0123456789:;<=');
  });

  it.each([
    ['v4.channel.k8s.io', 127],
    ['v4.base64.channel.k8s.io', 40],
  ])('are refused when there are more than channels: %s', async (protocol, most) => {
    const answerTo = (count: number): Promise<number> =>
      new Promise((resolve) => {
        const url = grant(...Array.from({ length: count }, () => 1)).replace('http', 'ws');
        const socket = new WebSocket(url, protocol);
        socket.once('unexpected-response', (request_, response) => {
          request_.destroy();
          resolve(response.statusCode ?? 0);
        });
        socket.once('close', (code) => resolve(code));
        socket.on('error', () => undefined);
      });
    expect(await answerTo(most + 1)).toBe(400);
    expect(await answerTo(most)).toBe(1000);
  });
});
