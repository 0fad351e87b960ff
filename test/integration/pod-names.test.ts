/**
 * What a pod finds as names on a node of a cluster, and behind systemd-resolved: by the options of the agent, which
 * stories have only once.
 *
 * @module
 */
import { lstat, mkdtemp, readdir, readFile, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentOptions } from '../../src/node/options/agent-options.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { startEmbedded } from './pod-stories/start-embedded.js';
import { type StoryRuntime } from './pod-stories/story-suite.js';

const LIMIT_MS = 120_000;

let folder: string;
let runtime: StoryRuntime;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-names-'));
  runtime = await startEmbedded(folder, 'bridge');
}, LIMIT_MS);
afterEach(async () => {
  await runtime.end();
  await rm(folder, { recursive: true });
}, LIMIT_MS);

/** What a job prints that shows its resolv.conf, on a node with these options. */
async function resolverIn(spec: string, agent: Partial<AgentOptions>): Promise<readonly string[]> {
  const options = { stopPods: true, clusterDomain: 'cluster.test', ...agent };
  await using node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent: options });
  await writeFile(
    join(node.manifestFolder, 'job.yaml'),
    `apiVersion: v1
kind: Pod
metadata: { name: job, namespace: shop }
spec:
  restartPolicy: Never
  ${spec}
  containers:
    - { name: main, image: 'podloop.test/programs:1', command: [sh, -c, 'cat /etc/resolv.conf; echo end'] }
`,
  );
  let lines: readonly string[] = [];
  await expect
    .poll(async () => (lines = await node.logOf('job', 'main')), { timeout: LIMIT_MS })
    .toContain('end');
  return lines.filter((line) => line !== 'end');
}

describe.runIf(process.getuid?.() === 0)('a pod of a node', { timeout: 2 * LIMIT_MS }, () => {
  it('asks the cluster first, and searches its domains before those of the node', async () => {
    const resolvConf = join(folder, 'resolv.conf');
    await writeFile(resolvConf, 'nameserver 192.0.2.1\nsearch corp.example cluster.test\noptions rotate\n');
    expect(await resolverIn('subdomain: s', { resolvConf, clusterDns: ['10.96.0.10'] })).toEqual([
      'search shop.svc.cluster.test svc.cluster.test cluster.test corp.example',
      'nameserver 10.96.0.10',
      'options ndots:5',
    ]);
  });

  it('asks nobody where the node has no file of name servers', async () => {
    expect(await resolverIn('dnsPolicy: Default', { resolvConf: '' })).toEqual([
      'search .',
      'nameserver 127.0.0.1',
    ]);
  });

  it('finds its names again when it is started again, whatever was put in their place meanwhile', async () => {
    await using node = await AgentNode.start({
      ...{ folder, endpoint: runtime.endpoint },
      agent: { stopPods: true },
    });
    const command = "[sh, -c, 'grep -c managed /etc/hosts; exec sleep 1000']";
    await writeFile(
      join(node.manifestFolder, 'web.yaml'),
      `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: 'podloop.test/programs:1', command: ${command} }]
`,
    );
    const said = () => node.logOf('web', 'main');
    await expect.poll(said, { timeout: LIMIT_MS }).toEqual(['1']);
    const pods = join(folder, 'node', 'pods');
    const file = join(pods, (await readdir(pods))[0]!, 'etc-hosts');
    const outside = join(folder, 'outside');
    await writeFile(outside, 'kept');
    // As a container may that has the folder of all pods by a hostPath.
    await unlink(file);
    await symlink(outside, file);
    await node.kill('web', 'main', AbortSignal.timeout(LIMIT_MS));
    await expect.poll(said, { timeout: LIMIT_MS }).toEqual(['1', '1']);
    expect(await readFile(outside, 'utf8')).toBe('kept');
    expect((await lstat(file)).isFile()).toBe(true);
  });
});
