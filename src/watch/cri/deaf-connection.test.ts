import { once } from 'node:events';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { connect as connectSocket, createServer as createRelay, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';

import { FakeClock } from '#testing/fake-clock.js';
import { type PodloopError } from '#base/errors/errors.js';

import { CriClient } from './client.js';
import { VersionResponse } from './generated/runtime/v1/cri.js';
import { GrpcTransport } from './grpc-transport.js';

const cleanups = new DisposalStack();
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
const HUGE = 'x'.repeat(200_000);

/** What the runtime does with a call of ContainerStatus depends on the id. */
function answerStatus(id: string, stream: ServerHttp2Stream): void {
  if (id.includes('hang')) return;
  const text = id.includes('huge') ? HUGE : 'gone';
  stream.respond({ ...HEADERS, 'grpc-status': '5', 'grpc-message': text }, { endStream: true });
}

/**
 * A runtime that, like Go's servers, keeps a connection open after its client's GOAWAY. After `stop()` it
 * reads and answers nothing, as after SIGSTOP, until `resume()`.
 */
async function serve() {
  const backend = createServer({ maxSendHeaderBlockLength: 1_000_000 });
  const paths: string[] = [];
  backend.on('sessionError', () => undefined);
  backend.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const path = headers[':path']!.split('/').at(-1)!;
    paths.push(path);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      if (path === 'ContainerStatus') answerStatus(Buffer.concat(chunks).toString(), stream);
      else if (path === 'GetContainerEvents') stream.respond(HEADERS);
      else if (path === 'Version') {
        const message = VersionResponse.encode(VersionResponse.create({ runtimeName: 'testd' })).finish();
        const frame = Buffer.alloc(5);
        frame.writeUInt32BE(message.length, 1);
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.concat([frame, message]));
      } else stream.respond({ ...HEADERS, 'grpc-status': '12' }, { endStream: true });
    });
  });
  const folder = await mkdtemp(join(tmpdir(), 'podloop-cri-'));
  const backendPath = join(folder, 'backend.sock');
  backend.listen(backendPath);
  await once(backend, 'listening');

  const sockets = new Set<Socket>();
  let accepted = 0;
  let stopped = false;
  const relay = createRelay({ allowHalfOpen: true }, (front) => {
    accepted++;
    const back = connectSocket(backendPath);
    for (const socket of [front, back]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    if (stopped) front.pause();
    front.on('data', (bytes) => back.write(bytes));
    back.on('data', (bytes) => front.write(bytes));
    front.on('end', () => front.end());
    front.on('close', () => back.destroy());
  });
  const socketPath = join(folder, 'cri.sock');
  relay.listen(socketPath);
  await once(relay, 'listening');
  cleanups.defer(async () => {
    relay.close();
    backend.close();
    for (const socket of sockets) socket.destroy();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    socketPath,
    paths,
    get accepted(): number {
      return accepted;
    },
    get openSockets(): number {
      return sockets.size / 2;
    },
    stop(): void {
      stopped = true;
      for (const socket of sockets) socket.pause();
    },
    resume(): void {
      stopped = false;
      for (const socket of sockets) socket.resume();
    },
  };
}

function connect(socketPath: string) {
  const clock = new FakeClock();
  const transport = new GrpcTransport({ socketPath, clock });
  const client = new CriClient({ transport });
  cleanups.defer(() => client.close());
  return { clock, transport, client };
}

/** Advances time and lets the sockets work until `done` returns true; the test's own timeout is the limit. */
async function pass(clock: FakeClock, done: () => boolean): Promise<void> {
  while (!done()) {
    await clock.advance(50);
    await sleepFor(1);
  }
}

/** How a call ended, once it has ended. */
function track(promise: Promise<unknown>): { outcome?: 'ok' | PodloopError } {
  const tracked: { outcome?: 'ok' | PodloopError } = {};
  promise.then(
    () => (tracked.outcome = 'ok'),
    (error: unknown) => (tracked.outcome = error as PodloopError),
  );
  return tracked;
}

describe('an error text that Node cannot read', () => {
  it('fails its own call, and the next call works on a new connection', async () => {
    const server = await serve();
    const { clock, client } = connect(server.socketPath);
    await client.version();
    const huge = track(client.containerStatus({ containerId: 'huge' }));
    const startedMs = clock.monotonicMs();
    await pass(clock, () => huge.outcome !== undefined);
    expect(huge.outcome).toMatchObject({ code: 'CRI_INTERNAL' });
    expect((huge.outcome as PodloopError).message).toMatch(
      /container_status of container huge.*cannot be read/,
    );
    expect((await client.version()).runtimeName).toBe('testd');
    expect(client.connectionGeneration).toBe(2);
    expect(clock.monotonicMs() - startedMs).toBeLessThan(10_000);
    // The broken connection and the one that it was compared with are closed.
    await pass(clock, () => server.openSockets === 1);
  });

  it('fails what else was in flight with CRI_UNAVAILABLE, streams too', async () => {
    const server = await serve();
    const { clock, client } = connect(server.socketPath);
    await client.version();
    const events = track(client.getContainerEvents().next());
    const hung = track(client.containerStatus({ containerId: 'hang' }));
    await pass(clock, () => server.paths.includes('ContainerStatus'));
    const huge = track(client.containerStatus({ containerId: 'huge' }));
    await pass(clock, () => server.paths.filter((path) => path === 'ContainerStatus').length === 2);
    // Long enough for the answer to have broken the connection.
    await sleepFor(50);
    const later = [track(client.version()), track(client.version())];
    const all = [events, hung, huge, ...later];
    await pass(clock, () => all.every(({ outcome }) => outcome !== undefined));
    for (const { outcome } of all)
      expect(outcome).toMatchObject({ code: 'CRI_UNAVAILABLE', retryable: true });
    expect((hung.outcome as PodloopError).message).toContain('was replaced');
    expect(await client.version()).toMatchObject({ runtimeName: 'testd' });
    expect(client.connectionGeneration).toBe(2);
    expect(client.callsInFlight()).toEqual([]);
  });

  it('is handled each time it comes, once each time', async () => {
    const server = await serve();
    const { clock, client } = connect(server.socketPath);
    for (let round = 1; round <= 4; round++) {
      const huge = track(client.containerStatus({ containerId: 'huge' }));
      await pass(clock, () => huge.outcome !== undefined);
      expect(huge.outcome).toMatchObject({ code: 'CRI_INTERNAL' });
      await client.version();
      expect(client.connectionGeneration).toBe(round + 1);
    }
    await pass(clock, () => server.openSockets === 1);
  });

  it('is handled although every caller gives up before the silence is noticed', async () => {
    const server = await serve();
    const { clock, client, transport } = connect(server.socketPath);
    await client.version();
    const controller = new AbortController();
    const { signal } = controller;
    const huge = track(client.containerStatus({ containerId: 'huge' }, { signal }));
    while (!server.paths.includes('ContainerStatus')) await sleepFor(1);
    await sleepFor(20);
    controller.abort();
    await pass(clock, () => huge.outcome !== undefined);
    expect(huge.outcome).toBe(signal.reason);
    await pass(clock, () => transport.generation === 2);
    expect(await client.version()).toMatchObject({ runtimeName: 'testd' });
  });

  it("shows in the connection's states", async () => {
    const server = await serve();
    const { clock, client, transport } = connect(server.socketPath);
    const states: string[] = [];
    transport.onStateChange((state) => states.push(`${state} ${transport.generation}`));
    const huge = track(client.containerStatus({ containerId: 'huge' }));
    await pass(clock, () => huge.outcome !== undefined && transport.generation === 2);
    expect(states).toEqual(['connecting 0', 'ready 1', 'idle 1', 'connecting 1', 'ready 2']);
  });
});

describe('a connection that is only silent', () => {
  it('stays while a call hangs, and is checked less and less often', async () => {
    const server = await serve();
    const { clock, client } = connect(server.socketPath);
    await client.version();
    const hung = track(client.containerStatus({ containerId: 'hang' }));
    await pass(clock, () => server.paths.includes('ContainerStatus'));
    const until = clock.monotonicMs() + 100_000;
    await pass(clock, () => clock.monotonicMs() >= until);
    expect(hung.outcome).toBeUndefined();
    const knocks = server.paths.filter((path) => path === 'Knock').length;
    expect(knocks).toBeGreaterThan(3);
    expect(knocks).toBeLessThan(10);
    expect(await client.version()).toMatchObject({ runtimeName: 'testd' });
    expect(client.connectionGeneration).toBe(1);
  });

  it('stays while the runtime is stopped, and its calls are answered when it resumes', async () => {
    const server = await serve();
    const { clock, client } = connect(server.socketPath);
    await client.version();
    server.stop();
    const call = track(client.version());
    const until = clock.monotonicMs() + 20_000;
    await pass(clock, () => clock.monotonicMs() >= until);
    expect(call.outcome).toBeUndefined();
    // One connection to compare with, no more.
    expect(server.accepted).toBe(2);
    server.resume();
    await pass(clock, () => call.outcome !== undefined);
    expect(call.outcome).toBe('ok');
    expect(client.connectionGeneration).toBe(1);
  });

  it('is not checked when every call is answered in time', async () => {
    const server = await serve();
    const { clock, client } = connect(server.socketPath);
    for (let count = 0; count < 20; count++) {
      await client.version();
      await clock.advance(400);
    }
    await clock.advance(60_000);
    expect(server.paths).not.toContain('Knock');
    expect(clock.pendingTimers).toBe(0);
  });
});
