import { once } from 'node:events';
import { connect } from 'node:net';
import os from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { askPort, findFreePort, RawClient } from '#support/clients/tcp-client.js';
import { SystemClock } from '#base/time/clock.js';
import {
  httpConnectionDropped,
  type HttpRequestEnd,
  httpRequestEnded,
} from '#base/channels/http-channels.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { ApiRouter } from './api-router.js';
import { ApiServer, type ApiServerOptions } from './api-server.js';
import { allowOwnHosts } from '../access/check-host.js';

/** On a loaded machine, too. */
const SOON = { timeout: 20_000 };

const clock = new SystemClock();
const LARGE_BYTES = 6 * 1024 * 1024;
const HEAD = 'Host: localhost\r\n\r\n';
let port: number;
let server: ApiServer;
let ends: HttpRequestEnd[];
let stopListening: () => void;
/** How many requests for /held are being answered, the most at a time, and what lets them go. */
let held: { now: number; most: number; release: () => void };

async function* untilAbort(signal: AbortSignal): AsyncGenerator<string> {
  yield 'first\n';
  await untilAborted(signal);
}

async function start(options: Partial<ApiServerOptions> = {}): Promise<void> {
  const router = new ApiRouter();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  held = { now: 0, most: 0, release };
  router.answer('GET', '/healthz', () => ({ kind: 'text', body: 'ok' }));
  router.answer('GET', '/held', async () => {
    held.most = Math.max(held.most, ++held.now);
    await released;
    held.now--;
    return { kind: 'text', body: 'held' };
  });
  router.answer('POST', '/slow', async (asked) => ({ kind: 'json', body: await asked.readBody() }));
  const large = Buffer.alloc(LARGE_BYTES, 'x');
  router.answer('GET', '/metrics', () => ({ kind: 'bytes', contentType: 'text/plain', body: large }));
  router.answer('GET', '/fresh', () => ({
    ...{ kind: 'bytes', contentType: 'text/plain', body: Buffer.alloc(LARGE_BYTES, 'y') },
  }));
  router.answer('GET', '/cut', ({ signal }) => ({
    ...{ kind: 'stream', contentType: 'text/plain', abortCutsOff: true, pieces: untilAbort(signal) },
  }));
  router.answer('GET', '/endless', ({ signal }) => ({
    ...{ kind: 'stream', contentType: 'text/plain', pieces: untilAbort(signal) },
  }));
  router.answer('GET', '/logs/:file', ({ params }) => ({ kind: 'text', body: params['file'] ?? '' }));
  server = new ApiServer({ clock, router, authorize: allowOwnHosts(() => []), name: 'readonly', ...options });
  port = await findFreePort();
  await server.listenAtPort('127.0.0.1', port);
}

beforeEach(() => {
  ends = [];
  stopListening = httpRequestEnded.subscribe((end) => ends.push(end));
});
afterEach(async () => {
  stopListening();
  held.release();
  await server.close();
});

describe('a server at a port', () => {
  it('answers those who call it by its name, and no page that has its own name lead here', async () => {
    await start();
    expect(await askPort(port, '/healthz')).toMatchObject({ code: 200, text: 'ok' });
    expect((await askPort(port, '/healthz', { headers: { Host: 'localhost' } })).code).toBe(200);
    for (const headers of [
      { Host: 'evil.example' },
      { Host: `evil.example:${port}` },
      { Origin: 'http://evil' },
    ]) {
      expect((await askPort(port, '/healthz', { headers })).code).toBe(403);
    }
    using absolute = new RawClient(port, `GET http://evil.example/healthz HTTP/1.1\r\n${HEAD}`);
    await expect.poll(() => absolute.got, SOON).toMatch(/^HTTP\/1.1 400/);
    using nameless = new RawClient(port, 'GET /healthz HTTP/1.1\r\n\r\n');
    await expect.poll(() => nameless.got, SOON).toMatch(/^HTTP\/1.1 400/);
    using twice = new RawClient(port, `GET /healthz HTTP/1.1\r\nHost: evil.example\r\n${HEAD}`);
    await expect.poll(() => twice.got, SOON).toMatch(/^HTTP\/1.1 400/);
    using hidden = new RawClient(
      port,
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n`,
    );
    await expect.poll(() => hidden.got, SOON).toMatch(/^HTTP\/1.1 400/);
  });

  it('answers HEAD with the headers alone, and methods that there are not with 405', async () => {
    await start();
    expect(await askPort(port, '/healthz', { method: 'HEAD' })).toMatchObject({ code: 200, text: '' });
    expect(await askPort(port, '/metrics', { method: 'HEAD' })).toMatchObject({ code: 200, text: '' });
    expect((await askPort(port, '/healthz', { method: 'POST' })).code).toBe(405);
    expect((await askPort(port, '/nothing')).code).toBe(404);
    using trace = new RawClient(port, `TRACE /healthz HTTP/1.1\r\n${HEAD}`);
    await expect.poll(() => trace.got, SOON).toMatch(/^HTTP\/1.1 405[^]*\r\nAllow: GET, HEAD\r\n/);
  });

  it('has its requests counted by what is served, never by what was typed', async () => {
    await start();
    await askPort(port, '/healthz?verbose');
    await askPort(port, '/logs/some-file');
    await askPort(port, '/../etc/passwd');
    await askPort(port, '/healthz', { headers: { Host: 'evil.example' } });
    await expect.poll(() => ends.length, SOON).toBe(4);
    expect(ends.map(({ request, code }) => [request.server, request.path, code])).toEqual([
      ['readonly', '/healthz', 200],
      ['readonly', '/logs/:file', 200],
      ['readonly', 'other', 404],
      ['readonly', 'other', 403],
    ]);
  });

  it('works on one request of a connection at a time, and closes one that sends hundreds ahead', async () => {
    await start();
    using polite = new RawClient(port, `GET /held HTTP/1.1\r\n${HEAD}`.repeat(10));
    await expect.poll(() => held.now, SOON).toBe(1);
    using flood = new RawClient(port, `GET /held HTTP/1.1\r\n${HEAD}`.repeat(1_000));
    await flood.closed;
    expect(held.most).toBe(2);
    held.release();
    await expect.poll(() => polite.got.match(/held/g)?.length, SOON).toBe(10);
    expect((await askPort(port, '/healthz')).code).toBe(200);
  });

  it('closes a connection that has too much in URLs and headers wait for its turn', async () => {
    await start();
    const large = `X-A: ${'x'.repeat(100_000)}\r\n`;
    using polite = new RawClient(port, `GET /held HTTP/1.1\r\n${large}${HEAD}`.repeat(3));
    await expect.poll(() => held.now, SOON).toBe(1);
    using flood = new RawClient(port, `GET /held HTTP/1.1\r\n${large}${HEAD}`.repeat(4));
    await flood.closed;
    held.release();
    await expect.poll(() => polite.got.match(/held/g)?.length, SOON).toBe(3);
  });

  it('answers in the order in which it was asked', async () => {
    await start();
    using client = new RawClient(port, `GET /held HTTP/1.1\r\n${HEAD}GET /healthz HTTP/1.1\r\n${HEAD}`);
    await expect.poll(() => held.now, SOON).toBe(1);
    expect(client.got).toBe('');
    held.release();
    await expect.poll(() => client.got, SOON).toMatch(/held[^]*ok$/);
  });

  it('keeps no copy of what slow readers have not taken', async () => {
    await start();
    const before = process.memoryUsage();
    const clients = Array.from({ length: 40 }, () => {
      const client = new RawClient(port, `GET /metrics HTTP/1.1\r\n${HEAD}`);
      client.socket.pause();
      return client;
    });
    expect((await askPort(port, '/metrics')).text).toHaveLength(LARGE_BYTES);
    const after = process.memoryUsage();
    // Copies would be 240 MiB.
    expect(after.rss - before.rss).toBeLessThan(120 * 1024 * 1024);
    for (const client of clients) client[Symbol.dispose]();
    await expect.poll(() => ends.length, SOON).toBe(41);
  });

  it('cuts the slowest readers off when too much that was made for each of them waits', async () => {
    await start({ maxWaitingBytes: 4 * LARGE_BYTES });
    const clients: RawClient[] = [];
    for (let index = 0; index < 10; index++) {
      const client = new RawClient(port, `GET /fresh HTTP/1.1\r\n${HEAD}`);
      client.socket.pause();
      clients.push(client);
      await expect.poll(() => ends.length, SOON).toBe(Math.max(0, index - 3));
    }
    expect((await askPort(port, '/fresh')).text).toHaveLength(LARGE_BYTES);
    const last = clients.at(-1)!;
    last.socket.resume();
    await expect.poll(() => last.got.length, SOON).toBeGreaterThan(LARGE_BYTES);
    for (const client of clients) client[Symbol.dispose]();
    await expect.poll(() => ends.length, SOON).toBe(11);
  });

  it('answers those who offer another HTTP as if they had not', async () => {
    await start();
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
    using client = new RawClient(port, `GET /healthz HTTP/1.1\r\n${offer}${HEAD}`);
    await client.closed;
    expect(client.got).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*Connection: close\r\n[^]*ok$/);
    using late = new RawClient(port, `GET /held HTTP/1.1\r\n${HEAD}GET /metrics HTTP/1.1\r\n${offer}${HEAD}`);
    await expect.poll(() => held.now, SOON).toBe(1);
    held.release();
    await late.closed;
    expect(late.got).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*held[^]*xxx$/);
    expect(late.got.length).toBeGreaterThan(LARGE_BYTES);
    using nothing = new RawClient(port, `GET /nothing HTTP/1.1\r\n${offer}${HEAD}`);
    await nothing.closed;
    expect(nothing.got).toMatch(/^HTTP\/1.1 404/);
    using socket = new RawClient(
      port,
      `GET /healthz HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${HEAD}`,
    );
    await socket.closed;
    expect(socket.got).toMatch(/^HTTP\/1.1 400/);
    expect((await askPort(port, '/healthz')).code).toBe(200);
  });

  it('breaks off what its own end has cut, and ends what has no end', async () => {
    await start();
    using cut = new RawClient(port, `GET /cut HTTP/1.1\r\n${HEAD}`);
    using endless = new RawClient(port, `GET /endless HTTP/1.1\r\n${HEAD}`);
    for (const { got } of [cut, endless].map((client) => ({ got: () => client.got })))
      await expect.poll(got, SOON).toContain('first');
    await server.close();
    await Promise.all([cut.closed, endless.closed]);
    expect(endless.got).toMatch(/\r\n0\r\n\r\n$/);
    expect(cut.got).not.toMatch(/\r\n0\r\n/);
  });

  it('closes connections beyond its limit, reports it, and takes new ones when others have gone', async () => {
    let dropped = 0;
    const stop = httpConnectionDropped.subscribe(() => dropped++);
    await start({ maxConnections: 20 });
    const clients = Array.from({ length: 300 }, () => new RawClient(port));
    await expect.poll(() => dropped, SOON).toBeGreaterThanOrEqual(280);
    stop();
    for (const client of clients) client[Symbol.dispose]();
    await expect
      .poll(async () => askPort(port, '/healthz').catch(() => undefined), SOON)
      .toMatchObject({ code: 200 });
  });

  it('closes the oldest that nobody has asked anything on for who comes, and none that has shown itself', async () => {
    let dropped = 0;
    const stop = httpConnectionDropped.subscribe(() => dropped++);
    await start({ maxStrangers: 3 });
    using asking = new RawClient(port, `GET /endless HTTP/1.1\r\n${HEAD}`);
    await expect.poll(() => asking.got, SOON).toContain('first');
    const idle: RawClient[] = [];
    for (let index = 0; index < 5; index++) {
      idle.push(new RawClient(port));
      await once(idle[index]!.socket, 'connect');
    }
    await Promise.all(idle.slice(0, 2).map(async ({ closed }) => closed));
    expect((await askPort(port, '/healthz')).code).toBe(200);
    expect([dropped, asking.socket.destroyed, idle[4]!.socket.destroyed]).toEqual([3, false, false]);
    stop();
    for (const client of idle) client[Symbol.dispose]();
  });

  it('refuses headers that are too long or too many bytes, and bodies that nobody wants', async () => {
    await start({ maxHeaderBytes: 16 * 1024 });
    using long = new RawClient(port, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HEAD}`);
    await expect.poll(() => long.got, SOON).toMatch(/^HTTP\/1.1 413[^]*more than 16384 bytes/);
    using endless = new RawClient(port, `GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n${HEAD}`);
    await expect.poll(() => endless.got, SOON).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*Connection: close/);
    await endless.closed;
  });

  it('refuses a request with more headers than it looks at, whatever stands in them', async () => {
    await start();
    const many = (count: number): string => 'X-Some: header\r\n'.repeat(count);
    using most = new RawClient(port, `GET /healthz HTTP/1.1\r\n${many(199)}${HEAD}`);
    await expect.poll(() => most.got, SOON).toMatch(/^HTTP\/1.1 200/);
    for (const count of [200, 399, 400, 1_000, 5_000]) {
      using more = new RawClient(
        port,
        `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${many(count)}Origin: http://evil\r\n\r\n`,
      );
      await expect.poll(() => more.got, SOON).toMatch(/^HTTP\/1.1 413[^]*more than 200 headers/);
    }
  });

  it('refuses requests that mean two things at once', async () => {
    await start();
    const both = 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n';
    using smuggler = new RawClient(
      port,
      `GET /healthz HTTP/1.1\r\n${both}${HEAD}0\r\n\r\nGET /held HTTP/1.1\r\n${HEAD}`,
    );
    await smuggler.closed;
    expect(held.most).toBe(0);
  });

  it('waits no longer than its time for clients that send a little now and then', async () => {
    await start({ headersTimeoutMs: 500, requestTimeoutMs: 1_000 });
    using silent = new RawClient(port);
    using dripping = new RawClient(port, 'GET /healthz HTTP/1.1\r\n');
    using slow = new RawClient(
      port,
      `POST /slow HTTP/1.1\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n${HEAD}x`,
    );
    const drip = setInterval(() => {
      if (dripping.socket.writable) dripping.socket.write('X-A: 1\r\n');
      if (slow.socket.writable) slow.socket.write('x');
    }, 100);
    await Promise.all([silent.closed, dripping.closed, slow.closed]);
    clearInterval(drip);
    expect(dripping.got).toMatch(/^HTTP\/1.1 408/);
    expect(slow.got).not.toContain('200 OK');
  });

  it('breaks an answer off that a client does not take in its time, and keeps streams', async () => {
    const fake = new FakeClock();
    await start({ clock: fake });
    using reader = new RawClient(port, `GET /metrics HTTP/1.1\r\n${HEAD}`);
    reader.socket.pause();
    await expect.poll(() => fake.pendingTimers, SOON).toBe(1);
    await fake.advance(60_000);
    reader.socket.resume();
    await reader.closed;
    expect(reader.got.length).toBeLessThan(LARGE_BYTES);
    await expect.poll(() => ends.length, SOON).toBe(1);
    expect(fake.pendingTimers).toBe(0);
  });

  it('can be made to listen again and again where others do, and leaves nothing of each try behind', async () => {
    await start();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    await using other = new ApiServer({ clock, router: new ApiRouter(), authorize: allowOwnHosts(() => []) });
    for (let tries = 0; tries < 15; tries++) {
      await expect(other.listenAtPort('127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    }
    await server.close();
    await other.listenAtPort('127.0.0.1', port);
    expect((await askPort(port, '/healthz')).code).toBe(404);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('is at every address of both families with 0.0.0.0, as a kubelet is', async () => {
    await start();
    await using other = new ApiServer({ clock, router: new ApiRouter(), authorize: allowOwnHosts(() => []) });
    const place = await findFreePort();
    await other.listenAtPort('0.0.0.0', place);
    const loopbacks = (os.networkInterfaces()['lo'] ?? []).map(({ address }) => address);
    expect(loopbacks).toContain('127.0.0.1');
    for (const host of loopbacks) {
      const socket = connect({ host, port: place });
      await once(socket, 'connect');
      socket.destroy();
    }
  });

  it('frees the port when it is closed, whoever is connected', async () => {
    await start();
    using idle = new RawClient(port);
    using asking = new RawClient(port, `GET /held HTTP/1.1\r\n${HEAD}`);
    await expect.poll(() => held.now, SOON).toBe(1);
    await server.close();
    await Promise.all([idle.closed, asking.closed]);
    await expect(askPort(port, '/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
