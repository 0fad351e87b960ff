import { setImmediate as nextTurn, setTimeout as sleepFor } from 'node:timers/promises';

import { status as grpcStatus } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';

import { cri, CriClient } from '../cri/index.js';
import { CriTestServer, type CriTestServerOptions } from '../testing/cri-test-server.js';
import { FakeClock } from '../testing/fake-clock.js';
import { hasCode } from '../util/errors.js';

import { CriRuntime } from './cri-runtime.js';
import { type ObservedPod } from './runtime.js';

type Handlers = NonNullable<CriTestServerOptions['handlers']>;
type Partials<T> = Parameters<typeof cri.Container.create>[0] extends infer _ ? cri.DeepPartial<T> : never;

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What the runtime of a test knows; lists answer with it, filters included. */
interface World {
  sandboxes: Partials<cri.PodSandbox>[];
  containers: Partials<cri.Container>[];
}

function kubernetes(uid: string): Record<string, string> {
  return {
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.name': `pod-${uid}`,
    'io.kubernetes.pod.namespace': 'default',
  };
}

function sandbox(uid: string, attempt = 0, more: Partials<cri.PodSandbox> = {}): Partials<cri.PodSandbox> {
  const metadata = { uid, name: `pod-${uid}`, namespace: 'default', attempt };
  return {
    id: `s-${uid}-${attempt}`,
    metadata,
    labels: kubernetes(uid),
    createdAt: 10n + BigInt(attempt),
    ...more,
  };
}

function container(uid: string, name: string, more: Partials<cri.Container> = {}): Partials<cri.Container> {
  return {
    id: `c-${uid}-${name}`,
    podSandboxId: `s-${uid}-0`,
    metadata: { name, attempt: 0 },
    state: cri.ContainerState.CONTAINER_RUNNING,
    labels: kubernetes(uid),
    createdAt: 20n,
    ...more,
  };
}

function hasLabels(
  labels: cri.DeepPartial<Record<string, string>> | undefined,
  wanted: Record<string, string>,
): boolean {
  return Object.entries(wanted).every(([key, value]) => labels?.[key] === value);
}

function listing(world: World, calls: string[] = []): Handlers {
  return {
    listPodSandbox: ({ request: { filter } }, callback) => {
      calls.push(`sandboxes ${JSON.stringify(filter ?? {})}`);
      const items = world.sandboxes.filter(
        ({ id, labels }) =>
          (!filter?.id || filter.id === id) && hasLabels(labels, filter?.labelSelector ?? {}),
      );
      callback(null, cri.ListPodSandboxResponse.create({ items }));
    },
    listContainers: ({ request: { filter } }, callback) => {
      calls.push(`containers ${JSON.stringify(filter ?? {})}`);
      const containers = world.containers.filter(
        ({ podSandboxId, labels }) =>
          (!filter?.podSandboxId || filter.podSandboxId === podSandboxId) &&
          hasLabels(labels, filter?.labelSelector ?? {}),
      );
      callback(null, cri.ListContainersResponse.create({ containers }));
    },
  };
}

async function serve(
  handlers: Handlers,
  options: { clock?: FakeClock; sliceItems?: number } = {},
): Promise<{
  runtime: CriRuntime;
  client: CriClient;
  server: CriTestServer;
}> {
  const server = await CriTestServer.start({ handlers });
  cleanups.push(() => server[Symbol.asyncDispose]());
  const client = new CriClient({ endpoint: server.endpoint, ...(options.clock && { clock: options.clock }) });
  cleanups.push(() => client.close());
  return { runtime: new CriRuntime({ client, ...options }), client, server };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleepFor(2);
}

function byUid(pods: readonly ObservedPod[]): Record<string, ObservedPod> {
  return Object.fromEntries(pods.map((pod) => [pod.uid, pod]));
}

describe('listing pods', () => {
  it('groups sandboxes and containers by pod uid, newest sandbox first, containers in order of creation', async () => {
    const { runtime } = await serve(
      listing({
        sandboxes: [sandbox('u1', 0, { state: 1 }), sandbox('u1', 1)],
        containers: [
          container('u1', 'late', { createdAt: 30n }),
          container('u1', 'early', { state: cri.ContainerState.CONTAINER_EXITED }),
        ],
      }),
    );
    const pods = await runtime.listPods();
    expect(pods).toEqual([
      {
        uid: 'u1',
        namespace: 'default',
        name: 'pod-u1',
        owner: 'kubernetes',
        sandboxes: [
          {
            kind: 'sandbox',
            id: 's-u1-1',
            name: 'pod-u1',
            attempt: 1,
            state: 'running',
            sandboxId: 's-u1-1',
            createdAtNs: 11n,
          },
          {
            kind: 'sandbox',
            id: 's-u1-0',
            name: 'pod-u1',
            attempt: 0,
            state: 'exited',
            sandboxId: 's-u1-0',
            createdAtNs: 10n,
          },
        ],
        containers: [
          {
            kind: 'container',
            id: 'c-u1-early',
            name: 'early',
            attempt: 0,
            state: 'exited',
            sandboxId: 's-u1-0',
            createdAtNs: 20n,
          },
          {
            kind: 'container',
            id: 'c-u1-late',
            name: 'late',
            attempt: 0,
            state: 'running',
            sandboxId: 's-u1-0',
            createdAtNs: 30n,
          },
        ],
      },
    ]);
  });

  it('gives the same object for a pod in which nothing changed, and a new one otherwise', async () => {
    const world: World = {
      sandboxes: [sandbox('u1'), sandbox('u2')],
      containers: [container('u1', 'a'), container('u1', 'b'), container('u2', 'a')],
    };
    const { runtime } = await serve(listing(world));
    const first = await runtime.listPods();
    expect(await runtime.listPods()).toBe(first);
    world.containers[0] = container('u1', 'a', { state: cri.ContainerState.CONTAINER_EXITED });
    const before = byUid(first);
    const after = byUid(await runtime.listPods());
    expect(after['u2']).toBe(before['u2']);
    expect(after['u1']).not.toBe(before['u1']);
    expect(before['u1']!.containers[0]!.state).toBe('running');
    expect(after['u1']!.containers[0]!.state).toBe('exited');
    expect(after['u1']!.containers[1]).toBe(before['u1']!.containers[1]);
    expect(after['u1']!.sandboxes[0]).toBe(before['u1']!.sandboxes[0]);
  });

  it('forgets what vanished', async () => {
    const world: World = { sandboxes: [sandbox('u1'), sandbox('u2')], containers: [container('u1', 'a')] };
    const { runtime } = await serve(listing(world));
    await runtime.listPods();
    world.sandboxes.pop();
    expect((await runtime.listPods()).map(({ uid }) => uid)).toEqual(['u1']);
    world.containers.pop();
    expect((await runtime.listPods())[0]!.containers).toEqual([]);
    world.sandboxes.pop();
    expect(await runtime.listPods()).toEqual([]);
  });

  it('shows pods of others, by their own uid or by the id of the sandbox, and whose each is', async () => {
    const { runtime } = await serve(
      listing({
        sandboxes: [
          sandbox('u1'),
          sandbox('mine', 0, { labels: { ...kubernetes('mine'), 'podloop.dev/node-instance': 'node-a' } }),
          { id: 'named', metadata: { uid: 'by-hand', name: 'sleepy', namespace: 'test', attempt: 1 } },
          { id: 'nameless' },
        ],
        containers: [
          { id: 'c-named', podSandboxId: 'named', metadata: { name: 'main' } },
          { id: 'c-nameless', podSandboxId: 'nameless' },
          { id: 'c-lost', podSandboxId: 'vanished' },
          { id: 'c-alone' },
        ],
      }),
    );
    const pods = byUid(await runtime.listPods());
    expect(Object.fromEntries(Object.entries(pods).map(([uid, { owner }]) => [uid, owner]))).toEqual({
      u1: 'kubernetes',
      mine: 'podloop',
      'by-hand': 'other',
      nameless: 'other',
      vanished: 'other',
      'c-alone': 'other',
    });
    expect(pods['by-hand']).toMatchObject({
      name: 'sleepy',
      namespace: 'test',
      containers: [{ id: 'c-named' }],
    });
    expect(pods['nameless']).toMatchObject({ name: '', containers: [{ id: 'c-nameless' }] });
    expect(pods['vanished']).toMatchObject({ sandboxes: [], containers: [{ id: 'c-lost' }] });
  });

  it('keeps a container with its pod when the sandbox comes late or goes first', async () => {
    const by: Partials<cri.PodSandbox> = { id: 'sb', metadata: { uid: 'by-hand', name: 'sleepy' } };
    const world: World = { sandboxes: [], containers: [{ id: 'c1', podSandboxId: 'sb' }] };
    const { runtime } = await serve(listing(world));
    expect((await runtime.listPods()).map(({ uid }) => uid)).toEqual(['sb']);
    world.sandboxes = [by];
    expect(await runtime.listPods()).toMatchObject([
      { uid: 'by-hand', name: 'sleepy', containers: [{ id: 'c1' }] },
    ]);
    world.sandboxes = [];
    expect(await runtime.listPods()).toMatchObject([
      { uid: 'by-hand', sandboxes: [], containers: [{ id: 'c1' }] },
    ]);
    world.containers = [];
    expect(await runtime.listPods()).toEqual([]);
  });

  it('takes states it does not know for unknown, counts them once, and hides no other pod', async () => {
    const { runtime } = await serve(
      listing({
        sandboxes: [sandbox('u1'), sandbox('u2', 0, { state: 9 as never })],
        containers: [
          container('u1', 'a'),
          container('u2', 'a', { state: 17 as never }),
          { id: '', podSandboxId: 'x' },
        ],
      }),
    );
    const pods = byUid(await runtime.listPods());
    expect(pods['u1']!.containers[0]!.state).toBe('running');
    expect(pods['u2']).toMatchObject({
      sandboxes: [{ state: 'unknown' }],
      containers: [{ state: 'unknown' }],
    });
    await runtime.listPods();
    expect(runtime.counters).toEqual({ unknownEnums: 2, itemsWithoutId: 2 });
  });

  it('gives each of many overlapping lists what its own answers said', async () => {
    const world: World = { sandboxes: [], containers: [] };
    const { runtime } = await serve(listing(world), { sliceItems: 3 });
    const lists: Promise<readonly ObservedPod[]>[] = [];
    for (let round = 0; round < 20; round++) {
      const state = (round % 2) as 0 | 1;
      world.sandboxes = Array.from({ length: 10 }, (_, index) => sandbox(`u${index}`, 0, { state }));
      lists.push(runtime.listPods());
      await nextTurn();
    }
    for (const pods of await Promise.all(lists)) {
      expect(pods).toHaveLength(10);
      expect(new Set(pods.map(({ sandboxes }) => sandboxes[0]!.state)).size).toBe(1);
    }
    expect((await runtime.listPods())[0]!.sandboxes[0]!.state).toBe('exited');
  });

  it('says CRI_MALFORMED_RESPONSE for a broken list, and is right again with the next', async () => {
    const world: World = { sandboxes: [sandbox('u1')], containers: [container('u1', 'a')] };
    const whole = Buffer.from(
      cri.ListContainersResponse.encode(
        cri.ListContainersResponse.create({ containers: world.containers }),
      ).finish(),
    );
    let answer = whole;
    const server = await CriTestServer.start({
      handlers: listing(world),
      raw: { listContainers: () => answer },
    });
    cleanups.push(() => server[Symbol.asyncDispose]());
    const client = new CriClient({ endpoint: server.endpoint });
    cleanups.push(() => client.close());
    const runtime = new CriRuntime({ client });
    const first = await runtime.listPods();
    answer = whole.subarray(0, whole.length - 3);
    const error: unknown = await runtime.listPods().catch((reason: unknown) => reason);
    expect(hasCode(error, 'CRI_MALFORMED_RESPONSE')).toBe(true);
    expect(client.counters.malformedMessages).toBe(1);
    answer = whole;
    expect(await runtime.listPods()).toBe(first);
  });

  it('rejects with the reason of its signal and gives both calls up', async () => {
    const { runtime, client } = await serve({
      listPodSandbox: () => undefined,
      listContainers: () => undefined,
    });
    const controller = new AbortController();
    const reason = new Error('enough');
    const list = runtime.listPods(controller.signal);
    await until(() => client.callsInFlight().some(({ operation }) => operation === 'list_containers'));
    controller.abort(reason);
    await expect(list).rejects.toBe(reason);
    expect(client.callsInFlight()).toEqual([]);
  });

  it('prefers streaming lists, falls back quietly, and asks again after a reconnect', async () => {
    const world: World = { sandboxes: [sandbox('u1')], containers: [container('u1', 'a')] };
    const calls: string[] = [];
    const { runtime, client, server } = await serve(listing(world, calls));
    await runtime.listPods();
    const generation = client.connectionGeneration;
    await runtime.listPods();
    expect(calls).toHaveLength(4);
    await server.kill();
    await until(() => client.connectionState !== 'ready');

    let streamed = 0;
    const again = await CriTestServer.start({
      socketPath: server.socketPath,
      handlers: {
        ...listing(world, calls),
        streamContainers: (call) => {
          streamed++;
          for (const item of [container('u1', 'a'), container('u1', 'b')]) {
            call.write(cri.StreamContainersResponse.create({ containers: [item] }));
          }
          call.end();
        },
      },
    });
    cleanups.push(() => again[Symbol.asyncDispose]());
    let pods: readonly ObservedPod[] | undefined;
    while (pods === undefined) pods = await runtime.listPods().catch(() => sleepFor(5).then(() => undefined));
    expect(client.connectionGeneration).toBe(generation + 1);
    if (streamed === 0) pods = await runtime.listPods();
    expect(pods[0]!.containers.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(streamed).toBeGreaterThan(0);
  });
});

describe('finding one pod', () => {
  it('asks by label, reuses what the list had, and leaves the index alone', async () => {
    const world: World = {
      sandboxes: [sandbox('u1'), sandbox('u2')],
      containers: [container('u1', 'a'), container('u2', 'a')],
    };
    const calls: string[] = [];
    const { runtime } = await serve(listing(world, calls));
    const pods = await runtime.listPods();
    calls.length = 0;
    expect(await runtime.findPod('u1')).toBe(byUid(pods)['u1']);
    expect(calls.every((call) => call.includes('io.kubernetes.pod.uid'))).toBe(true);

    world.containers[0] = container('u1', 'a', { state: cri.ContainerState.CONTAINER_EXITED });
    const changed = await runtime.findPod('u1');
    expect(changed!.containers[0]!.state).toBe('exited');
    expect(changed!.sandboxes[0]).toBe(byUid(pods)['u1']!.sandboxes[0]);
    const after = byUid(await runtime.listPods());
    expect(after['u1']).toEqual(changed);
    expect(after['u2']).toBe(byUid(pods)['u2']);
  });

  it('is undefined when nothing is left', async () => {
    const world: World = { sandboxes: [sandbox('u1')], containers: [] };
    const { runtime } = await serve(listing(world));
    await runtime.listPods();
    world.sandboxes = [];
    expect(await runtime.findPod('u1')).toBeUndefined();
    expect(await runtime.findPod('never')).toBeUndefined();
  });

  it('finds pods without labels by their sandboxes, new ones by the whole list', async () => {
    const world: World = {
      sandboxes: [sandbox('u1'), { id: 'sb', metadata: { uid: 'by-hand', name: 'sleepy' } }],
      containers: [{ id: 'c1', podSandboxId: 'sb' }, container('u1', 'a')],
    };
    const calls: string[] = [];
    const { runtime } = await serve(listing(world, calls));
    expect(await runtime.findPod('by-hand')).toMatchObject({ name: 'sleepy', containers: [{ id: 'c1' }] });
    calls.length = 0;
    world.containers.push({ id: 'c2', podSandboxId: 'sb' });
    expect(await runtime.findPod('by-hand')).toMatchObject({ containers: [{ id: 'c1' }, { id: 'c2' }] });
    expect(calls.every((call) => call.includes('"sb"'))).toBe(true);
    world.sandboxes.pop();
    expect(await runtime.findPod('by-hand')).toMatchObject({
      sandboxes: [],
      containers: [{ id: 'c1' }, { id: 'c2' }],
    });
  });

  it('sees a container without labels in a pod that has them', async () => {
    const world: World = {
      sandboxes: [sandbox('u1')],
      containers: [container('u1', 'a'), { id: 'by-hand', podSandboxId: 's-u1-0', createdAt: 99n }],
    };
    const { runtime } = await serve(listing(world));
    const [pod] = await runtime.listPods();
    expect(pod!.containers.map(({ id }) => id)).toEqual(['c-u1-a', 'by-hand']);
    expect(await runtime.findPod('u1')).toBe(pod);
  });

  it('is right on a runtime that ignores filters', async () => {
    const world: World = {
      sandboxes: [sandbox('u1'), sandbox('u2')],
      containers: [container('u1', 'a'), container('u2', 'a')],
    };
    const { runtime } = await serve({
      listPodSandbox: (_, reply) =>
        reply(null, cri.ListPodSandboxResponse.create({ items: world.sandboxes })),
      listContainers: (_, reply) =>
        reply(null, cri.ListContainersResponse.create({ containers: world.containers })),
    });
    expect(await runtime.findPod('u2')).toMatchObject({
      uid: 'u2',
      sandboxes: [{}],
      containers: [{ id: 'c-u2-a' }],
    });
  });
});

describe('the status of a pod', () => {
  const world: World = {
    sandboxes: [sandbox('u1', 0, { state: 1 }), sandbox('u1', 1)],
    containers: Array.from({ length: 12 }, (_, index) =>
      container('u1', `n${index}`, { createdAt: 20n + BigInt(index) }),
    ),
  };

  it('has every sandbox and container, addresses of the newest ready sandbox', async () => {
    const { runtime } = await serve({
      ...listing(world),
      podSandboxStatus: ({ request }, reply) => {
        const attempt = Number(request.podSandboxId.at(-1));
        const network = { ip: `10.0.0.${attempt}`, additionalIps: [{ ip: `fd00::${attempt}` }] };
        reply(
          null,
          cri.PodSandboxStatusResponse.create({
            status: {
              id: request.podSandboxId,
              metadata: { name: 'pod-u1', attempt },
              state: (1 - attempt) as 0 | 1,
              network,
            },
          }),
        );
      },
      containerStatus: ({ request }, reply) =>
        reply(
          null,
          cri.ContainerStatusResponse.create({
            status: {
              id: request.containerId,
              metadata: { name: 'main', attempt: 2 },
              state: cri.ContainerState.CONTAINER_EXITED,
              exitCode: 137,
              reason: 'OOMKilled',
              createdAt: BigInt(request.containerId.length),
              annotations: request.containerId.endsWith('n3')
                ? { 'io.kubernetes.container.restartCount': '5' }
                : {},
            },
          }),
        ),
    });
    const [pod] = await runtime.listPods();
    const status = await runtime.getPodStatus(pod!);
    expect(status.ips).toEqual(['10.0.0.1', 'fd00::1']);
    expect(status.sandboxes.map(({ id, state }) => [id, state])).toEqual([
      ['s-u1-1', 'running'],
      ['s-u1-0', 'exited'],
    ]);
    expect(status.containers).toHaveLength(12);
    const third = status.containers.find(({ id }) => id === 'c-u1-n3');
    expect(third).toMatchObject({ exitCode: 137, reason: 'OOMKilled', restartCount: 5, sandboxId: 's-u1-0' });
    expect(status.containers.find(({ id }) => id === 'c-u1-n4')!.restartCount).toBe(2);
  });

  it('asks for few at a time, names the pod in each call, and leaves out what vanished', async () => {
    let atOnce = 0;
    let most = 0;
    const { runtime, client } = await serve({
      ...listing(world),
      podSandboxStatus: (_, reply) => reply({ code: grpcStatus.NOT_FOUND, details: 'gone' }),
      containerStatus: ({ request: { containerId } }, reply) => {
        most = Math.max(most, ++atOnce);
        setImmediate(() => {
          atOnce--;
          if (containerId.endsWith('n5')) reply({ code: grpcStatus.NOT_FOUND, details: 'gone' });
          else reply(null, cri.ContainerStatusResponse.create({ status: { id: containerId } }));
        });
      },
    });
    const [pod] = await runtime.listPods();
    const status = runtime.getPodStatus(pod!);
    expect(client.callsInFlight().map((call) => call.pod?.name)).toEqual(Array<string>(8).fill('pod-u1'));
    expect((await status).containers).toHaveLength(11);
    expect((await status).sandboxes).toEqual([]);
    expect((await status).ips).toEqual([]);
    expect(most).toBeLessThanOrEqual(8);
  });

  it('fails as a whole when one call fails, and gives its siblings up', async () => {
    const { runtime, client } = await serve({
      ...listing(world),
      podSandboxStatus: () => undefined,
      containerStatus: ({ request }, reply) => {
        if (request.containerId.endsWith('n2')) reply({ code: grpcStatus.INTERNAL, details: 'shim is gone' });
      },
    });
    const [pod] = await runtime.listPods();
    await expect(runtime.getPodStatus(pod!)).rejects.toMatchObject({
      code: 'CRI_INTERNAL',
      message: expect.stringContaining(
        'container_status of container c-u1-n2 of pod default/pod-u1',
      ) as string,
    });
    await until(() => client.callsInFlight().length === 0);
  });

  it('takes an answer without a status neither for the container nor for its absence', async () => {
    const { runtime } = await serve({
      ...listing(world),
      podSandboxStatus: (_, reply) => reply(null, cri.PodSandboxStatusResponse.create()),
    });
    const [pod] = await runtime.listPods();
    await expect(runtime.getPodStatus({ ...pod!, containers: [] })).rejects.toMatchObject({
      code: 'CRI_MALFORMED_RESPONSE',
    });
  });
});

describe('watching events', () => {
  it('hands out what the runtime says happened, until it ends the stream', async () => {
    const { runtime } = await serve({
      getContainerEvents: (call) => {
        const status = { id: 'sb', metadata: { uid: 'by-hand' } };
        const events: Partials<cri.ContainerEventResponse>[] = [
          {
            containerId: 'c1',
            containerEventType: 1,
            createdAt: 7n,
            podSandboxStatus: { ...status, labels: kubernetes('u1') },
          },
          { containerId: 'c2', containerEventType: 2, podSandboxStatus: status },
          { containerId: 'sb', containerEventType: 3 },
          {
            containerId: 'c3',
            containerEventType: 44 as never,
            containersStatuses: [{ labels: kubernetes('u2') }],
          },
        ];
        for (const event of events) call.write(cri.ContainerEventResponse.create(event));
        call.end();
      },
    });
    const seen: unknown[] = [];
    let opened = 0;
    const handlers = { onOpen: () => opened++, onEvent: (event: unknown) => seen.push(event) };
    await runtime.watchEvents(handlers, new AbortController().signal);
    expect(opened).toBe(1);
    expect(seen).toEqual([
      { type: 'started', containerId: 'c1', podUid: 'u1', createdAtNs: 7n },
      { type: 'stopped', containerId: 'c2', podUid: 'by-hand', createdAtNs: 0n },
      { type: 'deleted', containerId: 'sb', podUid: undefined, createdAtNs: 0n },
      { type: 'unknown', containerId: 'c3', podUid: 'u2', createdAtNs: 0n },
    ]);
    expect(runtime.counters.unknownEnums).toBe(1);
  });

  it('has no deadline, and ends with the reason of its signal', async () => {
    const clock = new FakeClock();
    const { runtime, client } = await serve({ getContainerEvents: () => undefined }, { clock });
    const controller = new AbortController();
    const watch = runtime.watchEvents({ onEvent: () => undefined }, controller.signal);
    await until(() => client.connectionState === 'ready');
    expect(clock.pendingTimers).toBe(0);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(watch).rejects.toBe(reason);
  });

  it('rejects with CRI_UNIMPLEMENTED where the runtime has no events, and CRI_UNAVAILABLE when it is killed', async () => {
    const signal = new AbortController().signal;
    const none = await serve({});
    await expect(none.runtime.watchEvents({ onEvent: () => undefined }, signal)).rejects.toMatchObject({
      code: 'CRI_UNIMPLEMENTED',
    });
    const { runtime, client, server } = await serve({ getContainerEvents: () => undefined });
    const watch = runtime.watchEvents({ onEvent: () => undefined }, signal);
    const outcome = watch.catch((error: unknown) => error);
    await until(() => client.connectionState === 'ready');
    await server.kill();
    expect(hasCode(await outcome, 'CRI_UNAVAILABLE')).toBe(true);
  });
});
