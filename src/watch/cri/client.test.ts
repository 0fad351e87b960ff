import { setTimeout as sleepFor } from 'node:timers/promises';

import { status as grpcStatus } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';

import { CriTestServer, type CriTestServerOptions } from '#support/clients/cri-test-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { untilTrue } from '#support/until-true.js';
import { criCallEnded, type CriCallEnd, criCallStarted, type CriCall } from '#base/channels/channels.js';
import { PodloopError } from '#base/errors/errors.js';

import { CriClient } from './client.js';
import { type CriClientOptions } from './client-core.js';
import {
  ContainerStatusResponse,
  ListContainersResponse,
  StreamContainersResponse,
  VersionResponse,
} from './generated/runtime/v1/cri.js';

const cleanups = new DisposalStack();
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

async function serve(options: CriTestServerOptions): Promise<CriTestServer> {
  const server = await CriTestServer.start(options);
  cleanups.defer(() => server[Symbol.asyncDispose]());
  return server;
}

function connect(endpoint: string, options: Partial<CriClientOptions> = {}): CriClient {
  const client = new CriClient({ endpoint, ...options });
  cleanups.defer(() => client.close());
  return client;
}

async function failureOf(promise: Promise<unknown>): Promise<PodloopError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PodloopError);
  return error as PodloopError;
}

const version = VersionResponse.create({ runtimeName: 'testd', runtimeApiVersion: 'v1' });

describe('a CRI client', () => {
  it('does not repeat an overlong id in a message', async () => {
    const server = await serve({
      handlers: {
        containerStatus: (_, callback) => callback({ code: grpcStatus.NOT_FOUND, details: 'none' }),
      },
    });
    const containerId = 'x'.repeat(300_000);
    const error = await failureOf(connect(server.endpoint).containerStatus({ containerId }));
    expect(error.code).toBe('CRI_NOT_FOUND');
    expect(error.message).toContain('(300000 characters)');
    expect(error.message.length).toBeLessThan(1_000);
  });

  it("is not slowed down by spaces in a runtime's error text", async () => {
    const details = `exec: "${' '.repeat(16_000)}": not found`;
    const server = await serve({
      handlers: { containerStatus: (_, callback) => callback({ code: grpcStatus.UNKNOWN, details }) },
    });
    const client = connect(server.endpoint);
    await failureOf(client.containerStatus({ containerId: 'c' }));
    const startedMs = performance.now();
    for (let calls = 0; calls < 20; calls++) {
      await failureOf(client.containerStatus({ containerId: 'c' }));
    }
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it('sends a request and decodes the answer', async () => {
    const server = await serve({
      handlers: {
        containerStatus: (call, callback) =>
          callback(
            null,
            ContainerStatusResponse.create({ status: { id: call.request.containerId, exitCode: -3 } }),
          ),
      },
    });
    const answer = await connect(server.endpoint).containerStatus({ containerId: 'c1' });
    expect(answer.status).toMatchObject({ id: 'c1', exitCode: -3, labels: {} });
  });

  it("names operation, object and the runtime's own words in an error", async () => {
    const server = await serve({
      handlers: {
        containerStatus: (_, callback) =>
          callback({ code: grpcStatus.NOT_FOUND, details: 'container "c1" not found' }),
      },
    });
    const pod = { uid: 'u1', namespace: 'default', name: 'web' };
    const error = await failureOf(connect(server.endpoint).containerStatus({ containerId: 'c1' }, { pod }));
    expect(error.code).toBe('CRI_NOT_FOUND');
    expect(error.message).toBe(
      'container_status of container c1 of pod default/web: rpc error: code = NotFound desc = container "c1" not found',
    );
  });

  it('says CRI_UNIMPLEMENTED for a method the runtime lacks, streaming or not', async () => {
    const server = await serve({});
    const client = connect(server.endpoint);
    expect((await failureOf(client.version())).code).toBe('CRI_UNIMPLEMENTED');
    expect((await failureOf(client.getContainerEvents().next())).code).toBe('CRI_UNIMPLEMENTED');
  });

  it('says CRI_MALFORMED_RESPONSE when the answer is no protobuf', async () => {
    const server = await serve({ raw: { version: () => Buffer.from([0x0a, 0xff, 0xff]) } });
    const client = connect(server.endpoint);
    const error = await failureOf(client.version());
    expect(error.code).toBe('CRI_MALFORMED_RESPONSE');
    expect(error.message).toContain('the answer to Version cannot be decoded');
    expect(client.counters.malformedMessages).toBe(1);
  });

  it('skips and counts fields that it does not know', async () => {
    const known = VersionResponse.encode(version).finish();
    // Field 900 as a varint, field 901 as bytes.
    const unknown = Buffer.from([0xa0, 0x38, 7, 0xaa, 0x38, 2, 1, 2]);
    const server = await serve({ raw: { version: () => Buffer.concat([unknown, known]) } });
    const client = connect(server.endpoint);
    const ended: CriCallEnd[] = [];
    cleanups.defer(criCallEnded.subscribe((end) => ended.push(end)));
    expect(await client.version()).toEqual(version);
    expect(client.counters.unknownFields).toBe(2);
    expect(ended).toMatchObject([{ outcome: 'ok', unknownFields: 2 }]);
  });

  it('rejects with the reason of its signal, before and during the call', async () => {
    let cancelled = false;
    const server = await serve({
      handlers: { version: (call) => void call.on('cancelled', () => (cancelled = true)) },
    });
    const client = connect(server.endpoint);
    const reason = new Error('enough');
    await expect(client.version({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const call = client.version({}, { signal: controller.signal });
    await untilTrue(() => client.connectionState === 'ready');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(client.callsInFlight()).toEqual([]);
    await untilTrue(() => cancelled);
  });

  it('lists each call until it ends, and publishes its start and its end', async () => {
    const clock = new FakeClock();
    let answer: (() => void) | undefined;
    const server = await serve({
      handlers: {
        containerStatus: (_, callback) => (answer = () => callback(null, ContainerStatusResponse.create())),
      },
    });
    const client = connect(server.endpoint, { clock });
    const started: CriCall[] = [];
    const ended: CriCallEnd[] = [];
    cleanups.defer(criCallStarted.subscribe((call) => started.push(call)));
    cleanups.defer(criCallEnded.subscribe((end) => ended.push(end)));
    const pod = { uid: 'u1', namespace: 'default', name: 'web' };
    const call = client.containerStatus({ containerId: 'c1' }, { pod });
    const record = client.callsInFlight()[0]!;
    expect(record).toMatchObject({
      operation: 'container_status',
      containerId: 'c1',
      pod,
      deadlineMs: 120_000,
    });
    expect(started).toEqual([record]);
    await untilTrue(() => answer !== undefined);
    clock.stall(1_500);
    answer!();
    await call;
    expect(client.callsInFlight()).toEqual([]);
    expect(ended).toMatchObject([{ call: record, durationMs: 1_500, outcome: 'ok' }]);
  });

  it('publishes to its own channels and to those of the process, and to no other client’s', async () => {
    const answers = { raw: { version: () => Buffer.from(VersionResponse.encode(version).finish()) } };
    const server = await serve(answers);
    const [one, other] = [connect(server.endpoint), connect(server.endpoint)];
    const ends: string[] = [];
    const hear = (who: string) => (end: CriCallEnd) => void ends.push(`${who} ${end.call.method}`);
    one.channels.subscribe(criCallEnded, hear('one'));
    other.channels.subscribe(criCallEnded, hear('other'));
    cleanups.defer(criCallEnded.subscribe(hear('process')));
    await one.version();
    expect(ends.splice(0)).toEqual(['one Version', 'process Version']);
    await other.version();
    expect(ends).toEqual(['other Version', 'process Version']);
  });

  it('reconnects to a runtime that was killed and came back with a new socket', async () => {
    const handlers: CriTestServerOptions['handlers'] = { version: (_, callback) => callback(null, version) };
    const first = await serve({ handlers });
    const client = connect(first.endpoint);
    await client.version();
    expect(client.connectionGeneration).toBe(1);
    await first.kill();
    await untilTrue(() => client.connectionState !== 'ready');
    expect((await failureOf(client.version())).code).toBe('CRI_UNAVAILABLE');
    await serve({ handlers, socketPath: first.socketPath });
    let answer: VersionResponse | undefined;
    while (answer === undefined)
      answer = await client.version().catch(() => sleepFor(5).then(() => undefined));
    expect(answer).toEqual(version);
    expect(client.connectionGeneration).toBe(2);
  });

  it('fails the calls in flight at once when the runtime is killed', async () => {
    let asked = false;
    const server = await serve({ handlers: { version: () => void (asked = true) } });
    const call = failureOf(connect(server.endpoint).version());
    await untilTrue(() => asked);
    await server.kill();
    expect((await call).code).toBe('CRI_UNAVAILABLE');
  });

  it('accepts a list of more than 4 MiB, and says what to do about one above the limit', async () => {
    const labels = { filler: 'x'.repeat(1024) };
    let count = 0;
    const server = await serve({
      handlers: {
        listContainers: (_, callback) =>
          callback(
            null,
            ListContainersResponse.create({
              containers: Array.from({ length: count }, (_, i) => ({ id: `${i}`, labels })),
            }),
          ),
      },
    });
    const client = connect(server.endpoint);
    count = 6 * 1024;
    expect((await client.listContainers()).containers).toHaveLength(count);
    count = 17 * 1024;
    const error = await failureOf(client.listContainers());
    expect(error.code).toBe('CRI_RESOURCE_EXHAUSTED');
    expect(error.message).toContain('maxReceiveMessageBytes');
    const roomy = connect(server.endpoint, { maxReceiveMessageBytes: 64 * 1024 * 1024 });
    expect((await roomy.listContainers()).containers).toHaveLength(count);
  });

  it('iterates a stream, and cancels the call when the loop is left', async () => {
    let cancelled = false;
    const server = await serve({
      handlers: {
        streamContainers: (call) => {
          for (let i = 0; i < 100; i++)
            call.write(StreamContainersResponse.create({ containers: [{ id: `${i}` }] }));
          call.on('cancelled', () => (cancelled = true));
        },
      },
    });
    const client = connect(server.endpoint);
    const seen: string[] = [];
    for await (const message of client.streamContainers()) {
      seen.push(message.containers[0]!.id);
      if (seen.length === 50) break;
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => `${i}`));
    await untilTrue(() => cancelled && client.callsInFlight().length === 0);
  });

  it('iterates a stream to its end', async () => {
    const server = await serve({
      handlers: {
        streamContainers: (call) => {
          for (let i = 0; i < 100; i++)
            call.write(StreamContainersResponse.create({ containers: [{ id: `${i}` }] }));
          call.end();
        },
      },
    });
    const seen: string[] = [];
    for await (const message of connect(server.endpoint).streamContainers())
      seen.push(message.containers[0]!.id);
    expect(seen).toHaveLength(100);
  });

  it('ends every call when it is closed, and rejects later ones', async () => {
    const server = await serve({ handlers: { version: () => undefined } });
    const client = connect(server.endpoint);
    const call = failureOf(client.version());
    await untilTrue(() => client.connectionState === 'ready');
    client.close();
    client.close();
    expect((await call).code).toBe('CRI_CANCELLED');
    expect((await failureOf(client.version())).code).toBe('CRI_CANCELLED');
    expect(client.connectionState).toBe('closed');
  });
});
