import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import {
  type sendUnaryData,
  Server as GrpcServer,
  ServerCredentials,
  type ServerUnaryCall,
  status as grpcStatus,
} from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { type HttpGetAction, type Probe } from '#kube/container/container.js';
import { FakeClock } from '#testing/fake-clock.js';
import { probeRunner } from './probe-runner.js';
import { decodeHealthResponse, encodeHealthRequest } from './health-message.js';
import { type ProbeOutcome } from './probe-outcome.js';

const cleanups = new DisposalStack();
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

/** Listens on loopback and gives the port. */
async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A port at which nobody listens. */
async function deafPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs one probe; `clock` decides on its deadline. */
async function run(
  probe: Probe,
  clock = new FakeClock(),
  ports: { name: string; containerPort: number }[] = [],
) {
  const runProbe = probeRunner({ clock, commands: { execSync: () => Promise.reject(new Error('none')) } });
  return await runProbe(
    {
      pod: { uid: 'uid-web', namespace: 'default', name: 'web' },
      container: { name: 'main', image: 'i', ports },
      type: 'liveness',
      probe,
      neverRestarts: false,
      containerId: 'a',
      host: '127.0.0.1',
      timeoutMs: 1_000,
    },
    new AbortController().signal,
  );
}

/** Lets a probe run into its deadline once `reached` resolves. */
async function runOut(probe: Probe, reached: Promise<unknown>): Promise<ProbeOutcome> {
  const clock = new FakeClock();
  const outcome = run(probe, clock);
  await reached;
  await clock.advance(1_001);
  return await outcome;
}

async function http(listener: RequestListener): Promise<number> {
  return await listen(createHttpServer(listener));
}

const get = (port: number | string, fields: Partial<HttpGetAction> = {}): Probe => ({
  httpGet: { port, path: '/', scheme: 'HTTP', ...fields },
});

describe('a probe by HTTP', () => {
  it.each([
    [200, 'success', 'body'],
    [204, 'success', ''],
    [304, 'warning', 'Probe terminated redirects, Response body: '],
    [302, 'warning', 'Probe terminated redirects, Response body: body'],
    [404, 'failure', 'HTTP probe failed with statuscode: 404'],
    [500, 'failure', 'HTTP probe failed with statuscode: 500'],
  ])('takes %i for %s', async (status, result, message) => {
    const port = await http((_request, response) => response.writeHead(status).end('body'));
    expect(await run(get(port))).toEqual({ result, isDecisive: true, message });
  });

  it('sends its user agent, the configured headers, and nothing else', async () => {
    let seen: unknown;
    const port = await http((request, response) => {
      seen = [request.method, request.url, request.headers];
      response.end();
    });
    const httpHeaders = [
      { name: 'X-One', value: '1' },
      { name: 'X-One', value: '2' },
      { name: 'Host', value: 'web.example' },
      { name: 'X-Empty' },
    ];
    await run(get('web', { path: '/healthz?full=1', httpHeaders }), undefined, [
      { name: 'web', containerPort: port },
    ]);
    expect(seen).toEqual([
      'GET',
      '/healthz?full=1',
      {
        'x-one': '1, 2',
        host: 'web.example',
        'x-empty': '',
        'user-agent': 'kube-probe/1.37',
        accept: '*/*',
        connection: 'close',
      },
    ]);
  });

  it('leaves out what was written empty, and takes what was written instead of its own', async () => {
    let seen: unknown;
    const port = await http((request, response) => {
      seen = request.headers;
      response.end();
    });
    const httpHeaders = [
      { name: 'Accept', value: '' },
      { name: 'user-agent', value: 'mine' },
    ];
    await run(get(port, { httpHeaders }));
    expect(seen).toEqual({ 'user-agent': 'mine', host: `127.0.0.1:${port}`, connection: 'close' });
  });

  it('goes nowhere else for a path with two slashes', async () => {
    let seen: string | undefined;
    const port = await http((request, response) => {
      seen = request.url;
      response.end();
    });
    expect((await run(get(port, { path: '//example.com/x' }))).result).toBe('success');
    expect(seen).toBe('//example.com/x');
  });

  it('follows redirects on the host', async () => {
    const hosts: (string | undefined)[] = [];
    const port = await http((request, response) => {
      hosts.push(request.headers.host);
      if (request.url === '/') response.writeHead(301, { location: '/a' }).end();
      else if (request.url === '/a')
        response.writeHead(307, { location: `http://127.0.0.1:${port}/b` }).end();
      else response.end('there');
    });
    const httpHeaders = [{ name: 'Host', value: 'web.example' }];
    expect(await run(get(port, { httpHeaders }))).toMatchObject({ result: 'success', message: 'there' });
    expect(hosts).toEqual(['web.example', 'web.example', `127.0.0.1:${port}`]);
  });

  it('does not follow one that leads away, and warns of it', async () => {
    const port = await http((_request, response) =>
      response.writeHead(302, { location: 'http://example.com/login' }).end('elsewhere'),
    );
    expect(await run(get(port))).toEqual({
      result: 'warning',
      isDecisive: true,
      message: 'Probe terminated redirects, Response body: elsewhere',
    });
  });

  it('gives up after ten requests', async () => {
    let requests = 0;
    const port = await http((_request, response) => {
      requests++;
      response.writeHead(302, { location: `/${requests}` }).end();
    });
    const { result, message } = await run(get(port));
    expect([result, message, requests]).toEqual([
      'failure',
      `Get "http://127.0.0.1:${port}/10": stopped after 10 redirects`,
      10,
    ]);
  });

  it.each(['http://[', 'ftp://127.0.0.1/'])('fails by a redirect to %s', async (location) => {
    const port = await http((_request, response) => response.writeHead(302, { location }).end());
    expect((await run(get(port))).result).toBe('failure');
  });

  it('reads no more than the beginning of a body', async () => {
    const port = await http((_request, response) => {
      const more = (): void => {
        while (response.write('x'.repeat(16_384)));
      };
      response.on('drain', more);
      more();
    });
    const { result, message } = await run(get(port));
    expect([result, message]).toEqual(['success', 'x'.repeat(10_240)]);
  });

  it.each([
    [200, 'half', {}],
    [204 + 2, 'x'.repeat(10_239), {}],
    [302, '', { 'content-length': 10 }],
    [500, '', {}],
    [503, 'half', { 'content-length': 1_000_000 }],
  ])('throws %i away whose body does not end in time', async (status, begin, headers) => {
    let begun!: () => void;
    const reached = new Promise<void>((resolve) => (begun = resolve));
    const port = await http((_request, response) => {
      response.writeHead(status, headers).flushHeaders();
      response.write(begin === '' ? Buffer.alloc(0) : begin, () => setImmediate(begun));
    });
    expect(await runOut(get(port), reached)).toEqual({
      ...{ result: 'error', isDecisive: false },
      message: 'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    });
  });

  it.each([0, 10_239])('throws an answer away whose body is cut off after %i bytes', async (bytes) => {
    const port = await listen(
      createTcpServer((socket) =>
        socket.once('data', () =>
          socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${'x'.repeat(bytes)}`),
        ),
      ),
    );
    expect(await run(get(port))).toMatchObject({
      ...{ result: 'error', isDecisive: false },
      message: expect.stringMatching(/^unexpected EOF/) as string,
    });
  });

  it('takes what has come of a body that is cut off beyond 10 KiB', async () => {
    const port = await listen(
      createTcpServer((socket) =>
        socket.once('data', () =>
          socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${'x'.repeat(10_240)}`),
        ),
      ),
    );
    expect(await run(get(port))).toMatchObject({ result: 'success', message: 'x'.repeat(10_240) });
  });

  it('takes a server that says nothing for silent', async () => {
    let asked!: () => void;
    const reached = new Promise<void>((resolve) => (asked = resolve));
    const port = await http(() => asked());
    expect(await runOut(get(port), reached)).toEqual({
      result: 'failure',
      isDecisive: false,
      message: `Get "http://127.0.0.1:${port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
  });

  it('takes a closed port for an answer, and a connection that ends before one for silence', async () => {
    const closed = await deafPort();
    expect(await run(get(closed))).toEqual({
      result: 'failure',
      isDecisive: true,
      message: `Get "http://127.0.0.1:${closed}/": dial tcp 127.0.0.1:${closed}: connect: connection refused`,
    });
    const port = await listen(createTcpServer((socket) => socket.once('data', () => socket.end())));
    expect(await run(get(port))).toEqual({
      result: 'failure',
      isDecisive: false,
      message: `Get "http://127.0.0.1:${port}/": EOF`,
    });
  });

  it('takes it for silence when the server had no request', async () => {
    const port = await http((_request, response) => response.writeHead(408).end());
    expect((await run(get(port))).isDecisive).toBe(false);
  });

  it('finds nothing out without a port or an address', async () => {
    await expect(run(get('web'))).rejects.toThrow('couldn\'t find port: "web" in main');
  });
});

describe('a probe by TCP', () => {
  it('wants a connection and nothing else', async () => {
    const port = await listen(createTcpServer());
    expect(await run({ tcpSocket: { port } })).toEqual({ result: 'success', isDecisive: true, message: '' });
    const closed = await deafPort();
    expect(await run({ tcpSocket: { port: closed } })).toEqual({
      result: 'failure',
      isDecisive: true,
      message: `dial tcp 127.0.0.1:${closed}: connect: connection refused`,
    });
  });

  it('goes to the host that it names', async () => {
    const port = await listen(createTcpServer());
    const closed = await deafPort();
    expect((await run({ tcpSocket: { port, host: 'localhost' } })).result).toBe('success');
    expect((await run({ tcpSocket: { port: closed, host: '127.0.0.2' } })).message).toBe(
      `dial tcp 127.0.0.2:${closed}: connect: connection refused`,
    );
  });
});

describe('a probe by gRPC', () => {
  const path = '/grpc.health.v1.Health/Check';

  async function grpcServer(serving: number | { code: number; details: string }): Promise<number> {
    const server = new GrpcServer();
    const check = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: (value: Buffer) => value,
      requestDeserialize: (value: Buffer) => value,
      responseSerialize: (value: Buffer) => value,
      responseDeserialize: (value: Buffer) => value,
    };
    server.addService(
      { check },
      {
        check: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
          if (typeof serving === 'object') answer(serving);
          // The service "other" is not known.
          else answer(null, Buffer.from(call.request.includes('other') ? [8, 3] : [8, serving]));
        },
      },
    );
    cleanups.defer(() => server.forceShutdown());
    return await new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
        if (error) reject(error);
        else resolve(port);
      });
    });
  }

  it.each([
    [0, 'failure', 'service unhealthy (responded with "UNKNOWN")'],
    [1, 'success', 'service healthy'],
    [2, 'failure', 'service unhealthy (responded with "NOT_SERVING")'],
    [9, 'failure', 'service unhealthy (responded with "9")'],
  ])('takes status %i for %s', async (serving, result, message) => {
    const port = await grpcServer(serving);
    expect(await run({ grpc: { port } })).toEqual({ result, isDecisive: true, message });
  });

  it('asks for the service that it names', async () => {
    const port = await grpcServer(1);
    expect((await run({ grpc: { port, service: 'mine' } })).result).toBe('success');
    expect((await run({ grpc: { port, service: 'other' } })).message).toBe(
      'service unhealthy (responded with "SERVICE_UNKNOWN")',
    );
  });

  it.each([
    [grpcStatus.NOT_FOUND, true, 'error: health rpc probe failed: rpc error: code = 5 desc = no, never'],
    [
      grpcStatus.UNIMPLEMENTED,
      true,
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): no, never',
    ],
    [grpcStatus.UNAVAILABLE, false, 'error: health rpc probe failed: rpc error: code = 14 desc = no, never'],
    [grpcStatus.DEADLINE_EXCEEDED, false, 'timeout: health rpc did not complete within 1s'],
  ])('fails by the code %i', async (code, isDecisive, message) => {
    const port = await grpcServer({ code, details: 'no, never' });
    expect(await run({ grpc: { port } })).toEqual({ result: 'failure', isDecisive, message });
  });

  it('fails where nobody listens, or nobody speaks HTTP/2', async () => {
    const closed = await deafPort();
    expect(await run({ grpc: { port: closed } })).toEqual({
      result: 'failure',
      isDecisive: true,
      message: `error: failed to connect service at "127.0.0.1:${closed}": dial tcp 127.0.0.1:${closed}: connect: connection refused`,
    });
    const http1 = await http((_request, response) => response.end());
    expect((await run({ grpc: { port: http1 } })).result).toBe('failure');
    const rude = await listen(createTcpServer((socket) => socket.once('data', () => socket.end())));
    expect((await run({ grpc: { port: rude } })).result).toBe('failure');
  });

  it('fails by an HTTP status', async () => {
    const server = createHttp2Server();
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 503 });
      stream.end();
    });
    const port = await listen(server);
    expect((await run({ grpc: { port } })).message).toBe(
      'error: health rpc probe failed: unexpected HTTP status code received from server: 503',
    );
  });

  it('takes a server that says nothing for silent', async () => {
    let asked!: () => void;
    const reached = new Promise<void>((resolve) => (asked = resolve));
    const server = createHttp2Server();
    server.on('stream', () => asked());
    const port = await listen(server);
    expect(await runOut({ grpc: { port } }, reached)).toEqual({
      result: 'failure',
      isDecisive: false,
      message: 'timeout: health rpc did not complete within 1s',
    });
  });
});

describe('the messages of gRPC’s health service', () => {
  it('are written as protobuf does', () => {
    expect([...encodeHealthRequest('')]).toEqual([0, 0, 0, 0, 0]);
    expect([...encodeHealthRequest('ab')]).toEqual([0, 0, 0, 0, 4, 0x0a, 2, 97, 98]);
    expect([...encodeHealthRequest('x'.repeat(300)).subarray(0, 8)]).toEqual([0, 0, 0, 1, 47, 0x0a, 0xac, 2]);
  });

  it.each([
    [[], 'UNKNOWN'],
    [[8, 1], 'SERVING'],
    // Fields that it does not know, of every wire type, are passed over.
    [[0x12, 2, 8, 2, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x25, 1, 2, 3, 4, 0x30, 0x96, 1, 8, 1], 'SERVING'],
    [[8, 2, 8, 1], 'SERVING'],
  ])('are read from %j', (bytes, status) => {
    const frame = Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]);
    expect(decodeHealthResponse(frame)).toBe(status);
  });

  it.each([[[]], [[0, 0, 0, 0, 2, 8]], [[1, 0, 0, 0, 0]], [[0, 0, 0, 0, 1, 8]], [[0, 0, 0, 0, 2, 0x0b, 1]]])(
    'are refused where they are none: %j',
    (bytes) => {
      expect(() => decodeHealthResponse(Buffer.from(bytes))).toThrow('the answer');
    },
  );
});
