import { type ServerWritableStream } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';

import { CriTestServer } from '#support/clients/cri-test-server.js';
import { criConnectionChanged, type CriConnectionChange } from '#base/channels/channels.js';

import { CriClient } from './client.js';
import { readContainerEvents } from './container-events.js';
import { ContainerEventResponse } from './generated/runtime/v1/cri.js';

const cleanups = new DisposalStack();
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

async function serve(
  getContainerEvents: (call: ServerWritableStream<unknown, ContainerEventResponse>) => void,
): Promise<CriClient> {
  const server = await CriTestServer.start({ handlers: { getContainerEvents } });
  cleanups.defer(() => server[Symbol.asyncDispose]());
  const client = new CriClient({ endpoint: server.endpoint });
  cleanups.defer(() => client.close());
  return client;
}

describe('the stream of container events', () => {
  it('is read to its end, in order', async () => {
    const client = await serve((call) => {
      for (let number = 0; number < 1_000; number++) {
        call.write(ContainerEventResponse.create({ containerId: `c${number}` }));
      }
      call.end();
    });
    const seen: string[] = [];
    await readContainerEvents(client, { onEvent: ({ containerId }) => seen.push(containerId) });
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, number) => `c${number}`));
    expect(client.counters.malformedMessages).toBe(0);
  });

  it('skips a message that cannot be decoded, logs and counts it', async () => {
    const server = await CriTestServer.start({
      rawStreams: {
        getContainerEvents: () => [
          Buffer.from([0x0a, 0x02, 0x63, 0x31]),
          Buffer.from([0x0a, 0x7f, 0x63]),
          Buffer.from([0x0a, 0x02, 0x63, 0x32]),
        ],
      },
    });
    cleanups.defer(() => server[Symbol.asyncDispose]());
    const client = new CriClient({ endpoint: server.endpoint });
    cleanups.defer(() => client.close());
    const seen: string[] = [];
    await readContainerEvents(client, {
      onEvent: ({ containerId }) => seen.push(containerId),
      onSkipped: () => seen.push('skipped'),
    });
    expect(seen).toEqual(['c1', 'skipped', 'c2']);
    expect(client.counters.malformedMessages).toBe(1);
  });

  it("rejects with a handler's error, and cancels the call", async () => {
    let cancelled: () => void = () => undefined;
    const wasCancelled = new Promise<void>((resolve) => (cancelled = resolve));
    const client = await serve((call) => {
      call.on('cancelled', cancelled);
      call.write(ContainerEventResponse.create({ containerId: 'c1' }));
    });
    const onEvent = (): void => {
      throw new TypeError('a bug');
    };
    await expect(readContainerEvents(client, { onEvent })).rejects.toThrow('a bug');
    await wasCancelled;
    expect(client.callsInFlight()).toEqual([]);
  });

  it("publishes the connection's states", async () => {
    const changes: CriConnectionChange[] = [];
    cleanups.defer(criConnectionChanged.subscribe((change) => changes.push(change)));
    const client = await serve((call) => void call.end());
    await readContainerEvents(client, { onEvent: () => undefined });
    client.close();
    const mine = changes.filter(({ endpoint }) => endpoint === client.endpoint);
    expect(mine.map(({ state, generation }) => [state, generation])).toEqual([
      ['connecting', 0],
      ['ready', 1],
      ['closed', 1],
    ]);
  });
});
