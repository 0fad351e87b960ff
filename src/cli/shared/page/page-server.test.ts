import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { AgentClient } from '../api/agent-client.js';
import { AgentContent } from './agent-content.js';
import { PageFiles } from './page-files.js';
import { PageServer } from './page-server.js';

let agent: FakeAgentServer;
let server: PageServer;
let folder: string;
let port: number;
let refused: string[];
let ending: AbortController;
/** As with --write. */
let allowWriting: () => Promise<void>;

beforeEach(async () => {
  agent = await FakeAgentServer.start();
  folder = await mkdtemp(join(tmpdir(), 'podloop-page-'));
  for (const name of ['page.html', 'page.js', 'page.css', 'page.svg'])
    await writeFile(join(folder, `${name}.br`), brotliCompressSync(`the ${name}`));
  const clock = new FakeClock();
  ending = new AbortController();
  const client = new AgentClient({ socketPath: agent.socketPath, clock, signal: ending.signal });
  refused = [];
  const make = (canWrite: boolean): PageServer =>
    new PageServer({
      ...{ clock, files: new PageFiles(pathToFileURL(`${folder}/`)), version: '9' },
      content: new AgentContent({ client, canWrite, ...FAKES }),
      onRefusedLink: (refusal) => void refused.push(refusal),
    });
  server = make(false);
  port = await server.listen(0);
  allowWriting = async () => {
    await server[Symbol.asyncDispose]();
    server = make(true);
    port = await server.listen(0);
  };
});

afterEach(async () => {
  ending.abort();
  await server[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** What other programs answer. */
const FAKES = { examine: async () => '{"findings":[]}', listImages: async () => '{"images":[]}' };

interface Answered {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Asking {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function ask(path: string, { method = 'GET', headers = {}, body }: Asking = {}): Promise<Answered> {
  return await new Promise((resolve, reject) => {
    const call = httpRequest({ port, host: '127.0.0.1', path, method, headers, agent: false }, (answer) => {
      text(answer).then(
        (said) => resolve({ code: answer.statusCode ?? 0, headers: answer.headers, body: said }),
        reject,
      );
    });
    call.once('error', reject);
    call.end(body);
  });
}

const own = (): string => `http://127.0.0.1:${port}`;
const keyOf = (link: string): string => link.split('#key=')[1]!;

async function open(key = keyOf(server.makeLink()), headers: Record<string, string> = {}): Promise<Answered> {
  const body = JSON.stringify({ key });
  const sent = {
    origin: own(),
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...headers,
  };
  return await ask('/session', { method: 'POST', headers: sent, body });
}

/** Headers of a session. */
async function signIn(): Promise<Record<string, string>> {
  const { headers, body } = await open();
  const { token } = JSON.parse(body) as { token: string };
  return { cookie: headers['set-cookie']![0]!.split(';')[0]!, 'podloop-token': token };
}

describe('the files of the page', () => {
  it('are there without a session, compressed or not', async () => {
    const page = await ask('/', { headers: { 'accept-encoding': 'gzip' } });
    expect(page).toMatchObject({ code: 200, body: 'the page.html' });
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    const script = await ask('/page.js', { headers: { 'accept-encoding': 'gzip, br' } });
    expect(script.headers['content-encoding']).toBe('br');
    expect((await ask('/page.js', { method: 'HEAD' })).body).toBe('');
    expect((await ask('/page.html.br')).code).toBe(401);
  });

  it('load nothing from elsewhere and run no script of markup', async () => {
    const { headers } = await ask('/');
    expect(headers['content-security-policy']).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    );
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
  });
});

describe('a client without a session', () => {
  const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];

  /** The first line of the answer to a request that no library would send. */
  async function askRaw(target: string, lines: readonly string[] = []): Promise<string> {
    const socket = connectTcp(port, '127.0.0.1');
    const head = [`GET ${target} HTTP/1.1`, `Host: 127.0.0.1:${port}`, ...lines];
    socket.end(`${head.join('\r\n')}\r\n\r\n`);
    return (await text(socket)).split('\r\n')[0]!;
  }

  it.each(['/\\[', '//[', '/\\evil.example/agent/agent'])(
    'does no harm with an address that is none: %s',
    async (target) => {
      expect(await askRaw(target, ['Connection: close'])).toBe('HTTP/1.1 400 Bad Request');
      expect(await askRaw(target, UPGRADE)).toBe('HTTP/1.1 403 Forbidden');
      const { cookie, 'podloop-token': token } = await signIn();
      const session = [`Cookie: ${cookie}`, `podloop-token: ${token}`, `Origin: ${own()}`];
      expect(await askRaw(target, [...UPGRADE, ...session])).toBe('HTTP/1.1 404 Not Found');
    },
  );

  it('keeps nobody out with hundreds of connections that it leaves open', async () => {
    const idle: Socket[] = [];
    for (let at = 0; at < 300; at++) {
      const socket = connectTcp(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      idle.push(socket);
    }
    expect((await ask('/')).code).toBe(200);
    expect((await open()).code).toBe(200);
    for (const socket of idle) socket.destroy();
  });

  it('does not close the connections of a session with those that it opens', async () => {
    agent.on('GET /events', (_, answer) => {
      answer.write(':\n\n');
      return undefined;
    });
    const headers = await signIn();
    const { 'podloop-token': token, cookie } = headers as { 'podloop-token': string; cookie: string };
    const stream = new WebSocket(
      `ws://127.0.0.1:${port}/stream/events`,
      ['podloop.v1', `podloop.token.${token}`],
      { headers: { cookie, origin: own() } },
    );
    await once(stream, 'open');
    const idle = Array.from({ length: 300 }, () => connectTcp(port, '127.0.0.1'));
    for (const socket of idle) socket.on('error', () => undefined);
    expect((await ask('/')).code).toBe(200);
    expect(stream.readyState).toBe(WebSocket.OPEN);
    for (const socket of idle) socket.destroy();
    stream.terminate();
  });

  it('gets no answers to requests that it sends without waiting for one', async () => {
    const socket = connectTcp(port, '127.0.0.1');
    socket.write(`GET /page.js HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`.repeat(40));
    const answers = (await text(socket).catch(() => '')).split('HTTP/1.1 200').length - 1;
    expect(answers).toBeLessThanOrEqual(4);
    const patient = connectTcp(port, '127.0.0.1');
    for (let at = 0; at < 10; at++) {
      patient.write(`GET /page.js HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
      expect(String(await once(patient, 'data'))).toContain('HTTP/1.1 200');
    }
    patient.destroy();
  });

  it('shares the bytes of a file with all others, however it is encoded', async () => {
    const files = new PageFiles(pathToFileURL(`${folder}/`));
    const [one, other] = [(await files.find('/page.js'))!, (await files.find('/page.js'))!];
    expect(one.brotli).toBe(other.brotli);
    expect(await one.plain()).toBe(await other.plain());
    expect(await files.find('constructor')).toBeUndefined();
  });
});

describe('a link', () => {
  it('opens a session once; another try is refused and reported', async () => {
    const link = server.makeLink();
    expect(link).toMatch(new RegExp(`^http://127.0.0.1:${port}/#key=[\\w-]{43}$`));
    expect((await open(keyOf(link))).code).toBe(200);
    const again = await open(keyOf(link));
    expect(again).toMatchObject({ code: 403, body: expect.stringContaining('opened before') as string });
    expect(again.headers['set-cookie']).toBeUndefined();
    expect((await open('stolen')).code).toBe(403);
    expect(refused).toEqual(['used', 'unknown']);
  });

  it('is opened by the page alone', async () => {
    const key = keyOf(server.makeLink());
    expect((await open(key, { origin: 'https://evil.example' })).code).toBe(403);
    expect((await open(key, { host: 'evil.example' })).code).toBe(403);
    const body = JSON.stringify({ key });
    const bare = { method: 'POST', headers: { 'content-length': String(body.length) }, body };
    expect((await ask('/session', bare)).code).toBe(403);
    // None of them has used it up.
    expect((await open(key)).code).toBe(200);
  });

  it('has a small body', async () => {
    const body = JSON.stringify({ key: 'x'.repeat(5_000) });
    const headers = { origin: own(), 'content-length': String(body.length) };
    expect((await ask('/session', { method: 'POST', headers, body })).code).toBe(413);
    const empty = { method: 'POST', headers: { origin: own(), 'content-length': '2' }, body: '{}' };
    expect((await ask('/session', empty)).code).toBe(400);
  });
});

describe('what the page reads', () => {
  beforeEach(() => {
    agent.on('GET /api/v1/pods', () => ({ kind: 'PodList', items: [] }));
    agent.on('GET /agent', () => ({ kind: 'Agent' }));
    agent.on('GET /api/v1/namespaces/default/pods/web', () => ({ kind: 'Pod', metadata: { name: 'web' } }));
  });

  it('comes from the agent, in a session', async () => {
    const headers = await signIn();
    expect(await ask('/agent/api/v1/pods?labelSelector=a', { headers })).toMatchObject({
      ...{ code: 200, body: '{"kind":"PodList","items":[]}' },
    });
    expect(agent.requests.at(-1)?.query).toEqual({ labelSelector: 'a' });
    expect(await ask('/agent/agent', { headers })).toMatchObject({
      ...{ code: 200, headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } },
    });
    expect((await ask('/session', { headers })).body).toBe(
      '{"version":"9","canWrite":false,"isRecorded":false}',
    );
    expect((await ask('/examination', { headers })).body).toBe('{"findings":[]}');
    expect((await ask('/images', { headers })).body).toBe('{"images":[]}');
    const yaml = await ask('/agent/api/v1/namespaces/default/pods/web?format=yaml', { headers });
    expect(yaml.body).toContain('kind: Pod\n');
    expect(yaml.headers['content-security-policy']).toBeDefined();
  });

  it('is refused without the cookie, without the token, and to other sites', async () => {
    const headers = await signIn();
    const { cookie, 'podloop-token': token } = headers as { cookie: string; 'podloop-token': string };
    for (const lacking of [{}, { cookie }, { 'podloop-token': token }] as Record<string, string>[])
      expect((await ask('/agent/api/v1/pods', { headers: lacking })).code).toBe(401);
    for (const foreign of [
      { host: 'evil.example' },
      { origin: 'http://localhost:1' },
      { 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[])
      expect((await ask('/agent/api/v1/pods', { headers: { ...headers, ...foreign } })).code).toBe(403);
    expect(agent.requests).toEqual([]);
  });

  it.each([
    ['GET', '/agent/api/v1/secrets'],
    ['GET', '/agent/api/v1/namespaces/default/secrets/web'],
    ['GET', '/agent/api/v1/namespaces/default/pods/web/exec'],
    ['GET', '/agent/api/v1/namespaces/..%2F..%2Fagent/pods/web'],
    ['GET', '/agent/logs/../agent/end'],
    ['GET', '//evil.example/agent/agent'],
    ['POST', '/agent/agent/end'],
    ['DELETE', '/agent/api/v1/namespaces/default/pods/web'],
    ['POST', '/agent/api/v1/namespaces/default/pods/web/restart'],
  ])('does not reach %s %s', async (method, path) => {
    const headers = { ...(await signIn()), origin: own() };
    expect([400, 404]).toContain((await ask(path, { method, headers })).code);
    expect(agent.requests).toEqual([]);
  });

  it('says what the agent refuses, and that it is gone', async () => {
    const headers = await signIn();
    const missing = await ask('/agent/api/v1/namespaces/default/pods/gone', { headers });
    expect(missing).toMatchObject({ code: 404, body: '{"message":"pods \\"gone\\" not found"}' });
    await agent[Symbol.asyncDispose]();
    agent = await FakeAgentServer.start();
    const gone = await ask('/agent/api/v1/pods', { headers });
    expect(gone).toMatchObject({
      code: 503,
      body: expect.stringContaining('cannot reach the agent') as string,
    });
  });
});

describe('what the page changes with --write', () => {
  const POD = '/api/v1/namespaces/default/pods/web';
  beforeEach(async () => {
    await allowWriting();
    for (const place of [`POST ${POD}/restart`, `POST ${POD}/start`, `DELETE ${POD}`])
      agent.on(place, () => ({ kind: 'Pod' }));
  });

  it('is a stop, start or restart of a pod, and nothing else', async () => {
    const headers = { ...(await signIn()), origin: own() };
    const change = async (method: string, path: string): Promise<number> =>
      (await ask(`/agent${path}`, { method, headers })).code;
    expect(await change('POST', `${POD}/restart`)).toBe(200);
    expect(await change('POST', `${POD}/start`)).toBe(200);
    expect(await change('DELETE', POD)).toBe(200);
    const reached = agent.requests.length;
    for (const path of ['/agent/end', `${POD}/exec`, '/api/v1/namespaces/default/secrets/a'])
      expect(await change('POST', path)).toBe(404);
    expect(await change('PUT', POD)).toBe(404);
    expect(agent.requests).toHaveLength(reached);
  });

  it('needs the token of the page, and its origin', async () => {
    const headers = await signIn();
    const restart = async (sent: Record<string, string>): Promise<number> =>
      (await ask(`/agent${POD}/restart`, { method: 'POST', headers: sent })).code;
    expect(await restart({ cookie: headers['cookie']!, origin: own() })).toBe(401);
    expect(await restart({ ...headers, 'podloop-token': 'guessed', origin: own() })).toBe(401);
    expect(await restart(headers)).toBe(403);
    expect(await restart({ ...headers, origin: 'http://127.0.0.1:1' })).toBe(403);
    expect(agent.requests).toEqual([]);
  });
});

describe('a stream', () => {
  interface Streamed {
    readonly text: string;
    readonly code: number;
    readonly reason: string;
  }

  interface Streaming {
    readonly origin?: string;
    readonly onOpen?: (socket: WebSocket) => void;
  }

  function connect(path: string, headers: Record<string, string>, origin = own()): WebSocket {
    const { 'podloop-token': token = '', ...rest } = headers;
    const protocols = ['podloop.v1', ...(token === '' ? [] : [`podloop.token.${token}`])];
    return new WebSocket(`ws://127.0.0.1:${port}/stream${path}`, protocols, {
      headers: { ...rest, origin },
    });
  }

  async function stream(
    path: string,
    headers: Record<string, string>,
    { origin = own(), onOpen = () => undefined }: Streaming = {},
  ): Promise<Streamed | number> {
    const socket = connect(path, headers, origin);
    socket.once('open', () => onOpen(socket));
    return await new Promise((resolve) => {
      let got = '';
      socket.on('message', (data: Buffer) => (got += data.toString()));
      socket.on('unexpected-response', (_, answer) => {
        resolve(answer.statusCode ?? 0);
        socket.terminate();
      });
      socket.on('error', () => undefined);
      socket.on('close', (code, reason) => resolve({ text: got, code, reason: reason.toString() }));
    });
  }

  beforeEach(() => {
    agent.on('GET /events', (_, answer) => {
      answer.write('id: 1-0\ndata: {"a":1}\n\n');
      answer.end('id: 2-0\ndata: {}\n\n');
      return undefined;
    });
  });

  it('hands on what the agent sends, to its end', async () => {
    const got = await stream('/events?since=0', await signIn());
    expect(got).toEqual({ text: 'id: 1-0\ndata: {"a":1}\n\nid: 2-0\ndata: {}\n\n', code: 1000, reason: '' });
    expect(agent.requests.at(-1)).toMatchObject({ path: '/events', query: { since: '0' } });
  });

  it('closes with the reason for which the agent refuses', async () => {
    const got = await stream('/api/v1/namespaces/default/pods/gone/log', await signIn());
    expect(got).toMatchObject({ code: 4404, reason: expect.stringContaining('not found') as string });
  });

  it('is one of so many, and survives a message that is too large of a page that it has refused', async () => {
    agent.on('GET /events', (_, answer) => {
      answer.write(':\n\n');
      return undefined;
    });
    const headers = await signIn();
    const others = Array.from({ length: 48 }, () => connect('/events', headers));
    await Promise.all(others.map((socket) => once(socket, 'open')));
    const onOpen = (socket: WebSocket): void => socket.send(Buffer.alloc(2_000));
    expect(await stream('/events', headers, { onOpen })).toMatchObject({ code: 1013 });
    for (const socket of others) socket.terminate();
    expect((await ask('/session', { headers })).code).toBe(200);
  });

  it('is refused without a session, to other sites, and for other paths', async () => {
    const headers = await signIn();
    expect(await stream('/events', {})).toBe(403);
    expect(await stream('/events', { cookie: headers['cookie']! })).toBe(403);
    expect(await stream('/events', headers, { origin: 'http://127.0.0.1:1' })).toBe(403);
    expect(await stream('/events', { ...headers, host: 'evil.example' })).toBe(403);
    expect(await stream('/api/v1/namespaces/default/pods/web/exec', headers)).toBe(404);
    expect(agent.requests).toEqual([]);
  });
});
