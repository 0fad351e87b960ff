import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordResult } from '../../integration/results-page.js';
import { StoryCluster } from './story-cluster.js';
import { findForStories, REPLICAS } from './story-size.js';
import { workload } from './workloads.js';

const found = findForStories();
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

describe.skipIf('missing' in found)(`a Deployment of ${REPLICAS} replicas`, { timeout: 900_000 }, () => {
  let cluster: StoryCluster;
  const seconds: Record<string, string> = {};

  beforeAll(async () => {
    if ('missing' in found) return;
    cluster = await StoryCluster.start(found);
  });

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  /** Waits for what was begun, and for everybody to agree on it. */
  const rolledOut = async (what: string, startedAtMs: number): Promise<void> => {
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=10m');
    seconds[`${what}, s`] = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
    expect(await cluster.untilAgreed()).toEqual([]);
  };
  const versions = async (): Promise<readonly string[]> =>
    (await cluster.pods()).map(({ metadata }) => metadata?.labels?.['version'] ?? '');
  const all = (version: string): readonly string[] => Array.from({ length: REPLICAS }, () => version);

  it('is rolled out over all nodes', async () => {
    const startedAtMs = performance.now();
    const body = workload('Deployment', 'web', { replicas: REPLICAS });
    await cluster.plane.admin.request({ method: 'POST', path: DEPLOYMENTS, body });
    await rolledOut('rolled out', startedAtMs);
    expect(await versions()).toEqual(all('1'));
    const nodes = new Set((await cluster.pods()).map(({ spec }) => spec?.nodeName));
    expect(nodes.size).toBe(cluster.nodes.length);
  });

  it('is updated', async () => {
    const startedAtMs = performance.now();
    const body = workload('Deployment', 'web', { replicas: REPLICAS }, { version: '2' });
    await cluster.plane.admin.request({ method: 'PATCH', path: `${DEPLOYMENTS}/web`, body });
    await rolledOut('updated', startedAtMs);
    expect(await versions()).toEqual(all('2'));
  });

  it('is rolled back', async () => {
    const startedAtMs = performance.now();
    await cluster.kubectl('rollout', 'undo', 'deployment/web');
    await rolledOut('rolled back', startedAtMs);
    expect(await versions()).toEqual(all('1'));
  });

  it('is taken away, and nothing of it is left', async () => {
    const startedAtMs = performance.now();
    await cluster.kubectl('delete', 'deployment', 'web', '--cascade=foreground', '--timeout=10m');
    seconds['deleted in the foreground, s'] = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
    expect(await cluster.untilAgreed()).toEqual([]);
    expect(await cluster.pods()).toEqual([]);
    const { versions: seen, gone } = cluster.history.counts;
    expect(gone).toBeGreaterThanOrEqual(3 * REPLICAS);
    await recordResult('cluster', 'A node of a cluster', {
      name: `A Deployment of ${REPLICAS} replicas, on ${cluster.nodes.length} nodes`,
      what: 'Rolled out, updated, rolled back and deleted on a real control plane; all on one machine. After each step API server, agents and runtimes agreed on every pod; no container ran a second time, no phase went backwards, and no pod left the API before its containers had ended.',
      values: { ...seconds, 'versions of pods seen': seen, 'pods that went': gone, disagreements: 0 },
    });
  });
});

it.runIf('missing' in found)('has no control plane for stories', () => {
  console.warn(`stories on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
