import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PodConfig } from './desired/pod-config.js';
import { StoppedPods } from './desired/stopped-pods.js';
import { manifestUidOf, type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { type ServedPod } from './api/objects/served-pod.js';
import { PodAdoption } from './pods/adoption/adopt-pods.js';
import { AdoptedPods } from './pods/adoption/adopted-pods.js';
import { aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { stopOnePod } from './stop-one-pod.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-stop-adopted-'));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

const web = (hash = '1'): NodePod =>
  aNodePod({ annotations: { [STATIC_POD_ANNOTATIONS.manifestHash]: hash } });

/** The way of pods from one source to the sync loop in an agent that takes over what a kubelet left. */
async function start() {
  const clock = new FakeClock();
  const released: string[] = [];
  const config: { current?: PodConfig } = {};
  const stopped = await StoppedPods.open({
    file: join(folder, 'stopped-pods.json'),
    onChanged: () => config.current?.refresh(),
    onReleased: (uid) => released.push(uid),
  });
  const merged = new PodConfig({ stopped });
  config.current = merged;
  const listed = [aPod({ uid: 'left' })];
  const adoption = new PodAdoption({
    clock,
    ...{ adopted: await AdoptedPods.open(join(folder, 'adopted-pods.json')), isAdopting: true },
    runtime: {
      listPods: async () => Promise.resolve(listed),
      getPodStatus: async () => aPodStatus(listed[0]),
    },
  });
  const { signal } = new AbortController();
  const updates = adoption.updates(merged.updates(signal), signal);
  let last: NodePod | undefined;
  const next = async (): Promise<string> => {
    const { value } = await updates.next();
    if (value === undefined) throw new Error('the updates have ended');
    last = value.pods[0]!;
    return `${value.type} ${last.metadata.uid}${last.metadata.deletionTimestamp === undefined ? '' : ' to end'}`;
  };
  /** As `podloop delete` does it, of the pod that came last. */
  const stop = async (): Promise<void> => {
    const ports = {
      ...{ clock, stopped, desired: { has: () => true }, isEnding: () => false },
      workers: { updatePod: () => undefined },
    } as unknown as Parameters<typeof stopOnePod>[0];
    await stopOnePod(ports, { pod: last! } as ServedPod, 7);
  };
  const finish = async (): Promise<void> => stopped.setOver(manifestUidOf(last!.metadata));
  return { port: merged.addSource('file'), stopped, released, next, stop, finish, pod: () => last! };
}

describe('a stop of a static pod that was taken over', () => {
  it('ends it under the uid that it has in the runtime, and keeps it away over restarts', async () => {
    const first = await start();
    first.port.deliver([web()]);
    expect(await first.next()).toBe('ADD left');
    await first.stop();
    expect(await first.next()).toBe('DELETE left to end');
    expect(first.stopped.find(first.pod())).toMatchObject({ uid: 'left', gracePeriodSeconds: 7 });

    const second = await start();
    second.port.deliver([web()]);
    expect(await second.next()).toBe('ADD left to end');
    await second.finish();
    expect(await second.next()).toBe('REMOVE left to end');
    expect(second.stopped.heldBack().map(({ name }) => name)).toEqual(['web']);

    const third = await start();
    third.port.deliver([web()]);
    expect(third.stopped.apply(web())).toBeUndefined();
    expect(third.stopped.list()).toMatchObject([{ uid: 'left', manifestUid: 'uid-web', isOver: true }]);
  });

  it('is taken back when its manifest is applied again, with nothing left of its former life', async () => {
    const { port, stopped, released, next, stop, finish } = await start();
    port.deliver([web()]);
    await next();
    await stop();
    await next();
    await finish();
    await next();
    expect(await stopped.release('uid-web')).toBe(true);
    expect(released).toEqual(['left']);
    expect(await next()).toBe('ADD left');
    expect(stopped.list()).toEqual([]);
  });

  it('is forgotten with its manifest, and when that says something else', async () => {
    const { port, stopped, released, next, stop } = await start();
    port.deliver([web()]);
    await next();
    await stop();
    await next();
    port.deliver([web('2')]);
    expect(stopped.list()).toEqual([]);
    expect(released).toEqual(['left']);
    expect(await next()).toBe('UPDATE left');
    await stop();
    await next();
    expect(stopped.list()).toHaveLength(1);
    port.deliver([]);
    expect(await next()).toBe('REMOVE left to end');
    await stopped.settled();
    expect((await start()).stopped.list()).toEqual([]);
  });

  it('holds for one that was stopped before it was taken over', async () => {
    const { port, stopped, next, finish } = await start();
    await stopped.stop(web(), { deletionTimestamp: '2026-01-02T03:04:35Z', gracePeriodSeconds: 30 });
    port.deliver([web()]);
    expect(await next()).toBe('ADD left to end');
    await finish();
    expect(await next()).toBe('REMOVE left to end');
  });
});
