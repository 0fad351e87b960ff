import { describe, expect, it } from 'vitest';

import { cri } from '../cri/index.js';
import {
  byUid,
  CriRuntimeHarness,
  type CriWorld,
  listedContainer,
  listedSandbox,
  listing,
} from '#support/harness/cri-runtime-harness.js';

describe('finding one pod', () => {
  it('asks by label, reuses what the list had, and does not change the index', async () => {
    const world: CriWorld = {
      sandboxes: [listedSandbox('u1'), listedSandbox('u2')],
      containers: [listedContainer('u1', 'a'), listedContainer('u2', 'a')],
    };
    const calls: string[] = [];
    await using h = await CriRuntimeHarness.start(listing(world, calls));
    const { runtime } = h;
    const pods = await runtime.listPods();
    calls.length = 0;
    expect(await runtime.findPod('u1')).toBe(byUid(pods)['u1']);
    expect(calls.every((call) => call.includes('io.kubernetes.pod.uid'))).toBe(true);

    world.containers[0] = listedContainer('u1', 'a', { state: cri.ContainerState.CONTAINER_EXITED });
    const changed = await runtime.findPod('u1');
    expect(changed!.containers[0]!.state).toBe('exited');
    expect(changed!.sandboxes[0]).toBe(byUid(pods)['u1']!.sandboxes[0]);
    const after = byUid(await runtime.listPods());
    expect(after['u1']).toEqual(changed);
    expect(after['u2']).toBe(byUid(pods)['u2']);
  });

  it('is undefined when nothing is left', async () => {
    const world: CriWorld = { sandboxes: [listedSandbox('u1')], containers: [] };
    await using h = await CriRuntimeHarness.start(listing(world));
    const { runtime } = h;
    await runtime.listPods();
    world.sandboxes = [];
    expect(await runtime.findPod('u1')).toBeUndefined();
    expect(await runtime.findPod('never')).toBeUndefined();
  });

  it('finds pods without labels by their sandboxes, new ones by the whole list', async () => {
    const world: CriWorld = {
      sandboxes: [listedSandbox('u1'), { id: 'sb', metadata: { uid: 'by-hand', name: 'sleepy' } }],
      containers: [{ id: 'c1', podSandboxId: 'sb' }, listedContainer('u1', 'a')],
    };
    const calls: string[] = [];
    await using h = await CriRuntimeHarness.start(listing(world, calls));
    const { runtime } = h;
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

  it('finds a container without labels in a pod that has them', async () => {
    const world: CriWorld = {
      sandboxes: [listedSandbox('u1')],
      containers: [listedContainer('u1', 'a'), { id: 'by-hand', podSandboxId: 's-u1-0', createdAt: 99n }],
    };
    await using h = await CriRuntimeHarness.start(listing(world));
    const { runtime } = h;
    const [pod] = await runtime.listPods();
    expect(pod!.containers.map(({ id }) => id)).toEqual(['c-u1-a', 'by-hand']);
    expect(await runtime.findPod('u1')).toBe(pod);
  });

  it('is correct on a runtime that ignores filters', async () => {
    const world: CriWorld = {
      sandboxes: [listedSandbox('u1'), listedSandbox('u2')],
      containers: [listedContainer('u1', 'a'), listedContainer('u2', 'a')],
    };
    await using h = await CriRuntimeHarness.start({
      listPodSandbox: (_, reply) =>
        reply(null, cri.ListPodSandboxResponse.create({ items: world.sandboxes })),
      listContainers: (_, reply) =>
        reply(null, cri.ListContainersResponse.create({ containers: world.containers })),
    });
    const { runtime } = h;
    expect(await runtime.findPod('u2')).toMatchObject({
      uid: 'u2',
      sandboxes: [{}],
      containers: [{ id: 'c-u2-a' }],
    });
  });
});
