import { setImmediate as nextTurn, setTimeout as sleepFor } from 'node:timers/promises';

import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { describe, expect, it, vi } from 'vitest';

import { cri } from '../cri/index.js';
import {
  byUid,
  CriRuntimeHarness,
  type CriWorld,
  listedContainer,
  listedSandbox,
  listing,
} from '#support/harness/cri-runtime-harness.js';
import { CriTestServer } from '#support/clients/cri-test-server.js';
import { untilTrue } from '#support/until-true.js';
import { hasCode } from '#base/errors/errors.js';

import { type ObservedPod } from './runtime.js';

describe('a list of pods', () => {
  it('reads unknown states as unknown, counts them once, and hides no other pod', async () => {
    await using h = await CriRuntimeHarness.start(
      listing({
        sandboxes: [listedSandbox('u1'), listedSandbox('u2', 0, { state: 9 as never })],
        containers: [
          listedContainer('u1', 'a'),
          listedContainer('u2', 'a', { state: 17 as never }),
          { id: '', podSandboxId: 'x' },
        ],
      }),
    );
    const { runtime } = h;
    const pods = byUid(await runtime.listPods());
    expect(pods['u1']!.containers[0]!.state).toBe('running');
    expect(pods['u2']).toMatchObject({
      sandboxes: [{ state: 'unknown' }],
      containers: [{ state: 'unknown' }],
    });
    await runtime.listPods();
    expect(runtime.counters).toEqual({ unknownEnums: 2, itemsWithoutId: 2 });
  });

  it('returns for each of many overlapping lists what its own answers said', async () => {
    const world: CriWorld = { sandboxes: [], containers: [] };
    await using h = await CriRuntimeHarness.start(listing(world), { sliceItems: 3 });
    const { runtime } = h;
    const lists: Promise<readonly ObservedPod[]>[] = [];
    for (let round = 0; round < 20; round++) {
      const state = (round % 2) as 0 | 1;
      world.sandboxes = Array.from({ length: 10 }, (_, index) => listedSandbox(`u${index}`, 0, { state }));
      lists.push(runtime.listPods());
      await nextTurn();
    }
    for (const pods of await Promise.all(lists)) {
      expect(pods).toHaveLength(10);
      expect(new Set(pods.map(({ sandboxes }) => sandboxes[0]!.state)).size).toBe(1);
    }
    expect((await runtime.listPods())[0]!.sandboxes[0]!.state).toBe('exited');
  });

  it('rejects a broken list with CRI_MALFORMED_RESPONSE, and is correct again with the next', async () => {
    const world: CriWorld = { sandboxes: [listedSandbox('u1')], containers: [listedContainer('u1', 'a')] };
    const whole = Buffer.from(
      cri.ListContainersResponse.encode(
        cri.ListContainersResponse.create({ containers: world.containers }),
      ).finish(),
    );
    let answer = whole;
    await using h = await CriRuntimeHarness.start(listing(world), { raw: { listContainers: () => answer } });
    const { runtime, client } = h;
    const first = await runtime.listPods();
    answer = whole.subarray(0, whole.length - 3);
    const error: unknown = await runtime.listPods().catch((reason: unknown) => reason);
    expect(hasCode(error, 'CRI_MALFORMED_RESPONSE')).toBe(true);
    expect(client.counters.malformedMessages).toBe(1);
    answer = whole;
    expect(await runtime.listPods()).toBe(first);
  });

  it('reads the items of a new connection to their end, even if an answer of the old one came late', async () => {
    const world: CriWorld = { sandboxes: [listedSandbox('u1')], containers: [listedContainer('u1', 'a')] };
    const usual = Buffer.from(
      cri.ListContainersResponse.encode(
        cri.ListContainersResponse.create({ containers: world.containers }),
      ).finish(),
    );
    // As another release might encode it: the state last, after the labels.
    const withoutState = cri.Container.encode(
      cri.Container.create(listedContainer('u1', 'a', { state: 0 })),
    ).finish();
    const item = Buffer.concat([withoutState, Buffer.from([6 << 3, 2])]);
    const odd = Buffer.from(
      new BinaryWriter()
        .uint32((1 << 3) | 2)
        .bytes(item)
        .finish(),
    );
    let answer = usual;
    let generation = 1;
    const raw = {
      listContainers: () => {
        if (answer === usual) generation = 2;
        return answer;
      },
    };
    await using h = await CriRuntimeHarness.start(listing(world), { raw });
    const { runtime, client } = h;
    vi.spyOn(client, 'connectionGeneration', 'get').mockImplementation(() => generation);
    expect((await runtime.listPods())[0]!.containers[0]!.state).toBe('running');
    answer = odd;
    expect((await runtime.listPods())[0]!.containers[0]!.state).toBe('exited');
  });

  it('rejects with the reason of its signal and cancels both calls', async () => {
    await using h = await CriRuntimeHarness.start({
      listPodSandbox: () => undefined,
      listContainers: () => undefined,
    });
    const { runtime, client } = h;
    const controller = new AbortController();
    const reason = new Error('enough');
    const list = runtime.listPods(controller.signal);
    await untilTrue(() => client.callsInFlight().some(({ operation }) => operation === 'list_containers'));
    controller.abort(reason);
    await expect(list).rejects.toBe(reason);
    expect(client.callsInFlight()).toEqual([]);
  });

  it('prefers streaming lists, falls back silently, and tries again after a reconnect', async () => {
    const world: CriWorld = { sandboxes: [listedSandbox('u1')], containers: [listedContainer('u1', 'a')] };
    const calls: string[] = [];
    await using h = await CriRuntimeHarness.start(listing(world, calls));
    const { runtime, client, server } = h;
    await runtime.listPods();
    const generation = client.connectionGeneration;
    await runtime.listPods();
    expect(calls).toHaveLength(4);
    await server.kill();
    await untilTrue(() => client.connectionState !== 'ready');

    let streamed = 0;
    await using _again = await CriTestServer.start({
      socketPath: server.socketPath,
      handlers: {
        ...listing(world, calls),
        streamContainers: (call) => {
          streamed++;
          for (const item of [listedContainer('u1', 'a'), listedContainer('u1', 'b')]) {
            call.write(cri.StreamContainersResponse.create({ containers: [item] }));
          }
          call.end();
        },
      },
    });
    let pods: readonly ObservedPod[] | undefined;
    while (pods === undefined) pods = await runtime.listPods().catch(() => sleepFor(5).then(() => undefined));
    expect(client.connectionGeneration).toBe(generation + 1);
    if (streamed === 0) pods = await runtime.listPods();
    expect(pods[0]!.containers.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(streamed).toBeGreaterThan(0);
  });
});
