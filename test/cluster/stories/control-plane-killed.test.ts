import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../../containerd/churn/random.js';
import { recordResult } from '../../integration/results-page.js';
import { PodLoad } from './pod-load.js';
import { StoryCluster } from './story-cluster.js';
import { findForStories, IS_FULL, REPLICAS, SEED } from './story-size.js';
import { workload } from './workloads.js';

const found = findForStories();
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
/** Of each. */
const KILLS = IS_FULL ? 6 : 2;
/** Who changes pods at once. */
const LOADS = 3;

describe.skipIf('missing' in found)(
  `an API server and an etcd that are killed with -9, seed ${SEED}`,
  { timeout: 900_000 },
  () => {
    let cluster: StoryCluster;
    const random = new SeededRandom(SEED);

    beforeAll(async () => {
      if ('missing' in found) return;
      cluster = await StoryCluster.start(found);
    });

    afterAll(async () => {
      await cluster[Symbol.asyncDispose]();
    });

    it('leave every pod as it was asked for, once, and nothing of the others', async () => {
      const { plane } = cluster;
      const body = workload('Deployment', 'web', { replicas: REPLICAS });
      await plane.admin.request({ method: 'POST', path: DEPLOYMENTS, body });
      await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=10m');
      const before = await cluster.running();

      const end = new AbortController();
      const most = Math.ceil(REPLICAS / LOADS);
      const loads = Array.from(
        { length: LOADS },
        (_, index) =>
          new PodLoad({ client: plane.admin, random: random.fork(), most, name: `load-${index}` }),
      );
      const running = Promise.all(loads.map(async (load) => load.run(end.signal)));
      const victims = Array.from({ length: KILLS }, () => ['apiServer', 'etcd'] as const).flat();
      for (const victim of victims) {
        await sleep(random.between(1_000, 6_000));
        await plane.components[victim].kill();
        await sleep(random.between(0, 4_000));
        await plane.components[victim].start();
      }
      await sleep(3_000);
      end.abort();
      await running;

      const startedAtMs = performance.now();
      const wanted = new Map(loads.flatMap((load) => [...load.wanted]));
      await cluster.until('pods as they were asked for', async () => {
        const pods = (await cluster.pods()).filter(({ metadata }) => metadata?.labels?.['app'] === 'load');
        return (
          pods.length === wanted.size &&
          pods.every(({ metadata, status }) => {
            const each = wanted.get(metadata?.name ?? '');
            if (each === undefined || each.mark !== (metadata?.labels?.['mark'] ?? '')) return false;
            return status?.phase === (each.runsOn ? 'Running' : 'Succeeded');
          })
        );
      });
      expect(await cluster.untilAgreed()).toEqual([]);
      const inStepS = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
      const after = await cluster.running();
      expect([...before].filter(([key, id]) => after.get(key) !== id)).toEqual([]);

      await cluster.kubectl('delete', 'deployment/web', '--cascade=foreground', '--timeout=9m');
      await cluster.kubectl('delete', 'pods', '--all', '--timeout=9m');
      expect(await cluster.untilAgreed()).toEqual([]);
      expect(await cluster.pods()).toEqual([]);
      const { versions, gone, gaps } = cluster.history.counts;
      const sum = (key: 'changes' | 'unanswered'): number =>
        loads.reduce((total, load) => total + load.counts[key], 0);
      await recordResult('cluster', 'A node of a cluster', {
        name: `API server and etcd killed with -9 ${KILLS} times each while pods come and go, on ${cluster.nodes.length} nodes`,
        what: `Under a Deployment of ${REPLICAS}, whose containers all went on; ${LOADS} clients made, changed and deleted other pods meanwhile. All on one machine; seed ${SEED}. In the end API server, agents and runtimes agreed on every pod.`,
        values: {
          ...{ 'changes of pods': sum('changes'), 'tries without an answer': sum('unanswered') },
          'all in step after the last change, s': inStepS,
          ...{ 'versions of pods seen': versions, 'pods that went': gone, 'gaps in what was seen': gaps },
          disagreements: 0,
        },
      });
    });
  },
);

it.runIf('missing' in found)('has no control plane for stories', () => {
  console.warn(`stories on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
