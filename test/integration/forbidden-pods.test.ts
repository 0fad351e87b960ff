import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentOptions } from '../../src/node/options/agent-options.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { startEmbedded } from './pod-stories/start-embedded.js';
import { type StoryRuntime } from './pod-stories/story-suite.js';

const SLOW = { timeout: 60_000 };
let folder: string;
let runtime: StoryRuntime;
let nodes: AgentNode[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-forbidden-'));
  await mkdir(join(folder, 'manifests'));
  runtime = await startEmbedded(folder, 'host');
  nodes = [];
}, 60_000);

afterEach(async () => {
  for (const node of nodes) await node.stop().catch(() => undefined);
  await rm(join(folder, 'manifests'), { recursive: true });
  await mkdir(join(folder, 'manifests'));
  // One more agent clears up, whatever became of the test.
  const last = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent: { stopPods: true } });
  await last.stop();
  await runtime.end();
  await rm(folder, { recursive: true, force: true });
}, 120_000);

async function start(agent: Partial<AgentOptions>): Promise<AgentNode> {
  const node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent });
  nodes.push(node);
  return node;
}

const write = (privileged: boolean, volume = '{ emptyDir: {} }'): Promise<void> =>
  writeFile(
    join(folder, 'manifests/pod.yaml'),
    `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: podloop.test/programs:1
      command: [sleep, '1000']
      securityContext: { privileged: ${privileged} }
      volumeMounts: [{ name: v, mountPath: /v, readOnly: true }]
  volumes: [{ name: v, ${volume.slice(1, -1)} }]
`,
  );

const reasons = (node: AgentNode): string[] => node.agent.podEvents().map(({ reason }) => reason);

/** Phase, reason and state of the container. */
function look(node: AgentNode): string {
  const status = node.agent.statuses().find(({ pod }) => pod.name === 'web-test')?.status;
  const state = Object.keys(status?.containerStatuses[0]?.state ?? {})[0] ?? 'none';
  return `${status?.phase ?? 'unknown'} ${status?.reason ?? '-'} ${state}`;
}

describe.runIf(process.getuid?.() === 0)('a pod that its node forbids', { timeout: 240_000 }, () => {
  it('is ended by an agent that is started so, runs once its manifest asks for less, and is ended when it asks for it again', async () => {
    await write(true);
    const before = await start({});
    await expect.poll(() => look(before), SLOW).toBe('Running - running');
    await before.stop();
    const node = await start({ forbid: ['privileged'] });
    await expect.poll(() => look(node), SLOW).toBe('Failed PodForbidden terminated');
    const { message } = node.agent.statuses()[0]!.status;
    expect(message).toBe(
      'Pod was rejected: spec.containers[0].securityContext.privileged: Forbidden: this node runs with --forbid=privileged',
    );
    expect(reasons(node)).toContain('PodForbidden');
    await write(false);
    await expect.poll(() => look(node), SLOW).toBe('Running - running');
    await write(true);
    await expect.poll(() => look(node), SLOW).toBe('Failed PodForbidden terminated');
    await node.stop();
    const after = await start({});
    await expect.poll(() => look(after), SLOW).toBe('Running - running');
  });

  it('never begins when a link leads it out of the paths that it may mount', async () => {
    await mkdir(join(folder, 'open'));
    await mkdir(join(folder, 'closed'));
    await symlink('../closed', join(folder, 'open/link'));
    const node = await start({ allowedHostPaths: [`${folder}/open:ro`] });
    await write(false, `{ hostPath: { path: ${folder}/closed } }`);
    await expect.poll(() => look(node), SLOW).toMatch(/^Failed PodForbidden/);
    await write(false, `{ hostPath: { path: ${folder}/open/link } }`);
    await expect.poll(() => reasons(node), SLOW).toContain('FailedMount');
    expect(look(node)).toBe('Pending - waiting');
    await write(false, `{ hostPath: { path: ${folder}/open } }`);
    await expect.poll(() => look(node), SLOW).toBe('Running - running');
  });
});
