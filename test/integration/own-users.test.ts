import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { startEmbedded } from './pod-stories/start-embedded.js';

const POD = `
apiVersion: v1
kind: Pod
metadata: { name: own }
spec:
  hostUsers: false
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: 'podloop.test/programs:1', command: [sleep, '1000'] }]
`;

it('the runtime in the box starts no pod that asks for users of its own, and its events say what to do', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-own-users-'));
  await mkdir(join(folder, 'manifests'));
  const runtime = await startEmbedded(folder, 'host');
  try {
    await writeFile(join(folder, 'manifests', 'own.yaml'), POD);
    await using node = await AgentNode.start({ folder, endpoint: runtime.endpoint });
    await expect
      .poll(() => node.eventsOf('own'), { timeout: 30_000 })
      .toContain(
        "Warning FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces: the runtime in the box gives containers the users of the node; run the pod on containerd 2 or CRI-O (--runtime-endpoint), or leave hostUsers out",
      );
    const client = new CriClient({ endpoint: runtime.endpoint });
    expect((await client.listPodSandbox({})).items).toEqual([]);
    const { runtimeHandlers } = await client.status({}, {});
    client.close();
    expect(runtimeHandlers.map(({ features }) => features?.userNamespaces)).toEqual([false]);
  } finally {
    await runtime.end();
    await rm(folder, { recursive: true, force: true });
  }
}, 60_000);
