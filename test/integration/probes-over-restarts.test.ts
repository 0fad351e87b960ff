import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { EmbeddedNode, until } from './embedded-node.js';
import { AgentNode } from './pod-stories/agent-node.js';

const PROBE = { exec: { command: ['true'] } };

it('shows what was ready as ready to the first who asks after a restart of the agent, before any probe has run again', async () => {
  await using node = await EmbeddedNode.start({ network: 'none' });
  const { folder, listen: endpoint } = node;
  await mkdir(join(folder, 'manifests'));
  const container = {
    ...{ name: 'main', image: 'podloop.local/host', command: ['sleep', '1000'] },
    startupProbe: { ...PROBE, periodSeconds: 1 },
    // None of the second agent's is due while the test runs.
    readinessProbe: { ...PROBE, initialDelaySeconds: 1, periodSeconds: 600 },
  };
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
  await writeFile(join(folder, 'manifests/web.json'), JSON.stringify(manifest));
  {
    await using first = await AgentNode.start({ folder, endpoint });
    const isReady = (): boolean => containerOf(first)?.ready === true;
    await until(isReady, Boolean);
  }
  await using second = await AgentNode.start({ folder, endpoint, agent: { stopPods: true } });
  const shown = await until(
    () => containerOf(second),
    (status) => status !== undefined,
  );
  expect(shown).toMatchObject({ ready: true, started: true, restartCount: 0 });
});

function containerOf({ agent }: AgentNode): V1ContainerStatus | undefined {
  return agent.statuses()[0]?.status.containerStatuses[0];
}
