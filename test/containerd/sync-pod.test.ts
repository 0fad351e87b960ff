import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { ContainerEnvironment } from '../../src/node/runtime/config/container-environment.js';
import { buildContainerConfig } from '../../src/node/runtime/config/build-container-config.js';
import { buildSandboxConfig } from '../../src/node/runtime/config/build-sandbox-config.js';
import { CriRuntimeChanges } from '../../src/node/runtime/cri-runtime-changes.js';
import { ANNOTATIONS } from '../../src/watch/observed/labels.js';
import { someNodeFacts } from '#support/builders/node-pods.js';
import { podOf, shell, SyncHarness } from '../integration/sync-harness.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { BUSYBOX_IMAGE } from './harness/image.js';
import { TRIED_RELEASES } from './harness/tried-releases.js';
import { findLeftovers } from './harness/leftovers.js';

const busybox = (name: string, script: string, more: Readonly<Record<string, unknown>> = {}) =>
  shell(name, BUSYBOX_IMAGE, script, more);

describe.each(TRIED_RELEASES)('pods that are synced on containerd %s', (release) => {
  let containerd: Containerd;
  let client: CriClient;
  let lab: SyncHarness;
  beforeAll(async () => {
    containerd = await startContainerd({ version: release });
    client = new CriClient({ endpoint: containerd.endpoint });
    const folder = await mkdtemp(path.join(tmpdir(), 'podloop-sync-'));
    const { cgroupParent } = containerd.names;
    lab = new SyncHarness({ client, folder, canMount: true, cgroupParent });
  });
  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
    client.close();
    await containerd[Symbol.asyncDispose]();
    expect(await findLeftovers(containerd.names)).toEqual([]);
  });

  it('live from their init container to their graceful end', async () => {
    const pod = podOf('web', {
      terminationGracePeriodSeconds: 20,
      volumes: [{ name: 'shared', emptyDir: {} }],
      initContainers: [
        busybox('prepare', 'echo prepared >/shared/mark', {
          volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
        }),
        busybox('helper', 'trap "exit 0" TERM; while :; do sleep 0.1; done', { restartPolicy: 'Always' }),
      ],
      containers: [
        busybox(
          'app',
          'trap "echo ended >>/shared/mark; cat /shared/mark; echo bye >/dev/termination-log; exit 0" TERM; cat /etc/hosts; while :; do sleep 0.1; done',
          {
            volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
            resources: { limits: { memory: '64Mi', cpu: '500m' } },
            lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo stopping >>/shared/mark'] } } },
          },
        ),
      ],
    });
    await lab.syncUntil(pod, () => lab.status(pod)?.phase === 'Running');
    const running = await lab.observe(pod);
    expect(running.ips[0]).toContain(containerd.names.subnet);
    await lab.end(pod, 20);
    const log = await readFile(lab.paths.containerLogFile(pod.metadata, 'app', 0), 'utf8');
    expect(log).toMatch(new RegExp(`F ${running.ips[0]!}\tweb-node-1\n`));
    expect(log.split('\n').map((line) => line.split(' ').slice(3).join(' '))).toEqual(
      expect.arrayContaining(['prepared', 'stopping', 'ended']),
    );
    const ended = lab.status(pod)?.containerStatuses[0]?.state.terminated;
    expect(ended).toMatchObject({ exitCode: 0, message: 'bye\n' });
    await lab.remove(pod);
  });

  it('say that they had too little memory, and why nothing starts', async () => {
    const pod = podOf('hungry', {
      restartPolicy: 'Never',
      containers: [
        busybox('greedy', 'tail /dev/zero', { resources: { limits: { memory: '16Mi' } } }),
        busybox('typo', '', { command: ['/does/not/exist'] }),
      ],
    });
    await expect(lab.sync(pod)).rejects.toThrow(
      /failed to "StartContainer" for "typo" with RunContainerError/,
    );
    await lab.syncUntil(pod, ({ isTerminal }) => isTerminal);
    const [greedy, typo] = lab.status(pod)?.containerStatuses ?? [];
    expect(greedy?.state.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    expect(typo?.state.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });
    await lab.end(pod, 1);
    await lab.remove(pod);
  });

  it('take up what was made by an agent that died before it heard of it', async () => {
    const pod = podOf('lost', { containers: [busybox('app', 'sleep 1000')] });
    const container = pod.spec.containers[0]!;
    const node = someNodeFacts();
    const { cgroupParent } = containerd.names;
    const sandboxFacts = { node, paths: lab.paths, attempt: 0, cgroupParent, annotations: {} };
    const sandboxConfig = buildSandboxConfig(pod, sandboxFacts);
    const facts = { node, kind: 'container', restartCount: 0, imageRef: BUSYBOX_IMAGE, mounts: [] } as const;
    const config = buildContainerConfig(pod, container, {
      ...facts,
      environment: new ContainerEnvironment(),
      annotations: { [ANNOTATIONS.hash]: 'a' },
    });

    const before = new CriRuntimeChanges({ client });
    const sandboxId = await before.runPodSandbox(sandboxConfig);
    const containerId = await before.createContainer(sandboxId, config, sandboxConfig);
    const after = new CriRuntimeChanges({ client });
    expect(await after.runPodSandbox(sandboxConfig)).toBe(sandboxId);
    expect(await after.createContainer(sandboxId, config, sandboxConfig)).toBe(containerId);
    expect(after.facts.takenUp).toBe(2);
    await after.startContainer(containerId);
    await after.startContainer(containerId);

    // A shorter stop overtakes one that waits.
    const stop = new AbortController();
    const long = after.stopContainer(containerId, 100, { signal: stop.signal });
    const overtaken = expect(long).rejects.toThrow('shorter');
    setTimeout(() => stop.abort(new Error('shorter')), 300);
    await overtaken;
    await after.stopContainer(containerId, 2);
    expect((await lab.observe(pod)).containers.map(({ state }) => state)).toEqual(['exited']);
    await after.settled();
    await lab.end(pod, 1);
    await lab.remove(pod);
  });
});
