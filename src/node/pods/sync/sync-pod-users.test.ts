import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { userNamespacedStart } from '#base/channels/start-channels.js';
import { aSpecPod } from '#support/builders/node-pods.js';
import { SyncPodHarness } from '#support/harness/sync-pod-harness.js';

let bench: SyncPodHarness;
let steps: string[];
let leave: () => void;
beforeEach(async () => {
  bench = await SyncPodHarness.open();
  steps = [];
  leave = bench.channels.subscribe(userNamespacedStart, ({ step }) => void steps.push(step));
});
afterEach(async () => {
  leave();
  await bench[Symbol.asyncDispose]();
});

describe('a pod with users of its own', () => {
  const pod = aSpecPod({ hostUsers: false });

  it('has the same ids in its sandbox and in all its containers, and is counted once', async () => {
    await bench.sync(pod);
    const mappings = [{ hostId: 131_072, containerId: 0, length: 65_536 }];
    const { linux } = bench.runtime.sandboxConfigOf('web-sandbox-0');
    expect(linux?.securityContext?.namespaceOptions?.usernsOptions?.uids).toEqual(mappings);
    const container = bench.runtime.configOf('web-app-0');
    expect(container.linux?.securityContext?.namespaceOptions?.usernsOptions?.gids).toEqual(mappings);
    // The file for its last words and /etc/hosts as well as volumes.
    expect(container.mounts).toHaveLength(3);
    for (const { uidMappings } of container.mounts) expect(uidMappings).toEqual(mappings);
    await bench.sync(pod);
    expect(steps).toEqual(['begun']);
  });

  it('is not started with those of the node, and is counted as failed at each try', async () => {
    bench.usersProblem = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    await expect(bench.sync(pod)).rejects.toThrow(bench.usersProblem);
    await expect(bench.sync(pod)).rejects.toThrow(bench.usersProblem);
    expect(bench.changes()).toEqual([]);
    expect(steps).toEqual(['begun', 'failed', 'begun', 'failed']);
  });

  it('is counted as failed where one of its containers cannot be started', async () => {
    bench.runtime.gate('createContainer').fail(new Error('no such device'));
    await expect(bench.sync(pod)).rejects.toThrow('no such device');
    expect(steps).toEqual(['begun', 'failed']);
  });

  it('is made anew when it gives them up', async () => {
    await bench.sync(pod);
    bench.changes();
    await bench.sync(aSpecPod());
    expect(bench.changes()).toContain('runPodSandbox web-sandbox-1');
  });
});

it('other pods are not counted among those', async () => {
  await bench.sync(aSpecPod({ hostUsers: true }));
  expect(steps).toEqual([]);
});
