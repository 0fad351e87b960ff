import { lstat, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { connect, type Socket, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { SystemClock } from '#base/time/clock.js';
import { badRequest } from './api-error.js';
import { ApiRouter } from './api-router.js';
import { ApiServer } from './api-server.js';
import { authorizeOwner } from '../access/authorize-owner.js';
import { listPods } from '../objects/list-pods.js';
import { WatchPlaces } from './watch-answer.js';

const clock = new SystemClock();
let folder: string;
let path: string;
let scene: ServedPodsHarness;
let server: ApiServer;
let upstream: Server;
let upstreamSockets: Socket[];
/** Upgrades that the server behind has agreed to. */
let joined: number;
const clients: Socket[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-api-'));
  path = join(folder, 'api.sock');
  scene = new ServedPodsHarness();
  upstreamSockets = [];
  upstream = createServer((_request, response) => response.writeHead(403).end('not so'));
  upstream.on('upgrade', (asked, socket: Socket, head: Buffer) => {
    upstreamSockets.push(socket);
    socket.on('error', () => undefined);
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      `Upgrade: ${asked.headers.upgrade ?? ''}`,
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\nhello:${asked.url ?? ''}:${head.toString()}`);
    socket.on('data', (data) => socket.write(data));
    socket.on('end', () => socket.end('bye'));
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const router = new ApiRouter();
  const watches = new WatchPlaces({ clock, limit: 2 });
  router.answer('GET', '/pods', listPods({ table: scene.table, watches }));
  router.answer('POST', '/echo', async (asked) => ({ kind: 'json', body: await asked.readBody() }));
  router.answer('GET', '/broken', () => {
    throw new Error('with a secret in it');
  });
  router.answer('GET', '/named/:name', ({ params }) => ({ kind: 'text', body: params['name'] ?? '' }));
  const { port } = upstream.address() as AddressInfo;
  joined = 0;
  const onJoined = (): void => void joined++;
  router.upgrade('/stream/:what', async ({ params }) => {
    if (params['what'] === 'nothing') throw badRequest('nothing there');
    if (params['what'] === 'nowhere') return { url: new URL('http://127.0.0.1:1/'), onJoined };
    return { url: new URL(`http://127.0.0.1:${port}/token?x=1`), onJoined };
  });
  server = new ApiServer({ clock, router, authorize: authorizeOwner });
  await server.listenAtSocket(path);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await server.close();
  upstream.closeAllConnections();
  for (const socket of upstreamSockets) socket.destroy();
  upstream.close();
  await rm(folder, { recursive: true });
});

interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

async function ask(
  url: string,
  options: Record<string, unknown> = {},
  body?: string | Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: path, path: url, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        resolve({ code: statusCode, headers, text: Buffer.concat(chunks).toString() });
      });
    });
    call.on('error', reject);
    call.end(body);
  });
}

/** A raw connection, and what has come. */
function open(text: string): {
  readonly socket: Socket;
  readonly got: () => string;
  readonly ended: Promise<void>;
} {
  const socket = connect({ path, allowHalfOpen: true });
  clients.push(socket);
  let got = '';
  socket.on('data', (data) => (got += data.toString()));
  socket.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('end', () => socket.end());
  socket.write(text);
  return { socket, got: () => got, ended };
}

const UPGRADE = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

describe('the API server', () => {
  it('listens at a socket that only its owner may open, and leaves nothing behind', async () => {
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    await server.close();
    await expect(lstat(path)).rejects.toThrow('ENOENT');
  });

  it('takes no socket from a server that answers, and takes the place of one that was killed', async () => {
    const other = new ApiServer({ clock, router: new ApiRouter(), authorize: authorizeOwner });
    await expect(other.listenAtSocket(path)).rejects.toMatchObject({ code: 'ENDPOINT_IN_USE' });
    await writeFile(join(folder, 'file'), 'of somebody');
    await expect(other.listenAtSocket(join(folder, 'file'))).rejects.toThrow('is left alone');
    await other.close();
  });

  it('answers with lists, and with a Status for what there is not', async () => {
    scene.set({ name: 'a' });
    const list = await ask('/pods?labelSelector=');
    expect(list.code).toBe(200);
    expect(JSON.parse(list.text)).toMatchObject({ kind: 'PodList', items: [{ metadata: { name: 'a' } }] });
    const missing = await ask('/nothing');
    expect(missing.code).toBe(404);
    expect(JSON.parse(missing.text)).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 });
    expect((await ask('/pods', { method: 'DELETE' })).code).toBe(405);
    expect((await ask('/pods?labelSelector=a=b=c')).code).toBe(400);
    expect((await ask('/named/a%2Fb')).text).toBe('a/b');
    expect((await ask('/stream/x')).text).toContain('Upgrade request required');
  });

  it('says nothing of errors that were not meant for the client', async () => {
    const { code, text } = await ask('/broken');
    expect(code).toBe(500);
    expect(text).not.toContain('secret');
  });

  it('refuses requests of web pages', async () => {
    expect((await ask('/pods', { headers: { Origin: 'http://evil' } })).code).toBe(403);
  });

  it('takes bodies up to their limit', async () => {
    const json = { 'Content-Type': 'application/json' };
    const post = async (body: string, headers: Record<string, string> = json) =>
      ask('/echo', { method: 'POST', headers }, body);
    expect((await post('{"a":[1]}')).text).toBe('{"a":[1]}\n');
    expect((await post('{"a":')).code).toBe(400);
    expect((await post('{}', { 'Content-Type': 'text/plain' })).code).toBe(415);
    const large = `"${'x'.repeat(3 * 1024 * 1024)}"`;
    expect((await post(large)).code).toBe(413);
    const chunked = { ...json, 'Transfer-Encoding': 'chunked' };
    expect((await post(large, chunked)).code).toBe(413);
    expect((await ask('/pods')).code).toBe(200);
  });

  it('answers what is no HTTP with a Status, too', async () => {
    const { got, ended } = open('HELLO\r\n\r\n');
    await ended;
    expect(got()).toMatch(/^HTTP\/1.1 400 Bad Request\r\n[^]*this is no HTTP request/);
  });

  it('keeps watches open, no more than there are places for, and frees their places', async () => {
    scene.set({ name: 'a' });
    const watches = [1, 2].map(() => open('GET /pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n'));
    for (const { got } of watches) await expect.poll(got).toContain('"ADDED"');
    expect((await ask('/pods?watch=1')).code).toBe(429);
    watches[0]!.socket.destroy();
    await expect.poll(() => scene.table.watcherCount).toBe(1);
    const { code, text } = await ask('/pods?watch=1&resourceVersion=1');
    expect(code).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    await server.close();
    await watches[1]!.ended;
    expect(scene.table.watcherCount).toBe(0);
  });
});

describe('an upgraded connection', () => {
  it('is piped both ways, with what came early, and ends one direction after the other', async () => {
    const { socket, got, ended } = open(
      `POST /stream/x?command=a HTTP/1.1\r\nX-A: 1\r\nX-A: 2\r\n${UPGRADE}early`,
    );
    await expect
      .poll(got)
      .toMatch(
        /^HTTP\/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY\/3.1\r\n\r\nhello:\/token\?x=1:/,
      );
    socket.write('ping');
    await expect.poll(got).toContain('ping');
    socket.end();
    await ended;
    expect(got()).toMatch(/earlyping?.*bye$/);
    expect(joined).toBe(1);
  });

  it('carries more than any buffer holds', async () => {
    const { socket, got } = open(`GET /stream/x HTTP/1.1\r\n${UPGRADE}`);
    await expect.poll(got).toContain('hello:');
    const before = got().length;
    socket.write('x'.repeat(5_000_000));
    await expect.poll(() => got().length - before, { timeout: 10_000 }).toBe(5_000_000);
  });

  it('is refused in the words of the handler, or of the one that it leads to', async () => {
    const refused = open(`GET /stream/nothing HTTP/1.1\r\n${UPGRADE}`);
    await refused.ended;
    expect(refused.got()).toMatch(/^HTTP\/1.1 400 [^]*"message":"nothing there"/);
    const nowhere = open(`GET /stream/nowhere HTTP/1.1\r\n${UPGRADE}`);
    await nowhere.ended;
    expect(nowhere.got()).toMatch(/^HTTP\/1.1 500 [^]*error dialing/);
    upstream.removeAllListeners('upgrade');
    const other = open(`GET /stream/x HTTP/1.1\r\n${UPGRADE}`);
    await other.ended;
    expect(other.got()).toMatch(/^HTTP\/1.1 403 Forbidden\r\n[^]*not so$/);
    expect(joined).toBe(0);
    const elsewhere = open(`GET /pods HTTP/1.1\r\n${UPGRADE}`);
    await elsewhere.ended;
    expect(elsewhere.got()).toMatch(/^HTTP\/1.1 400/);
  });

  it('is closed on both sides when either breaks off, or the server closes', async () => {
    const first = open(`GET /stream/x HTTP/1.1\r\n${UPGRADE}`);
    await expect.poll(first.got).toContain('hello:');
    const closed = new Promise((resolve) => upstreamSockets[0]!.once('close', resolve));
    first.socket.destroy();
    await closed;
    const second = open(`GET /stream/x HTTP/1.1\r\n${UPGRADE}`);
    await expect.poll(second.got).toContain('hello:');
    upstreamSockets[1]!.destroy();
    await second.ended;
    const third = open(`GET /stream/x HTTP/1.1\r\n${UPGRADE}`);
    await expect.poll(third.got).toContain('hello:');
    await server.close();
    await third.ended;
  });
});
