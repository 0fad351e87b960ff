import { connect as connectHttp2 } from 'node:http2';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ImageServiceService, RuntimeServiceService } from '#watch/messages';
import { CriTestServer, type CriTestServerOptions } from '#support/clients/cri-test-server.js';
import { CriClient } from '../../watch/cri/client.js';
import { CRI_METHODS, type CriMethodName } from '../../watch/cri/methods.js';
import { ReadingProxy, type ReadingProxyOptions } from './reading-proxy.js';

const NAMES = Object.keys(CRI_METHODS) as CriMethodName[];
/** Every other method of CRI changes something, or reaches into a container. */
const READING: readonly CriMethodName[] = [
  ...([
    'version',
    'status',
    'runtimeConfig',
    'listPodSandbox',
    'streamPodSandboxes',
    'podSandboxStatus',
  ] as const),
  ...([
    'listContainers',
    'streamContainers',
    'containerStatus',
    'containerStats',
    'listContainerStats',
  ] as const),
  ...(['streamContainerStats', 'podSandboxStats', 'listPodSandboxStats', 'streamPodSandboxStats'] as const),
  ...(['listMetricDescriptors', 'listPodSandboxMetrics', 'streamPodSandboxMetrics'] as const),
  ...(['listImages', 'streamImages', 'imageStatus', 'imageFsInfo'] as const),
];

/** A runtime that answers every method with nothing and remembers what it was asked, and the proxy in front of it. */
async function setUp(more: Partial<ReadingProxyOptions> = {}, server: CriTestServerOptions = {}) {
  const asked: string[] = [];
  const methods = Object.values({ ...RuntimeServiceService, ...ImageServiceService });
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  const keyOf = (path: string): string => nameOf(path)[0]!.toLowerCase() + nameOf(path).slice(1);
  const note = (path: string): Buffer => {
    asked.push(nameOf(path));
    return Buffer.alloc(0);
  };
  const of = (isStream: boolean) => methods.filter(({ responseStream }) => responseStream === isStream);
  const runtime = await CriTestServer.start({
    raw: Object.fromEntries(of(false).map(({ path }) => [keyOf(path), () => note(path)])),
    rawStreams: Object.fromEntries(of(true).map(({ path }) => [keyOf(path), () => [note(path)]])),
    ...server,
  });
  const folder = await mkdtemp(join(tmpdir(), 'podloop-reading-'));
  const socketPath = join(folder, 'read.sock');
  const refused: string[] = [];
  const proxy = await ReadingProxy.start({
    ...{ upstream: runtime.endpoint, listen: `unix://${socketPath}` },
    onRefused: (method) => refused.push(method),
    ...more,
  });
  const client = new CriClient({ endpoint: proxy.endpoint });
  onTestFinished(async () => {
    client.close();
    await proxy.close();
    await runtime[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const call = async (name: CriMethodName, request: object = {}): Promise<unknown> => {
    const method: (request: object) => unknown = client[name].bind(client);
    const answer = method(request);
    if (!CRI_METHODS[name].streaming) return await answer;
    for await (const message of answer as AsyncIterable<unknown>) return message;
    return undefined;
  };
  return { asked, refused, runtime, proxy, client, call, socketPath };
}

describe('a socket that only reads', () => {
  it('knows every method of CRI', () => {
    expect(NAMES.length).toBeGreaterThan(35);
    expect(NAMES).toEqual(expect.arrayContaining([...READING, 'getContainerEvents']));
  });

  it('passes on each call that reads', async () => {
    const { asked, refused, call } = await setUp();
    for (const name of READING) await call(name);
    expect(asked).toEqual(READING.map((name) => CRI_METHODS[name].name));
    expect(refused).toEqual([]);
  });

  it('refuses each other call, with words, and the runtime hears of none', async () => {
    const { asked, refused, call, proxy } = await setUp();
    const others = NAMES.filter((name) => !READING.includes(name));
    for (const name of others) {
      const error = await call(name).catch((thrown: unknown) => thrown as Error & { code: string });
      expect([name, error]).toMatchObject([name, { code: 'CRI_PERMISSION_DENIED' }]);
      expect((error as Error).message).toContain('is refused');
    }
    expect(asked).toEqual([]);
    expect(refused).toEqual(others.map((name) => CRI_METHODS[name].name));
    expect(proxy.refused).toBe(others.length);
  });

  it.each(['status', 'podSandboxStatus', 'containerStatus', 'imageStatus'] as const)(
    'refuses a verbose %s',
    async (name) => {
      const { asked, call } = await setUp();
      await expect(call(name, { verbose: true })).rejects.toThrow('shows the variables of containers');
      expect(asked).toEqual([]);
    },
  );

  it('takes no request of more than gRPC usually allows', async () => {
    const { asked, call } = await setUp();
    const filter = { id: 'x'.repeat(5 * 1024 * 1024) };
    await expect(call('listContainers', { filter })).rejects.toThrow(/larger than max|RESOURCE_EXHAUSTED/i);
    expect(asked).toEqual([]);
  });

  it('gives events where that is asked for', async () => {
    const { asked, call } = await setUp({ allowsEvents: true });
    await call('getContainerEvents');
    expect(asked).toEqual(['GetContainerEvents']);
  });

  it('has no service beside CRI, and speaks no other protocol', async () => {
    const { asked, socketPath } = await setUp();
    const client = new Client(`unix:${socketPath}`, credentials.createInsecure());
    const identity = (bytes: Buffer): Buffer => bytes;
    const ask = async (path: string): Promise<number> =>
      new Promise((resolve) => {
        client.makeUnaryRequest(path, identity, identity, Buffer.alloc(0), (error: ServiceError | null) =>
          resolve(error?.code ?? status.OK),
        );
      });
    for (const path of [
      '/containerd.services.tasks.v1.Tasks/Kill',
      '/runtime.v1alpha2.RuntimeService/RunPodSandbox',
      '/runtime.v1.RuntimeService/runPodSandbox',
      '/runtime.v1.RuntimeService/RunPodSandbox/',
      '//runtime.v1.RuntimeService/RunPodSandbox',
    ])
      expect([path, await ask(path)]).toEqual([path, status.UNIMPLEMENTED]);
    client.close();
    // CRI-O answers HTTP at the same socket.
    const session = connectHttp2('http://localhost', { path: socketPath });
    const code = await new Promise((resolve) => {
      const request = session.request({ ':path': '/pause/0123', ':method': 'POST' });
      request.on('response', (headers) => resolve(headers[':status']));
      request.on('error', () => resolve('broken'));
      request.end();
    });
    session.destroy();
    expect(code).not.toBe(200);
    expect(asked).toEqual([]);
  });

  it('passes on errors, cancellations and answers of any size', async () => {
    const cancelled: string[] = [];
    const large = 'x'.repeat(12 * 2 ** 20);
    const { client } = await setUp(
      {},
      {
        raw: {},
        rawStreams: {},
        handlers: {
          version: (_call, reply) =>
            reply(null, { version: '1', runtimeName: large, runtimeVersion: '', runtimeApiVersion: '' }),
          containerStatus: (_call, reply) =>
            reply({ code: status.NOT_FOUND, details: 'no such container: nö' }),
          podSandboxStatus: (call) => void call.on('cancelled', () => cancelled.push('PodSandboxStatus')),
        },
      },
    );
    expect((await client.version()).runtimeName).toHaveLength(large.length);
    await expect(client.containerStatus({ containerId: 'a' })).rejects.toThrow('no such container: nö');
    const given = new AbortController();
    const hanging = client.podSandboxStatus({ podSandboxId: 'a' }, { signal: given.signal });
    setTimeout(() => given.abort(new Error('enough')), 100);
    await expect(hanging).rejects.toThrow('enough');
    await expect.poll(() => cancelled).toEqual(['PodSandboxStatus']);
  });

  it('waits for a runtime that is not there, and says so', async () => {
    const { runtime, call } = await setUp();
    await call('version');
    await runtime.kill();
    await expect(call('version')).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });

  it('is open to its owner, and to a group where one is named', async () => {
    const { socketPath } = await setUp();
    expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
    const gid = process.getgid!();
    const shared = await setUp({ gid });
    expect([(await stat(shared.socketPath)).mode & 0o777, (await stat(shared.socketPath)).gid]).toEqual([
      0o660,
      gid,
    ]);
  });
});
