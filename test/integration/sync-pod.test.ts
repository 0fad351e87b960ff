import { mkdtemp, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SyncPodResult } from '../../src/node/pods/workers/pod-syncer.js';
import { EmbeddedNode, HOST_IMAGE, ISOLATIONS, until } from './embedded-node.js';
import { podOf, shell, SyncHarness } from './sync-harness.js';

describe.each(ISOLATIONS)('a pod that is synced on the embedded runtime with isolation %s', (isolation) => {
  let node: EmbeddedNode;
  let lab: SyncHarness;
  beforeEach(async () => {
    const network = isolation === 'none' ? {} : ({ network: 'host' } as const);
    node = await EmbeddedNode.start({ isolation, ...network });
    const folder = await mkdtemp(join(tmpdir(), 'podloop-sync-'));
    lab = new SyncHarness({ client: node.client, folder, canMount: isolation === 'namespaces' });
  });
  afterEach(async () => {
    await lab[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  it('lives from its init container to its graceful end', { timeout: 60_000 }, async () => {
    const mark = join(lab.folder, 'mark');
    const pod = podOf('web', {
      terminationGracePeriodSeconds: 20,
      initContainers: [shell('prepare', HOST_IMAGE, `echo prepared >${mark}`)],
      containers: [
        shell('app', HOST_IMAGE, `trap 'echo ended >>${mark}; exit 0' TERM; while :; do sleep 0.05; done`, {
          env: [
            { name: 'WHO', value: 'world' },
            { name: 'GREETING', value: 'hello $(WHO)' },
          ],
          lifecycle: {
            postStart: { exec: { command: ['sh', '-c', `echo "$GREETING" >>${mark}`] } },
            preStop: { exec: { command: ['sh', '-c', `echo stopping >>${mark}`] } },
          },
        }),
      ],
    });

    await lab.syncUntil(pod, () => lab.status(pod)?.phase === 'Running');
    const running = await lab.observe(pod);
    expect(running.containers.map(({ name, attempt, state }) => [name, attempt, state])).toEqual([
      ['prepare', 0, 'exited'],
      ['app', 0, 'running'],
    ]);
    expect(running.owner).toBe('podloop');
    expect(await lab.sync(pod)).toEqual({ isTerminal: false, unchanged: true });
    expect((await lab.observe(pod)).containers).toHaveLength(2);

    await lab.end(pod, 20);
    expect(await readFile(mark, 'utf8')).toBe('prepared\nhello world\nstopping\nended\n');
    expect((await lab.observe(pod)).containers.every(({ state }) => state === 'exited')).toBe(true);
    expect(lab.statuses.find(pod.metadata.uid)?.isFinished).toBe(true);
    expect(lab.events.map(({ reason }) => reason)).toEqual([
      ...['Pulled', 'Created', 'Started', 'Pulled', 'Created', 'Started', 'Killing'],
    ]);
    expect(lab.told('Killing')).toEqual(['Stopping container app']);
    const logs = await readdir(join(lab.folder, 'logs'));
    expect(logs).toEqual([`default_web-node-1_${pod.metadata.uid}`]);
    expect(await readdir(join(lab.folder, 'links'))).toHaveLength(2);
  });

  it('that failed starts again at once, then waits for its back-off', { timeout: 60_000 }, async () => {
    const pod = podOf('crash', { containers: [shell('fails', HOST_IMAGE, 'echo last words; exit 3')] });
    await lab.syncUntil(pod, () => lab.told('BackOff').length > 0);
    const { containers } = await lab.observe(pod);
    expect(containers.map(({ restartCount, exitCode }) => [restartCount, exitCode])).toEqual([
      [0, 3],
      [1, 3],
    ]);
    const waiting = lab.status(pod)?.containerStatuses[0];
    expect(waiting).toMatchObject({ restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } });
    const { requeueAfterMs = 0 } = await lab.sync(pod);
    expect(requeueAfterMs).toBeGreaterThan(0);
    expect(requeueAfterMs).toBeLessThanOrEqual(10_000);
    await lab.end(pod, 1);
  });

  it('that runs once succeeds', { timeout: 60_000 }, async () => {
    const pod = podOf('job', { restartPolicy: 'Never', containers: [shell('once', HOST_IMAGE, 'exit 0')] });
    let result: SyncPodResult = { isTerminal: false };
    await until(
      async () => (result = await lab.sync(pod)),
      () => result.isTerminal,
    );
    expect(lab.status(pod)?.phase).toBe('Succeeded');
    expect((await lab.observe(pod)).containers).toHaveLength(1);
    await lab.end(pod, 1);
  });

  it('whose image is not there says so, and backs off', { timeout: 60_000 }, async () => {
    const pod = podOf('wrong', {
      containers: [{ name: 'a', image: 'registry.invalid/none:1', command: ['true'] }],
    });
    await expect(lab.sync(pod)).rejects.toMatchObject({
      code: 'POD_SYNC_FAILED',
      message: expect.stringMatching(/^failed to "StartContainer" for "a" with ErrImagePull: /) as string,
    });
    const { requeueAfterMs = 0 } = await lab.sync(pod);
    expect(requeueAfterMs).toBeGreaterThan(0);
    expect(lab.status(pod)?.containerStatuses[0]?.state.waiting).toMatchObject({
      reason: 'ImagePullBackOff',
    });
    expect(lab.told('BackOff')).toEqual(['Back-off pulling image "registry.invalid/none:1"']);
    await lab.end(pod, 1);
  });

  it('whose command is wrong says so', { timeout: 60_000 }, async () => {
    const pod = podOf('typo', {
      containers: [{ ...shell('a', HOST_IMAGE, ''), command: ['/does/not/exist'] }],
    });
    await expect(lab.sync(pod)).rejects.toThrow(
      /failed to "StartContainer" for "a" with RunContainerError: /,
    );
    expect(lab.told('Failed')[0]).toMatch(/^Error: /);
    await lab.end(pod, 1);
  });

  it.runIf(isolation === 'namespaces')(
    'says with what words its container ended',
    { timeout: 60_000 },
    async () => {
      const script = 'echo done >/dev/termination-log; exit 4';
      const pod = podOf('words', { restartPolicy: 'Never', containers: [shell('a', HOST_IMAGE, script)] });
      await lab.syncUntil(pod, () => lab.status(pod)?.phase === 'Failed');
      const [status] = lab.status(pod)?.containerStatuses ?? [];
      expect(status?.state.terminated).toMatchObject({ exitCode: 4, message: 'done\n' });
      await lab.end(pod, 1);
    },
  );
});
