import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Node } from '../../src/cluster/client/kube-objects.js';
import { type PageSample, readMetricsPage } from '#support/builders/metrics-page.js';
import { LocalApiClient } from '../integration/local-api-client.js';
import { ClusterAgent } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { CountingPods } from './harness/counting-pods.js';
import { CutLine } from './harness/cut-line.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NODE = 'lab-cut';
/** A server that says nothing is asked after 30 s and given up 15 s later; then some tries to reach it again are to fail. */
const CUT_MS = 100_000;
/** Until everything is in step again: the longest pause between two tries is 30 s. */
const LIMIT_MS = 90_000;

describe.skipIf('missing' in found)('a network between node and API server that drops packets', () => {
  let plane: ControlPlane;
  let line: CutLine;
  let agent: ClusterAgent;
  let pods: CountingPods;

  beforeAll(async () => {
    if ('missing' in found) return;
    const controllerManager = ['--node-monitor-grace-period=20s', '--node-monitor-period=1s'];
    plane = await ControlPlane.start({ ...found, args: { controllerManager } });
    line = await CutLine.open(Number(new URL(plane.server).port));
    const config = join(plane.folder, 'node.json');
    const kind = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    await writeFile(config, JSON.stringify({ ...kind, nodeLeaseDurationSeconds: 20 }));
    const through = {
      nodeKubeconfig: async (name: string): Promise<string> => {
        const server = `https://127.0.0.1:${line.port}`;
        return plane.keys.makeKubeconfig(server, `node-${name}`, `system:node:${name}`, 'system:nodes');
      },
    };
    agent = await ClusterAgent.start(through, NODE, '--config', config);
    pods = new CountingPods({ admin: plane.admin, nodeName: NODE, folder: agent.folder });
    await untilAsync('a Node that is Ready', async () => isReady(await getNode()));
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await line[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const getNode = async (): Promise<Node> =>
    plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${NODE}` });
  const samplesOf = async (metric: string): Promise<readonly PageSample[]> => {
    const { text } = await new LocalApiClient(join(agent.rootDir, 'podloop.sock')).ask('/metrics');
    return readMetricsPage(text).get(metric)?.samples ?? [];
  };
  const isInStep = async (): Promise<boolean> =>
    (await samplesOf('podloop_cluster_in_step')).some(
      ({ labels, value }) => labels['collection'] === 'pods' && value === 1,
    );
  const countDrops = async (): Promise<number> =>
    (await samplesOf('podloop_node_connection_drops_total')).reduce((sum, { value }) => sum + value, 0);

  it(
    'leaves its pods alone, is known for what it is, and all is in step soon after',
    { timeout: 2 * (CUT_MS + LIMIT_MS) },
    async () => {
      for (const name of ['stays', 'ends']) await pods.make(name);
      for (const name of ['stays', 'ends']) await untilAsync(name, async () => isReady(await pods.get(name)));
      const before = (await pods.get('stays')).status?.containerStatuses;
      expect(await isInStep()).toBe(true);
      const drops = await countDrops();

      line.cut();
      const endsAtMs = performance.now() + CUT_MS;
      await pods.delete('ends');
      await pods.make('later');
      let count = await pods.countOf('stays');
      const seen: boolean[] = [];
      let isNodeLost = false;
      while (performance.now() < endsAtMs) {
        await sleep(1_000);
        seen.push(await isInStep());
        isNodeLost ||= !isReady(await getNode());
        const now = await pods.countOf('stays');
        expect(now).toBeGreaterThan(count);
        count = now;
      }
      expect(isNodeLost).toBe(true);
      // It is noticed, and from then on it is not in step at any time.
      const noticed = seen.indexOf(false);
      expect(noticed).toBeGreaterThan(0);
      expect(seen.slice(noticed)).not.toContain(true);
      expect(seen.length - noticed).toBeGreaterThan(30);
      // Heartbeats do not wait until TCP gives up.
      expect(await countDrops()).toBeGreaterThan(drops);

      line.mend();
      const mendedAtMs = performance.now();
      await untilAsync('the new pod', async () => isReady(await pods.get('later')), LIMIT_MS);
      await untilAsync('the old one to go', async () => pods.isGone('ends'), LIMIT_MS);
      await untilAsync('the Node', async () => isReady(await getNode()), LIMIT_MS);
      await untilAsync('all in step', isInStep, LIMIT_MS);
      console.info(`in step ${Math.round((performance.now() - mendedAtMs) / 1_000)}s after the cut`);
      const file = pods.fileOf('ends');
      await rm(file);
      await sleep(1_500);
      expect(await pods.countOf('ends')).toBe(0);
      expect(await pods.countOf('stays')).toBeGreaterThan(count);
      const after = await untilAsync('the pod to be Ready', async () => {
        const pod = await pods.get('stays');
        return isReady(pod) && pod;
      });
      expect(after.status?.containerStatuses).toEqual(before);
    },
  );
});

it.runIf('missing' in found)('has no control plane to be cut off from', () => {
  console.warn(`tests on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
