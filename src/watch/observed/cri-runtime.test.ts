import { describe, expect, it } from 'vitest';

import { cri } from '../cri/index.js';
import {
  byUid,
  CriRuntimeHarness,
  type CriWorld,
  kubernetesLabels,
  listedContainer,
  listedSandbox,
  listing,
} from '#support/harness/cri-runtime-harness.js';

describe('listing pods', () => {
  it('groups sandboxes and containers by pod uid, newest sandbox first, containers in order of creation', async () => {
    await using h = await CriRuntimeHarness.start(
      listing({
        sandboxes: [listedSandbox('u1', 0, { state: 1 }), listedSandbox('u1', 1)],
        containers: [
          listedContainer('u1', 'late', { createdAt: 30n }),
          listedContainer('u1', 'early', { state: cri.ContainerState.CONTAINER_EXITED }),
        ],
      }),
    );
    const { runtime } = h;
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

  it('returns the same object for a pod in which nothing changed, and a new one otherwise', async () => {
    const world: CriWorld = {
      sandboxes: [listedSandbox('u1'), listedSandbox('u2')],
      containers: [listedContainer('u1', 'a'), listedContainer('u1', 'b'), listedContainer('u2', 'a')],
    };
    await using h = await CriRuntimeHarness.start(listing(world));
    const { runtime } = h;
    const first = await runtime.listPods();
    expect(await runtime.listPods()).toBe(first);
    world.containers[0] = listedContainer('u1', 'a', { state: cri.ContainerState.CONTAINER_EXITED });
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
    const world: CriWorld = {
      sandboxes: [listedSandbox('u1'), listedSandbox('u2')],
      containers: [listedContainer('u1', 'a')],
    };
    await using h = await CriRuntimeHarness.start(listing(world));
    const { runtime } = h;
    await runtime.listPods();
    world.sandboxes.pop();
    expect((await runtime.listPods()).map(({ uid }) => uid)).toEqual(['u1']);
    world.containers.pop();
    expect((await runtime.listPods())[0]!.containers).toEqual([]);
    world.sandboxes.pop();
    expect(await runtime.listPods()).toEqual([]);
  });

  it('lists pods of other owners, by their own uid or by the id of the sandbox, with the owner of each', async () => {
    await using h = await CriRuntimeHarness.start(
      listing({
        sandboxes: [
          listedSandbox('u1'),
          listedSandbox('mine', 0, {
            labels: { ...kubernetesLabels('mine'), 'podloop.dev/node-instance': 'node-a' },
          }),
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
    const { runtime } = h;
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

  it('leaves a container in its pod when the sandbox comes late or goes first', async () => {
    const by: cri.DeepPartial<cri.PodSandbox> = { id: 'sb', metadata: { uid: 'by-hand', name: 'sleepy' } };
    const world: CriWorld = { sandboxes: [], containers: [{ id: 'c1', podSandboxId: 'sb' }] };
    await using h = await CriRuntimeHarness.start(listing(world));
    const { runtime } = h;
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
});
