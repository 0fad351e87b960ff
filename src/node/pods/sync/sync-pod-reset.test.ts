import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { SyncPodHarness } from '#support/harness/sync-pod-harness.js';

let bench: SyncPodHarness;
beforeEach(async () => {
  bench = await SyncPodHarness.open();
});
afterEach(() => bench[Symbol.asyncDispose]());

describe('a container whose end restarts all of its pod', () => {
  const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }] as const;
  const pod = aSpecPod({
    restartPolicy: 'Never',
    initContainers: [
      aSpecContainer({ name: 'init' }),
      aSpecContainer({ name: 'side', restartPolicy: 'Always' }),
    ],
    containers: [
      aSpecContainer({ restartPolicy: 'Never', restartPolicyRules: rules }),
      aSpecContainer({ name: 'helper', lifecycle: { preStop: { exec: { command: ['bye'] } } } }),
    ],
  });
  const condition = (type: string) => bench.status().conditions.find((each) => each.type === type);

  /** What the runtime keeps of each container that ran. */
  async function writeLogs(attempt: number): Promise<void> {
    for (const name of ['init', 'side', 'app', 'helper']) {
      const file = join(bench.folder, `logs/default_web_u1/${name}/${attempt}.log`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, '');
    }
  }

  async function begin(): Promise<void> {
    await bench.sync(pod);
    bench.runtime.exit('web-init-0');
    await bench.sync(pod);
    await bench.sync(pod);
    await bench.sync(pod);
    await writeLogs(0);
    expect(bench.status().phase).toBe('Running');
    expect(condition('AllContainersRestarting')).toMatchObject({ status: 'False' });
    bench.changes();
    bench.told.length = 0;
  }

  it('has everything stopped and removed, itself last, and then runs from the first init container on', async () => {
    await begin();
    bench.runtime.exit('web-app-0', 42);
    expect(await bench.sync(pod)).toEqual({ isTerminal: false });
    expect(bench.changes()).toEqual([
      'stopContainer web-helper-0 2',
      'removeContainer web-helper-0',
      'removeContainer web-init-0',
      'stopContainer web-side-0 2',
      'removeContainer web-side-0',
      'removeContainer web-app-0',
      ...['createContainer web-init-1', 'startContainer web-init-1'],
    ]);
    // Without its hook, which is for an end with time for it.
    expect(bench.told.slice(0, 2)).toEqual([
      ...['Normal helper Killing: killing', 'Normal side Killing: killing'],
    ]);
    const { terminated } = bench.container('app').lastState;
    expect(terminated).toMatchObject({ exitCode: 137, reason: 'RestartingAllContainers' });
    expect(bench.container('app')).toMatchObject({
      ...{ restartCount: 1, ready: false },
      state: { waiting: { reason: 'RestartingAllContainers' } },
    });
    expect(condition('AllContainersRestarting')).toMatchObject({ status: 'False' });
    await bench.sync(pod);
    expect(bench.status().phase).toBe('Pending');
    expect(condition('Initialized')).toMatchObject({ status: 'True' });
    bench.runtime.exit('web-init-1');
    await bench.sync(pod);
    await bench.sync(pod);
    await bench.sync(pod);
    expect(bench.changes().filter((call) => call.startsWith('start'))).toEqual([
      ...['startContainer web-side-1', 'startContainer web-app-1', 'startContainer web-helper-1'],
    ]);
    expect(bench.status().phase).toBe('Running');
    for (const name of ['app', 'helper', 'side', 'init'])
      expect(bench.container(name)).toMatchObject({
        restartCount: 1,
        lastState: { terminated: { exitCode: 137 } },
      });
  });

  it('shows that it does so as long as something is left', async () => {
    await begin();
    bench.runtime.exit('web-app-0', 42);
    bench.runtime.gate('stopContainer').fail(new Error('not now'));
    await expect(bench.sync(pod)).rejects.toThrow('failed to "KillContainer" for "helper"');
    expect(condition('AllContainersRestarting')).toMatchObject({
      ...{ status: 'True', reason: 'RestartAllContainersStarted' },
      message: 'container exited with restart policy rule',
    });
    expect(bench.status().phase).toBe('Running');
    expect(bench.changes()).toEqual(['stopContainer web-helper-0 2']);
  });

  it('continues if the container that asked for it is removed while another cannot be stopped', async () => {
    await begin();
    bench.runtime.exit('web-app-0', 42);
    bench.runtime.gate('stopContainer').fail(new Error('not now'));
    await expect(bench.sync(pod)).rejects.toThrow('failed to "KillContainer" for "helper"');
    bench.runtime.gate('stopContainer').fail(undefined);
    await bench.runtime.removeContainer('web-app-0');
    bench.changes();
    await bench.sync(pod);
    expect(bench.changes().filter((call) => /^(?:remove|start)/.test(call))).toEqual([
      ...['removeContainer web-helper-0', 'removeContainer web-init-0', 'removeContainer web-side-0'],
      'startContainer web-init-1',
    ]);
    expect(condition('AllContainersRestarting')).toMatchObject({ status: 'False' });
  });

  it('continues under a new agent if the previous one was killed before it was done', async () => {
    await begin();
    bench.runtime.exit('web-app-0', 42);
    bench.runtime.exit('web-helper-0', 0);
    await bench.runtime.removeContainer('web-helper-0');
    bench.changes();
    bench.restartAgent();
    await bench.sync(pod);
    expect(bench.changes()).toEqual([
      ...['removeContainer web-init-0', 'stopContainer web-side-0 2', 'removeContainer web-side-0'],
      ...['removeContainer web-app-0', 'createContainer web-init-1', 'startContainer web-init-1'],
    ]);
    // Nothing is left that asks for it.
    await bench.sync(pod);
    expect(bench.changes()).toEqual([]);
  });

  it('waits for its back-off before it restarts all of them again, and leaves the newest logs only', async () => {
    await begin();
    for (const [round, delayMs] of [0, 10_000, 20_000].entries()) {
      bench.runtime.exit(`web-app-${round}`, 42);
      if (delayMs > 0) {
        expect(await bench.sync(pod)).toMatchObject({ isTerminal: false, requeueAfterMs: delayMs });
        expect(bench.container('app').state.waiting).toMatchObject({ reason: 'CrashLoopBackOff' });
        expect(condition('AllContainersRestarting')).toMatchObject({ status: 'True' });
        await bench.clock.advance(delayMs - 1);
        await bench.sync(pod);
        // The others run on.
        expect(bench.changes()).toEqual([]);
        await bench.clock.advance(1);
      }
      await bench.sync(pod);
      expect(bench.changes()).toContain(`removeContainer web-app-${round}`);
      expect(await readdir(join(bench.folder, 'logs/default_web_u1/app'))).toEqual([`${round}.log`]);
      bench.runtime.exit(`web-init-${round + 1}`);
      for (let step = 0; step < 3; step++) await bench.sync(pod);
      await writeLogs(round + 1);
      bench.changes();
    }
  });

  it('ends the pod with another exit code', async () => {
    await begin();
    bench.runtime.exit('web-app-0', 1);
    bench.runtime.exit('web-helper-0', 0);
    await bench.sync(pod);
    expect(bench.changes()).toEqual([...['stopContainer web-side-0 30', 'stopPodSandbox web-sandbox-0']]);
    expect(await bench.sync(pod)).toEqual({ isTerminal: true });
    expect(bench.status().phase).toBe('Failed');
    expect(condition('AllContainersRestarting')).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });

  it('removes nothing of a pod that is being deleted', async () => {
    await begin();
    bench.runtime.exit('web-app-0', 42);
    const metadata = { ...pod.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' };
    await bench.sync({ ...pod, metadata });
    expect(bench.changes().filter((call) => call.startsWith('remove'))).toEqual([]);
  });
});
