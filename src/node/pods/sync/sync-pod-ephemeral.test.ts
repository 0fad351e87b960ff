import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PodSpec } from '#kube/pod/pod.js';
import { type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { SyncPodHarness } from '#support/harness/sync-pod-harness.js';

let bench: SyncPodHarness;
beforeEach(async () => {
  bench = await SyncPodHarness.open();
});
afterEach(() => bench[Symbol.asyncDispose]());

describe('an ephemeral container', () => {
  const debug = { ...aSpecContainer({ name: 'debug' }), targetContainerName: 'app' };
  const withDebug = (spec: Partial<PodSpec> = {}) => aSpecPod({ ephemeralContainers: [debug], ...spec });
  const ephemeral = (): V1ContainerStatus => bench.status().ephemeralContainerStatuses![0]!;

  it('joins a pod that runs, sees the processes of its target, and is started once', async () => {
    await bench.sync(aSpecPod());
    bench.changes();
    await bench.sync(withDebug());
    expect(bench.changes()).toEqual(['createContainer web-debug-0', 'startContainer web-debug-0']);
    const { annotations, linux } = bench.runtime.configOf('web-debug-0');
    expect(annotations['io.kubernetes.container.type']).toBe('ephemeral');
    expect(linux?.securityContext?.namespaceOptions).toMatchObject({ pid: 3, targetId: 'web-app-0' });
    await bench.sync(withDebug());
    expect(ephemeral()).toMatchObject({ name: 'debug', ready: false, state: { running: {} } });
    bench.runtime.exit('web-debug-0', 3);
    bench.changes();
    await bench.sync(withDebug());
    expect(bench.changes()).toEqual([]);
    expect(ephemeral().state.terminated?.exitCode).toBe(3);
    expect(bench.status().phase).toBe('Running');
  });

  it('waits for its target in a pod that is new', async () => {
    await bench.sync(withDebug());
    expect(bench.changes()).not.toContain('createContainer web-debug-0');
    await bench.sync(withDebug());
    expect(bench.changes()).toContain('startContainer web-debug-0');
  });

  it('says that its target does not run, and holds up nobody', async () => {
    const init = aSpecContainer({ name: 'init' });
    const pod = withDebug({ initContainers: [init] });
    await bench.sync(pod);
    await expect(bench.sync(pod)).rejects.toThrow('unable to find target container app');
    expect(ephemeral().state.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'unable to find target container app',
    });
    bench.runtime.exit('web-init-0');
    await expect(bench.sync(pod)).rejects.toThrow('unable to find target container app');
    expect(bench.changes()).toContain('startContainer web-app-0');
    await bench.sync(pod);
    expect(bench.changes()).toContain('startContainer web-debug-0');
  });

  it('goes on when an edit takes it away, and ends with the pod', async () => {
    await bench.sync(withDebug());
    await bench.sync(withDebug());
    bench.changes();
    await bench.sync(aSpecPod());
    await bench.sync(aSpecPod());
    expect(bench.changes()).toEqual([]);
    expect(bench.told.filter((line) => line.includes('EphemeralContainerRemoved'))).toEqual([
      'Warning debug EphemeralContainerRemoved: Ephemeral container debug was removed from the manifest: it runs until it or the pod ends',
    ]);
    await bench.end(aSpecPod(), 5);
    expect(bench.changes()).toContain('stopContainer web-debug-0 5');
  });

  it('does not restart for an edit of it', async () => {
    await bench.sync(withDebug());
    await bench.sync(withDebug());
    bench.changes();
    await bench.sync(withDebug({ ephemeralContainers: [{ ...debug, command: ['other'] }] }));
    expect(bench.changes()).toEqual([]);
  });

  it('starts in a pod that was recreated', async () => {
    await bench.sync(withDebug());
    await bench.sync(withDebug());
    const other = withDebug({ containers: [aSpecContainer({ args: ['x'] })] });
    await bench.sync(other);
    bench.changes();
    await bench.sync(other);
    expect(bench.changes()).toEqual(['createContainer web-debug-1', 'startContainer web-debug-1']);
  });
});
