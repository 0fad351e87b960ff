import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer, type Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';

import { CriTestServer } from '#support/clients/cri-test-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { PodloopError } from '#base/errors/errors.js';

import { findEndpoint, parseEndpoint } from './endpoint.js';
import { VersionResponse } from './generated/runtime/v1/cri.js';
import { probeEndpoint } from './probe-endpoint.js';

let folder: string;
const cleanups = new DisposalStack();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-endpoint-'));
  cleanups.defer(() => rm(folder, { recursive: true, force: true }));
});
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

async function listen(server: NetServer, path = join(folder, 'it.sock')): Promise<string> {
  server.listen(path);
  await once(server, 'listening');
  cleanups.defer(async () => {
    server.close();
    await once(server, 'close');
  });
  return path;
}

async function failureOf(promise: Promise<unknown>): Promise<PodloopError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PodloopError);
  expect((error as PodloopError).message).not.toContain('\n');
  return error as PodloopError;
}

describe('an endpoint', () => {
  it.each([
    ['unix:///run/containerd/containerd.sock', '/run/containerd/containerd.sock'],
    ['/run/crio/crio.sock', '/run/crio/crio.sock'],
  ])('is parsed from %s', (text, socketPath) => {
    expect(parseEndpoint(text)).toEqual({ url: `unix://${socketPath}`, socketPath });
  });

  it.each([
    ['', 'empty'],
    ['unix://run/x.sock', 'did you mean unix:///run/x.sock?'],
    ['unix:/run/x.sock', 'unix is not supported'],
    ['run/x.sock', 'not absolute'],
    ['tcp://127.0.0.1:1234', 'tcp is not supported'],
    ['npipe:////./pipe/x', 'npipe is not supported'],
    [`/${'x'.repeat(107)}`, 'at most 107 bytes'],
    ['/run/\0', 'zero byte'],
  ])('is rejected as %j', (text, why) => {
    expect(() => parseEndpoint(text)).toThrow(expect.objectContaining({ code: 'ENDPOINT_INVALID' }) as Error);
    expect(() => parseEndpoint(text)).toThrow(why);
  });

  it('is found at the first path that has a socket', async () => {
    const path = await listen(createServer());
    const plainFile = join(folder, 'file');
    await writeFile(plainFile, '');
    expect(await findEndpoint([join(folder, 'none'), plainFile, path])).toEqual({
      url: `unix://${path}`,
      socketPath: path,
    });
  });

  it('lists the paths that were tried when there is none', async () => {
    const error = await failureOf(findEndpoint([join(folder, 'a'), join(folder, 'b')]));
    expect(error.code).toBe('ENDPOINT_NOT_FOUND');
    expect(error.message).toContain(`${folder}/a, ${folder}/b`);
  });
});

describe('the probe of an endpoint', () => {
  it('returns the version of a runtime', async () => {
    const version = VersionResponse.create({ runtimeName: 'testd' });
    const server = await CriTestServer.start({ handlers: { version: (_, reply) => reply(null, version) } });
    cleanups.defer(() => server[Symbol.asyncDispose]());
    expect(await probeEndpoint(server.endpoint)).toEqual(version);
  });

  it('reports that there is no socket', async () => {
    expect((await failureOf(probeEndpoint(join(folder, 'none')))).code).toBe('ENDPOINT_NOT_FOUND');
  });

  it('reports a file or a folder in place of a socket', async () => {
    const plainFile = join(folder, 'file');
    await writeFile(plainFile, '');
    for (const [path, what] of [
      [plainFile, 'is a file, no socket'],
      [folder, 'is a folder, no socket'],
    ] as const) {
      const error = await failureOf(probeEndpoint(path));
      expect(error.code).toBe('ENDPOINT_NOT_FOUND');
      expect(error.message).toContain(what);
    }
  });

  it.runIf(process.getuid?.() === 0)('reports that it has no permission to open the socket', async () => {
    const path = await listen(createServer());
    await chmod(folder, 0o700);
    // Sets the effective ids of the whole process, which the kernel checks in connect().
    process.seteuid!(65534);
    try {
      const error = await failureOf(probeEndpoint(path));
      expect(error.code).toBe('ENDPOINT_PERMISSION_DENIED');
      expect(error.message).toContain('root');
    } finally {
      process.seteuid!(0);
    }
  });

  it('reports an HTTP/1 server, such as Docker, as no CRI runtime', async () => {
    const path = await listen(createHttpServer((_, response) => response.end('hello')));
    const error = await failureOf(probeEndpoint(path));
    expect(error.code).toBe('ENDPOINT_NOT_CRI');
    expect(error.message).toContain('HTTP/1');
  });

  it('reports a server that hangs up, or one that talks first, as no CRI runtime', async () => {
    const hangsUp = await listen(createServer((socket) => socket.destroy()));
    expect((await failureOf(probeEndpoint(hangsUp))).code).toBe('ENDPOINT_NOT_CRI');
    const talks = await listen(
      createServer((socket) =>
        socket
          .on('error', () => undefined)
          .resume()
          .end('220 mail.example.com ESMTP\r\n'),
      ),
      join(folder, 'mail.sock'),
    );
    expect((await failureOf(probeEndpoint(talks))).code).toBe('ENDPOINT_NOT_CRI');
  });

  it('reports HTTP/2 without gRPC as no CRI runtime', async () => {
    const server = createHttp2Server((_, response) => response.writeHead(404).end());
    const path = await listen(server);
    const error = await failureOf(probeEndpoint(path));
    expect(error.code).toBe('ENDPOINT_NOT_CRI');
    expect(error.message).toContain('HTTP/2 without gRPC');
  });

  it('reports a gRPC server without CRI v1', async () => {
    const server = await CriTestServer.start();
    cleanups.defer(() => server[Symbol.asyncDispose]());
    const error = await failureOf(probeEndpoint(server.endpoint));
    expect(error.code).toBe('ENDPOINT_NO_CRI_V1');
    expect(error.message).toContain('CRI plugin');
  });

  it('gives up on a server that accepts and stays silent', async () => {
    const clock = new FakeClock();
    const server = createServer((socket) => {
      cleanups.defer(() => void socket.destroy());
    });
    const path = await listen(server);
    const accepted = once(server, 'connection');
    const outcome = failureOf(probeEndpoint(path, { clock }));
    await accepted;
    await clock.advance(10_000);
    const error = await outcome;
    expect(error.code).toBe('CRI_DEADLINE_EXCEEDED');
    expect(error.message).toContain('says nothing');
  });

  it('ends with the reason of its signal', async () => {
    const server = createServer((socket) => {
      cleanups.defer(() => void socket.destroy());
    });
    const path = await listen(server);
    const controller = new AbortController();
    const accepted = once(server, 'connection');
    const probe = probeEndpoint(path, { signal: controller.signal });
    const reason = new Error('enough');
    void accepted.then(() => controller.abort(reason));
    await expect(probe).rejects.toBe(reason);
  });
});
