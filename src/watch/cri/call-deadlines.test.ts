import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';

import { CriTestServer } from '#support/clients/cri-test-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { hasCode } from '#base/errors/errors.js';

import { CriClient } from './client.js';
import { VersionResponse } from './generated/runtime/v1/cri.js';

const cleanups = new DisposalStack();
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

/** Blocks the event loop, as a long synchronous task does. */
function stall(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

describe('the deadline of a CRI call', () => {
  it('does not expire while the answer waits in the socket of a stalled event loop', async () => {
    // In its own thread, so that it answers while this loop is blocked.
    const folder = await mkdtemp(join(tmpdir(), 'podloop-deadline-'));
    cleanups.defer(() => rm(folder, { recursive: true, force: true }));
    const worker = new Worker(ANSWERING_SERVER, { eval: true, workerData: { path: `${folder}/cri.sock` } });
    cleanups.defer(async () => {
      await worker.terminate();
    });
    await new Promise((resolve) => worker.once('message', resolve));
    const client = new CriClient({ endpoint: `${folder}/cri.sock` });
    cleanups.defer(() => client.close());
    await client.version({}, { timeoutMs: 60_000 });

    const outcomes: string[] = [];
    for (let round = 0; round < 20; round++) {
      const call = client.version({}, { timeoutMs: 100 }).then(
        () => 'answered',
        (error: unknown) => String(error),
      );
      // The request has to leave before the loop blocks.
      await new Promise((resolve) => setImmediate(resolve));
      stall(150);
      outcomes.push(await call);
    }
    expect(outcomes).toEqual(Array<string>(20).fill('answered'));
  });

  it('expires when the runtime does not answer, names the call and cancels it at the runtime', async () => {
    const clock = new FakeClock();
    const seen = { asked: false, cancelled: false };
    const server = await CriTestServer.start({
      handlers: {
        version: (call) => {
          seen.asked = true;
          call.on('cancelled', () => (seen.cancelled = true));
        },
      },
    });
    cleanups.defer(() => server[Symbol.asyncDispose]());
    const client = new CriClient({ endpoint: server.endpoint, clock });
    cleanups.defer(() => client.close());
    const outcome = client.version().catch((error: unknown) => error);
    while (!seen.asked) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(119_999);
    expect(client.callsInFlight()).toHaveLength(1);
    await clock.advance(1);
    const error = await outcome;
    expect(hasCode(error, 'CRI_DEADLINE_EXCEEDED')).toBe(true);
    expect(String(error)).toContain(
      'version: rpc error: code = DeadlineExceeded desc = context deadline exceeded (no answer within 120000 ms)',
    );
    while (!seen.cancelled) await new Promise((resolve) => setImmediate(resolve));
    expect(client.callsInFlight()).toEqual([]);
  });

  it('is as long as each method needs', async () => {
    const clock = new FakeClock();
    const server = await CriTestServer.start({
      handlers: { version: (_, reply) => reply(null, VersionResponse.create()) },
    });
    cleanups.defer(() => server[Symbol.asyncDispose]());
    const client = new CriClient({ endpoint: server.endpoint, clock });
    cleanups.defer(() => client.close());
    const quiet = (call: Promise<unknown>): void => void call.catch(() => undefined);
    quiet(client.containerStatus({ containerId: 'c' }));
    quiet(client.stopContainer({ containerId: 'c', timeout: 30 }));
    quiet(client.stopContainer({ containerId: 'c', timeout: -1 }));
    quiet(client.execSync({ containerId: 'c', timeout: 5 }));
    quiet(client.execSync({ containerId: 'c' }));
    quiet(client.runPodSandbox());
    quiet(client.pullImage());
    quiet(client.version({}, { timeoutMs: 7 }));
    quiet(client.version({}, { timeoutMs: Infinity }));
    expect(client.callsInFlight().map((call) => [call.operation, call.deadlineMs])).toEqual([
      ['container_status', 120_000],
      ['stop_container', 150_000],
      ['stop_container', 120_000],
      ['exec_sync', 125_000],
      ['exec_sync', undefined],
      ['run_podsandbox', 240_000],
      ['pull_image', 3_600_000],
      ['version', 7],
      ['version', undefined],
    ]);
  });
});

// Answers Version after 20 ms with an empty message.
const ANSWERING_SERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { Server, ServerCredentials } = require('@grpc/grpc-js');
  const identity = (bytes) => bytes;
  const server = new Server();
  server.addService(
    { version: { path: '/runtime.v1.RuntimeService/Version', requestStream: false, responseStream: false,
      requestSerialize: identity, requestDeserialize: identity, responseSerialize: identity, responseDeserialize: identity } },
    { version: (call, callback) => setTimeout(() => callback(null, Buffer.alloc(0)), 20) },
  );
  server.bindAsync('unix:' + workerData.path, ServerCredentials.createInsecure(), () => parentPort.postMessage('ready'));
`;
