import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FLOW_CONTROL_HEADER, SHARED_STREAMS } from '#base/wire/spdy/spdy-frame.js';
import { FakeClock } from '#testing/fake-clock.js';
import { StreamingHarness } from '#support/harness/streaming-harness.js';
import { type Upgrade } from '../api/agent-client.js';
import { forwardConnection } from './forward-connection.js';
import { ForwardSessions, type ForwardSessionsOptions } from './forward-sessions.js';

const MUCH = Buffer.alloc(1_000_000, 'much');

let lab: StreamingHarness;
let program: Server;
let programPort: number;
let entrance: Server;
let onConnection: (socket: Socket) => void;
/** What the sessions were asked for with. */
let asked: Record<string, string>[];
let transports: Duplex[];
let refusal: { refused: string; code: number } | undefined;
let countsWindows: boolean;
let failures: unknown[];
let clock: FakeClock;
let sessions: ForwardSessions;
const open = new Set<Socket>();

beforeEach(async () => {
  lab = await StreamingHarness.start();
  asked = [];
  transports = [];
  failures = [];
  refusal = undefined;
  countsWindows = true;
  program = await listen((socket) => onConnection(socket));
  programPort = portOf(program);
  clock = new FakeClock();
  const client: ForwardSessionsOptions['client'] = {
    upgrade: async (_method, _path, { headers = {} }) => {
      asked.push(headers);
      return refusal ?? upgrade(headers);
    },
  };
  sessions = new ForwardSessions({ client, path: '/p/portforward', ports: [programPort], clock });
  entrance = await listen((socket) => {
    forwardConnection(sessions, socket, programPort).catch((error: unknown) => failures.push(error));
  });
});

afterEach(async () => {
  sessions[Symbol.dispose]();
  for (const socket of open) socket.destroy();
  for (const server of [program, entrance]) server.close();
  await lab[Symbol.asyncDispose]();
});

async function listen(serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** What the agent does: the runtime's connection, under the same headers. */
function upgrade(headers: Readonly<Record<string, string>>): Promise<Upgrade> {
  const { [FLOW_CONTROL_HEADER]: flowControl = '', ...others } = headers;
  const url = lab.server.grant({ kind: 'portforward', sandboxId: 's', ports: [] });
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method: 'POST',
      headers: countsWindows ? { ...others, [FLOW_CONTROL_HEADER]: flowControl } : others,
    });
    call.once('error', reject);
    call.once('upgrade', (answer: IncomingMessage, socket, head) => {
      // The first frames may have come with the answer.
      if (head.length > 0) socket.unshift(head);
      transports.push(socket);
      resolve({ socket, answer });
    });
    call.end();
  });
}

/** A connection through the command. */
function enter(): Socket {
  const socket = connect({ port: portOf(entrance), host: '127.0.0.1' });
  open.add(socket);
  socket.on('error', () => undefined);
  return socket;
}

/** Resolves when the other side has closed it, whatever came before. */
async function untilClosed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

/** Sends a piece, and resolves with as many bytes that come back. */
async function echo(socket: Socket, piece: Buffer | string): Promise<string> {
  const bytes = Buffer.from(piece);
  const chunks: Buffer[] = [];
  let length = 0;
  const done = new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= bytes.length) resolve();
    });
    socket.once('close', () => reject(new Error('closed before an answer')));
  });
  socket.write(bytes);
  await done;
  socket.removeAllListeners('data');
  return Buffer.concat(chunks).toString();
}

const isEcho = (socket: Socket): void => void socket.pipe(socket);

it('carries much both ways, each to its own end', async () => {
  onConnection = (socket) => {
    let length = 0;
    socket.on('data', (chunk: Buffer) => (length += chunk.length));
    socket.on('end', () => {
      socket.write(MUCH);
      socket.end(String(length));
    });
  };
  const socket = enter();
  socket.write(MUCH);
  socket.end('more');
  expect((await buffer(socket)).toString()).toBe(`${MUCH.toString()}${MUCH.length + 4}`);
});

it('says what went wrong in the pod, and goes on with a new session', async () => {
  onConnection = isEcho;
  program.close();
  await untilClosed(enter());
  expect(failures.map(String)).toEqual([expect.stringContaining('ECONNREFUSED')]);
  program.listen(programPort, '127.0.0.1');
  await once(program, 'listening');
  expect(await echo(enter(), 'there')).toBe('there');
  expect(asked).toHaveLength(2);
});

describe('a runtime that keeps to windows', () => {
  it('has many connections on a session, and no more than fit', async () => {
    onConnection = isEcho;
    const sockets = Array.from({ length: 2 * SHARED_STREAMS + 1 }, enter);
    const answers = sockets.map(async (socket, at) => echo(socket, `connection ${at}`));
    expect(await Promise.all(answers)).toEqual(sockets.map((_, at) => `connection ${at}`));
    expect(asked).toHaveLength(3);
  });

  it('has every connection go on beside those that nobody reads', async () => {
    let connected = 0;
    onConnection = (socket) => {
      connected++;
      if (connected < SHARED_STREAMS) for (let left = 4; left > 0; left--) socket.write(MUCH);
      else isEcho(socket);
    };
    for (let at = 1; at < SHARED_STREAMS; at++) {
      enter();
      await expect.poll(() => connected).toBe(at);
    }
    const socket = enter();
    expect(await echo(socket, MUCH)).toBe(MUCH.toString());
    expect(asked).toHaveLength(1);
  });

  it('has every connection go on beside those whose program reads nothing', async () => {
    let connected = 0;
    onConnection = (socket) => {
      connected++;
      if (connected < SHARED_STREAMS) socket.pause();
      else isEcho(socket);
    };
    for (let at = 1; at < SHARED_STREAMS; at++) {
      const slow = enter();
      for (let left = 4; left > 0; left--) slow.write(MUCH);
      await expect.poll(() => connected).toBe(at);
    }
    const socket = enter();
    expect(await echo(socket, MUCH)).toBe(MUCH.toString());
    expect(asked).toHaveLength(1);
  });

  it('has the window of what was left unread again', async () => {
    onConnection = (socket) => socket.end(MUCH);
    for (let round = 0; round < 2 * SHARED_STREAMS; round++) {
      const socket = enter();
      await once(socket, 'readable');
      socket.destroy();
    }
    const socket = enter();
    expect(await buffer(socket)).toHaveLength(MUCH.length);
    expect(asked).toHaveLength(1);
  });

  it('keeps a session for the next connection a while, and not for ever', async () => {
    onConnection = isEcho;
    for (const word of ['one', 'two']) {
      const socket = enter();
      expect(await echo(socket, word)).toBe(word);
      socket.destroy();
      await once(socket, 'close');
    }
    expect(asked).toHaveLength(1);
    await expect.poll(async () => clock.advance(10_000).then(() => transports[0]!.destroyed)).toBe(true);
    expect(await echo(enter(), 'three')).toBe('three');
    expect(asked).toHaveLength(2);
  });

  it('ends every connection of a session that breaks, and the next one has another', async () => {
    onConnection = isEcho;
    const sockets = [enter(), enter(), enter()];
    await Promise.all(sockets.map(async (socket) => echo(socket, 'here')));
    // Half of one is over already.
    sockets[0]!.end();
    const ends = sockets.map(async (socket) => {
      socket.resume();
      return (await once(socket, 'error'))[0] as NodeJS.ErrnoException;
    });
    transports[0]!.destroy();
    // No reader may take a part for the whole.
    expect((await Promise.all(ends)).map(({ code }) => code)).toEqual(Array(3).fill('ECONNRESET'));
    await expect.poll(() => failures).toHaveLength(3);
    expect(failures.map(String)).toEqual(Array(3).fill(expect.stringContaining('lost connection to pod')));
    expect(await echo(enter(), 'again')).toBe('again');
    expect(asked).toHaveLength(2);
  });
});

it('gives each connection a session of its own where the runtime does not keep to windows', async () => {
  countsWindows = false;
  onConnection = isEcho;
  const sockets = Array.from({ length: 5 }, enter);
  await Promise.all(sockets.map(async (socket) => echo(socket, MUCH)));
  expect(asked).toHaveLength(5);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => transports.every(({ destroyed }) => destroyed)).toBe(true);
});

it('tells every connection that waits why the agent refuses, and asks again for the next', async () => {
  refusal = { code: 404, refused: JSON.stringify({ kind: 'Status', message: 'pods "web" not found' }) };
  await Promise.all([enter(), enter(), enter()].map(untilClosed));
  expect(failures.map(String)).toEqual(Array(3).fill(expect.stringContaining('pods "web" not found')));
  refusal = undefined;
  onConnection = isEcho;
  expect(await echo(enter(), 'there')).toBe('there');
});

it('ends all connections when it is disposed of', async () => {
  onConnection = isEcho;
  const socket = enter();
  await echo(socket, 'here');
  const closed = untilClosed(socket);
  sessions[Symbol.dispose]();
  await closed;
});
