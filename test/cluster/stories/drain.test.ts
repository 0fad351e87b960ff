import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { recordResult } from '../../integration/results-page.js';
import { StoryCluster } from './story-cluster.js';
import { findForStories, REPLICAS } from './story-size.js';
import { workload } from './workloads.js';

const found = findForStories();
const APPS = '/apis/apps/v1/namespaces/default';

describe.skipIf('missing' in found)('nodes that are cordoned and drained', { timeout: 900_000 }, () => {
  let cluster: StoryCluster;
  const seconds: Record<string, string> = {};

  beforeAll(async () => {
    if ('missing' in found) return;
    cluster = await StoryCluster.start(found);
  });

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const startedAtMs = performance.now();
    await work();
    seconds[`${what}, s`] = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  };
  const podsOn = async (node: string): Promise<readonly Pod[]> =>
    (await cluster.pods()).filter(({ spec }) => spec?.nodeName === node);
  const appsOn = async (node: string): Promise<readonly (string | undefined)[]> =>
    (await podsOn(node)).map(({ metadata }) => metadata?.labels?.['app']);
  const rolledOut = async (): Promise<void> => {
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=10m');
    expect(await cluster.untilAgreed()).toEqual([]);
  };

  it('have pods that may not all be away at once', async () => {
    const { admin } = cluster.plane;
    await admin.request({
      ...{ method: 'POST', path: `${APPS}/deployments` },
      body: workload('Deployment', 'web', { replicas: REPLICAS }),
    });
    await admin.request({
      ...{ method: 'POST', path: `${APPS}/daemonsets`, body: workload('DaemonSet', 'each', {}) },
    });
    const spec = { maxUnavailable: '25%', selector: { matchLabels: { app: 'web' } } };
    const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web' }, spec };
    const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    await admin.request({ method: 'POST', path, body: budget });
    await cluster.kubectl('rollout', 'status', 'daemonset/each', '--timeout=10m');
    await rolledOut();
  });

  it('get no more pods while they are cordoned, and keep those they have', async () => {
    const before = await podsOn('story-a');
    await cluster.kubectl('cordon', 'story-a');
    await cluster.kubectl('scale', 'deployment/web', `--replicas=${REPLICAS + 4}`);
    await rolledOut();
    const uids = (pods: readonly Pod[]): unknown => pods.map(({ metadata }) => metadata?.uid).sort();
    expect(uids(await podsOn('story-a'))).toEqual(uids(before));
  });

  it('are drained, one on each runtime, and the others go on as they were', async () => {
    const drained = ['story-a', cluster.nodes.at(-1)!.name];
    const before = [...(await cluster.running())].filter(
      ([key]) => !drained.some((name) => key.startsWith(`${name} `)),
    );
    for (const node of drained) {
      const args = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=9m'];
      await timed(`${node} drained`, async () => cluster.kubectl('drain', node, ...args));
      expect(await appsOn(node)).toEqual(['each']);
    }
    await rolledOut();
    const after = await cluster.running();
    expect(before.filter(([key, id]) => after.get(key) !== id)).toEqual([]);
    for (const node of drained) expect(await appsOn(node)).toEqual(['each']);
  });

  it('have pods again once they are uncordoned', async () => {
    for (const { name } of cluster.nodes) await cluster.kubectl('uncordon', name);
    await timed('restarted over all nodes', async () => {
      await cluster.kubectl('rollout', 'restart', 'deployment/web');
      await rolledOut();
    });
    for (const { name } of cluster.nodes) expect(await appsOn(name)).toContain('web');
  });

  it('have nothing left in the end', async () => {
    await timed('deleted in the foreground', async () =>
      cluster.kubectl('delete', 'deployment/web', 'daemonset/each', '--cascade=foreground', '--timeout=9m'),
    );
    expect(await cluster.untilAgreed()).toEqual([]);
    expect(await cluster.pods()).toEqual([]);
    const { versions, gone } = cluster.history.counts;
    await recordResult('cluster', 'A node of a cluster', {
      name: `Two of ${cluster.nodes.length} nodes cordoned and drained under a Deployment of ${REPLICAS}`,
      what: 'By `kubectl drain`, with a disruption budget of 25 % and a DaemonSet beside; all on one machine. After each step API server, agents and runtimes agreed on every pod, and containers on other nodes went on as they were.',
      values: { ...seconds, 'versions of pods seen': versions, 'pods that went': gone, disagreements: 0 },
    });
  });
});

it.runIf('missing' in found)('has no control plane for stories', () => {
  console.warn(`stories on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
