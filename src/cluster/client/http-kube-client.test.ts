import { setMaxListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { KubeApiHarness } from '#support/harness/kube-api-harness.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { untilTrue } from '#support/until-true.js';
import { SystemClock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type KubeRequestEnd, kubeRequestEnded } from '#base/channels/kube-client-channels.js';
import { ApiError, isTooNew, type WatchEvent } from './kube-client.js';
import { type KubeClients, openKubeClients } from './open-kube-clients.js';

const clock = new SystemClock();
const notFound = { kind: 'Status', code: 404, reason: 'NotFound', message: 'nodes "here" not found' };

describe.each([
  ['HTTP/2', true],
  ['HTTP/1.1', false],
])('a client of an API server that speaks %s', (_, http2) => {
  let lab: KubeApiHarness;
  const opened: KubeClients[] = [];

  beforeEach(async () => {
    lab = await KubeApiHarness.open({ http2 });
  });

  afterEach(async () => {
    for (const each of opened.splice(0)) each.close();
    await lab[Symbol.asyncDispose]();
  });

  async function open(user = '{}', cluster?: string): Promise<KubeClients> {
    const clients = await openKubeClients({
      ...{ file: await lab.writeKubeconfig(user, cluster), version: '1.2.3', clock },
      ...{ rateLimit: { perSecond: Infinity, burst: 1 }, heartbeatTimeoutMs: 10_000 },
      ...{ environment: process.env, logger: new LogRecorder() },
    });
    opened.push(clients);
    return clients;
  }

  it('asks as whom its kubeconfig names, and decodes the answer', async () => {
    lab.handler = (__, response) => void response.end('{"kind":"Node"}');
    await lab.writeClientPair('node', 'system:node:here');
    const { api } = await open('{ client-certificate: node.crt, client-key: node.key }');
    const query = { fieldManager: 'a b' };
    await expect(api.request({ method: 'GET', path: '/api/v1/nodes/here', query })).resolves.toEqual({
      kind: 'Node',
    });
    expect(lab.requests).toMatchObject([
      { method: 'GET', path: '/api/v1/nodes/here?fieldManager=a+b', user: 'system:node:here' },
    ]);
    expect(lab.requests[0]!.headers).toMatchObject({
      accept: 'application/json',
      'user-agent': expect.stringMatching(/^podloop\/1\.2\.3 \(linux\/\w+\)$/) as string,
    });
    expect(lab.requests[0]!.httpVersion).toBe(http2 ? '2.0' : '1.1');
  });

  it('sends bodies as JSON, and patches as strategic merge patches unless told otherwise', async () => {
    const { api } = await open();
    await api.request({ method: 'POST', path: '/api/v1/nodes', body: { kind: 'Nöde' } });
    await api.request({ method: 'PATCH', path: '/a', body: [] });
    const contentType = 'application/merge-patch+json';
    await api.request({ method: 'PATCH', path: '/b', body: {}, contentType });
    const sent = lab.requests.map(({ headers, body }) => [headers['content-type'], body]);
    expect(sent).toEqual([
      ['application/json', '{"kind":"Nöde"}'],
      ['application/strategic-merge-patch+json', '[]'],
      ['application/merge-patch+json', '{}'],
    ]);
  });

  it('tells what the server says as an ApiError', async () => {
    lab.handler = (__, response) => void response.writeHead(404).end(JSON.stringify(notFound));
    const { api } = await open();
    const error: unknown = await api.request({ method: 'GET', path: '/x' }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 404, reason: 'NotFound', message: 'nodes "here" not found' });
  });

  it('uses one connection for requests one after another, and the heartbeat another', async () => {
    const { api, heartbeat } = await open();
    for (let i = 0; i < 5; i++) await api.request({ method: 'GET', path: '/x' });
    await heartbeat.request({ method: 'GET', path: '/x' });
    expect(lab.requests.map(({ connection }) => connection)).toEqual([1, 1, 1, 1, 1, 2]);
  });

  it('comes again when the server says when', async () => {
    let asked = 0;
    lab.handler = (__, response) => {
      asked++;
      if (asked < 3) response.writeHead(429, { 'retry-after': '0' }).end('{}');
      else response.end('{"asked":3}');
    };
    const { api } = await open();
    await expect(api.request({ method: 'PUT', path: '/x', body: {} })).resolves.toEqual({ asked: 3 });
  });

  it('does not wait beyond its time for a server that asks for more', async () => {
    lab.handler = (__, response) => void response.writeHead(503, { 'retry-after': '3600' }).end('{}');
    const { api } = await open();
    await expect(api.request({ method: 'GET', path: '/x' })).rejects.toMatchObject({
      code: 503,
      retryAfterMs: 3_600_000,
    });
    expect(lab.requests).toHaveLength(1);
  });

  it('tells what the server had said when another try, which that had asked for, is not answered in time', async () => {
    const { api } = await open();
    // So that it has a connection.
    await api.request({ method: 'GET', path: '/first' });
    lab.handler = (__, response) => {
      if (lab.requests.length === 2) response.writeHead(429, { 'retry-after': '0' }).end('{}');
    };
    const asking = api.request({ method: 'GET', path: '/x', timeoutMs: 300 });
    await expect(asking).rejects.toMatchObject({ code: 429 });
    expect(lab.requests).toHaveLength(3);
  });

  it.each<[string, object]>([
    [
      'by its cause',
      { message: 'Timeout', details: { causes: [null, {}, { reason: 'ResourceVersionTooLarge' }] } },
    ],
    ['by its words', { message: 'Timeout: Too large resource version: 9, current: 7' }],
  ])('does not ask again for a version that the server has waited for in vain: %s', async (_, told) => {
    const status = { kind: 'Status', status: 'Failure', reason: 'Timeout', code: 504, ...told };
    lab.handler = (__, response) =>
      void response.writeHead(504, { 'retry-after': '1' }).end(JSON.stringify(status));
    const { api } = await open();
    const error: unknown = await api.request({ method: 'GET', path: '/x' }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 504, reason: 'Timeout', retryAfterMs: 1_000 });
    expect(isTooNew(error)).toBe(true);
    expect(lab.requests).toHaveLength(1);
  });

  it('asks again where only something in between was too slow', async () => {
    lab.handler = (__, response) => {
      if (lab.requests.length < 3) response.writeHead(504, { 'retry-after': '0' }).end('<html>');
      else response.end('{}');
    };
    const { api } = await open();
    await expect(api.request({ method: 'GET', path: '/x' })).resolves.toEqual({});
  });

  it('gives up a request that is not answered in time, and its caller’s reason when that gives it up', async () => {
    lab.handler = () => undefined;
    const { api } = await open();
    await expect(api.request({ method: 'GET', path: '/slow', timeoutMs: 50 })).rejects.toThrow(
      'GET /slow: no answer within 0.05s',
    );
    const stop = new AbortController();
    const asking = api.request({ method: 'GET', path: '/slow', signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(asking).rejects.toThrow('enough');
  });

  it('asks once more when a connection broke under a read', async () => {
    let asked = 0;
    lab.handler = (__, response) => {
      if (++asked === 1) lab.breakConnections();
      else response.end('{}');
    };
    const { api } = await open();
    await expect(api.request({ method: 'GET', path: '/x' })).resolves.toEqual({});
    expect(asked).toBe(2);
  });

  it('does not send a write again that may have been done', async () => {
    lab.handler = () => lab.breakConnections();
    const { api } = await open();
    await expect(api.request({ method: 'POST', path: '/x', body: {} })).rejects.toThrow();
    expect(lab.requests).toHaveLength(1);
  });

  it('connects anew after its connections were dropped', async () => {
    const { api } = await open();
    await api.request({ method: 'GET', path: '/x' });
    api.dropConnections();
    await api.request({ method: 'GET', path: '/x' });
    expect(lab.connections).toBe(2);
  });

  it('does not talk to a server that it cannot verify', async () => {
    const { api } = await open('{ token: secret }', 'tls-server-name: api.lab');
    await expect(api.request({ method: 'GET', path: '/x' })).rejects.toThrow(
      /cannot connect to 127\.0\.0\.1/,
    );
    const named = await open('{}', 'certificate-authority: ca.crt, tls-server-name: other.lab');
    await expect(named.api.request({ method: 'GET', path: '/x' })).rejects.toThrow(/other\.lab/);
    expect(lab.requests).toEqual([]);
    const right = await open('{}', 'certificate-authority: ca.crt, tls-server-name: api.lab');
    await expect(right.api.request({ method: 'GET', path: '/x' })).resolves.toEqual({});
  });

  it('shows a new token of its file after the old one was refused', async () => {
    await writeFile(lab.file('token'), 'old\n');
    lab.handler = ({ headers }, response) => {
      if (headers.authorization === 'Bearer new') response.end('{}');
      else response.writeHead(401).end('{}');
    };
    const { api } = await open('{ tokenFile: token }');
    await expect(api.request({ method: 'GET', path: '/x' })).rejects.toMatchObject({ code: 401 });
    await writeFile(lab.file('token'), 'new\n');
    await expect(api.request({ method: 'GET', path: '/x' })).resolves.toEqual({});
  });

  it('shows a new certificate of its files after the old one was refused, on another connection', async () => {
    await lab.writeClientPair('node', 'old');
    lab.handler = ({ user }, response) => {
      if (user === 'new') response.end('{}');
      else response.writeHead(401).end('{}');
    };
    const { api } = await open('{ client-certificate: node.crt, client-key: node.key }');
    await expect(api.request({ method: 'GET', path: '/x' })).rejects.toMatchObject({ code: 401 });
    await lab.writeClientPair('node', 'new');
    await expect(api.request({ method: 'GET', path: '/x' })).resolves.toEqual({});
    expect(lab.connections).toBe(2);
  });

  it('publishes each request that it has sent', async () => {
    lab.handler = (__, response) => void response.writeHead(404).end('{}');
    const ends: KubeRequestEnd[] = [];
    const stop = kubeRequestEnded.subscribe((end) => ends.push(end));
    const { api } = await open();
    await api.request({ method: 'PUT', path: '/x', body: { a: 1 } }).catch(() => undefined);
    stop();
    const host = `127.0.0.1:${lab.port}`;
    expect(ends).toMatchObject([{ method: 'PUT', code: 404, host, requestBytes: 7, responseBytes: 2 }]);
  });

  describe('watches', () => {
    const line = (event: unknown): string => `${JSON.stringify(event)}\n`;
    const pod = (name: string) => ({ type: 'ADDED' as const, object: { name } });

    it('give events as they come, whatever pieces they come in, until the server ends them', async () => {
      lab.handler = (__, response) => {
        const text = Buffer.from([pod('a'), { type: 'NEW', object: {} }, pod('ü')].map(line).join(''));
        response.write(text.subarray(0, 20));
        response.write(text.subarray(20, text.length - 5));
        setImmediate(() => response.end(text.subarray(text.length - 5)));
      };
      const { api } = await open();
      const signal = new AbortController().signal;
      const query = { resourceVersion: '7', timeoutSeconds: '60' };
      const events: WatchEvent<unknown>[] = [];
      for await (const event of api.watch({ path: '/api/v1/pods', query, signal })) events.push(event);
      expect(events).toEqual([pod('a'), pod('ü')]);
      expect(lab.requests[0]!.path).toBe(
        '/api/v1/pods?resourceVersion=7&timeoutSeconds=60&watch=true&allowWatchBookmarks=true',
      );
    });

    it('throw what the server says, before it has begun and after', async () => {
      const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
      const { api } = await open();
      const signal = new AbortController().signal;
      const next = async (): Promise<unknown> =>
        api.watch({ path: '/x', query: {}, signal })[Symbol.asyncIterator]().next();
      lab.handler = (__, response) => void response.end(line({ type: 'ERROR', object: gone }));
      await expect(next()).rejects.toMatchObject({ code: 410, reason: 'Expired' });
      lab.handler = (__, response) => void response.writeHead(403).end(line({ reason: 'Forbidden' }));
      await expect(next()).rejects.toMatchObject({ code: 403, reason: 'Forbidden' });
    });

    it('throw when the connection breaks, and the reason of a signal that ends them', async () => {
      lab.handler = (__, response) => void response.write(line(pod('a')));
      const { api } = await open();
      const stop = new AbortController();
      const first = api.watch({ path: '/x', query: {}, signal: stop.signal })[Symbol.asyncIterator]();
      await expect(first.next()).resolves.toEqual({ done: false, value: pod('a') });
      lab.breakConnections();
      await expect(first.next()).rejects.toThrow();
      const second = api.watch({ path: '/x', query: {}, signal: stop.signal })[Symbol.asyncIterator]();
      await second.next();
      const waiting = second.next();
      stop.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
    });

    it('end at the server when their reader leaves', async () => {
      const left = new Promise<void>((resolve) => {
        lab.handler = (__, response) => {
          response.once('close', () => resolve());
          response.write(line(pod('a')));
        };
      });
      const { api } = await open();
      const signal = new AbortController().signal;
      for await (const event of api.watch({ path: '/x', query: {}, signal })) {
        expect(event).toEqual(pod('a'));
        break;
      }
      await left;
    });
  });
});

it.each([
  [40, 4],
  [1_000, 2],
])(
  'opens another connection when a server takes no more than %i watches over one',
  async (maxStreams, most) => {
    await using lab = await KubeApiHarness.open({ maxStreams });
    lab.handler = (_, response) => void response.write('{"type":"ADDED","object":{}}\n');
    const clients = await openKubeClients({
      ...{ file: await lab.writeKubeconfig(), version: '1.2.3', clock, environment: {} },
      ...{
        rateLimit: { perSecond: Infinity, burst: 1 },
        heartbeatTimeoutMs: 10_000,
        logger: new LogRecorder(),
      },
    });
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const watches = Array.from({ length: 150 }, () =>
      clients.api.watch({ path: '/x', query: {}, signal: stop.signal })[Symbol.asyncIterator](),
    );
    const first = await Promise.all(watches.map(async (each) => each.next()));
    expect(first.every(({ done }) => done === false)).toBe(true);
    expect(lab.connections).toBeLessThanOrEqual(most);
    const ending = Promise.allSettled(watches.map(async (each) => each.next()));
    stop.abort(new Error('enough'));
    await ending;
    clients.close();
  },
);

describe('a client that is held back', () => {
  const limited = async (lab: KubeApiHarness, held: FakeClock): Promise<KubeClients> => {
    lab.handler = (_, response) => void response.end('{}');
    const clients = await openKubeClients({
      ...{ file: await lab.writeKubeconfig(), version: '1.2.3', clock: held, environment: {} },
      ...{ rateLimit: { perSecond: 1, burst: 1 }, heartbeatTimeoutMs: 10_000, logger: new LogRecorder() },
    });
    await clients.api.request({ method: 'GET', path: '/first' });
    return clients;
  };

  it('gives each request its time from when it is sent, and none for what it waits before', async () => {
    await using lab = await KubeApiHarness.open();
    const held = new FakeClock();
    const clients = await limited(lab, held);
    const timeoutMs = 2_000;
    let answered = 0;
    const asked = Array.from({ length: 20 }, async () => {
      await clients.api.request({ method: 'GET', path: '/x', timeoutMs });
      answered++;
    });
    for (let second = 1; second <= 20; second++) {
      await held.advance(1_000);
      await untilTrue(() => answered === second);
    }
    await Promise.all(asked);
    lab.handler = () => undefined;
    const silent = clients.api.request({ method: 'GET', path: '/silent', timeoutMs });
    const refused = expect(silent).rejects.toThrow('GET /silent: no answer within 2s');
    await held.advance(3_000);
    await refused;
    clients.close();
  });

  it('sends what is urgent before what is not, and says so of what it never sent', async () => {
    await using lab = await KubeApiHarness.open();
    const held = new FakeClock();
    const clients = await limited(lab, held);
    const ask = async (path: string, isUrgent: boolean): Promise<unknown> =>
      clients.api.request({ method: 'GET', path, isUrgent });
    const objects = Array.from({ length: 320 }, async () => ask('/object', false).catch(messageOf));
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        const before = lab.requests.length;
        await held.advance(1_000);
        await untilTrue(() => lab.requests.length > before);
      }
    };
    await pass(5);
    const token = ask('/token', true);
    await pass(1);
    await token;
    expect(lab.requests.map(({ path }) => path)).toEqual([
      ...['/first', '/object', '/object', '/object', '/object', '/object', '/token'],
    ]);
    await pass(293);
    await held.advance(1_000);
    const unsent = (await Promise.all(objects)).filter((each) => typeof each === 'string');
    expect(unsent.length).toBeGreaterThan(20);
    expect(new Set(unsent)).toEqual(
      new Set(['GET /object: not sent, as it waited too long for the limit of requests']),
    );
    clients.close();
  });

  it('is done with what waits as soon as it is closed', async () => {
    await using lab = await KubeApiHarness.open();
    const held = new FakeClock();
    const clients = await limited(lab, held);
    const before = held.pendingTimers;
    const asked = clients.api.request({ method: 'GET', path: '/x' });
    const told = expect(asked).rejects.toThrow('the client is closed');
    await held.advance(10);
    expect(held.pendingTimers).toBeGreaterThan(before);
    clients.close();
    await told;
    expect(held.pendingTimers).toBeLessThanOrEqual(before);
  });

  it('tells of a watch as soon as the server has agreed to it, though nothing may have happened', async () => {
    await using lab = await KubeApiHarness.open();
    const held = new FakeClock();
    const clients = await limited(lab, held);
    lab.handler = (_, response) => void response.writeHead(200);
    const stop = new AbortController();
    let opened = 0;
    const query = {};
    const watch = clients.api.watch({ path: '/x', query, signal: stop.signal, onOpen: () => opened++ });
    const first = watch[Symbol.asyncIterator]().next();
    await held.advance(999);
    expect(opened).toBe(0);
    await held.advance(1);
    await untilTrue(() => opened === 1);
    stop.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    clients.close();
  });
});

it('the lab refuses whoever cannot verify it', async () => {
  // Otherwise the tests above would show nothing.
  await using lab = await KubeApiHarness.open();
  const session = connectHttp2(`https://127.0.0.1:${lab.port}`);
  await expect(new Promise((_, reject) => session.once('error', reject))).rejects.toThrow();
});
