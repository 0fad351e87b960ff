import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { recordResult } from '../../integration/results-page.js';
import { isReady } from '../harness/is-ready.js';
import { RESTARTS_LABEL } from './pod-history.js';
import { cutPower } from './power-cut.js';
import { StoryCluster } from './story-cluster.js';
import { findForStories, REPLICAS } from './story-size.js';
import { workload } from './workloads.js';

const found = findForStories();
const APPS = '/apis/apps/v1/namespaces/default';
const MEMBERS = 4;

describe.skipIf('missing' in found)('nodes that are killed with -9', { timeout: 900_000 }, () => {
  let cluster: StoryCluster;
  const seconds: Record<string, string> = {};

  beforeAll(async () => {
    if ('missing' in found) return;
    cluster = await StoryCluster.start({ ...found, isHasty: true });
  });

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  const took = (what: string, startedAtMs: number): void => {
    seconds[`${what}, s`] = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  };
  const podsOf = async (app: string, node?: string): Promise<readonly Pod[]> =>
    (await cluster.pods()).filter(
      ({ metadata, spec }) =>
        metadata?.labels?.['app'] === app && (node === undefined || spec?.nodeName === node),
    );
  /** All of the Deployment are Ready, and none of them on that node. */
  const untilMoved = async (node: string): Promise<void> => {
    await cluster.until(`pods that have moved from ${node}`, async () => {
      const pods = await podsOf('web');
      const alive = pods.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
      return alive.length === REPLICAS && alive.every((pod) => isReady(pod) && pod.spec?.nodeName !== node);
    });
  };
  const untilAllReady = async (): Promise<void> => {
    await cluster.untilReady();
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=10m');
    await cluster.kubectl('rollout', 'status', 'statefulset/members', '--timeout=10m');
    await cluster.kubectl('rollout', 'status', 'daemonset/each', '--timeout=10m');
    expect(await cluster.untilAgreed()).toEqual([]);
  };

  it('run pods', async () => {
    const { admin } = cluster.plane;
    const deployment = workload('Deployment', 'web', { replicas: REPLICAS });
    await admin.request({ method: 'POST', path: `${APPS}/deployments`, body: deployment });
    const spec = { replicas: MEMBERS, serviceName: 'members', podManagementPolicy: 'Parallel' };
    const statefulSet = workload('StatefulSet', 'members', spec);
    await admin.request({ method: 'POST', path: `${APPS}/statefulsets`, body: statefulSet });
    // Its pods stay on nodes that are lost.
    const daemonSet = workload('DaemonSet', 'each', {}, { labels: { [RESTARTS_LABEL]: 'power' } });
    await admin.request({ method: 'POST', path: `${APPS}/daemonsets`, body: daemonSet });
    await untilAllReady();
  });

  it('lose nothing when they are back before anybody gives them up', async () => {
    const before = await cluster.running();
    for (const { agent } of cluster.nodes) {
      await agent.kill();
      agent.start();
    }
    await untilAllReady();
    expect(await cluster.running()).toEqual(before);
  });

  it('lose their pods to other nodes, and end what still runs when they are back', async () => {
    const lost = cluster.node('story-a');
    const each = await podsOf('each', lost.name);
    const startedAtMs = performance.now();
    await lost.agent.kill();
    await untilMoved(lost.name);
    took('agent killed: pods moved', startedAtMs);
    // Nobody can know that they have ended: a StatefulSet must not have the same member twice.
    const { containers } = await lost.watch.look();
    const uids = new Set(containers.filter(({ state }) => state === 'running').map(({ podUid }) => podUid));
    const waiting = (await cluster.pods()).filter(
      ({ metadata, spec }) => metadata?.deletionTimestamp !== undefined && spec?.nodeName === lost.name,
    );
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.filter(({ metadata }) => !uids.has(metadata?.uid ?? ''))).toEqual([]);
    const backAtMs = performance.now();
    lost.agent.start();
    await untilAllReady();
    took('agent killed: in step once it is back', backAtMs);
    // What was well and wanted all the time goes on.
    const idsOf = (pods: readonly Pod[]): unknown =>
      pods.map(({ status }) => status?.containerStatuses?.map(({ containerID }) => containerID));
    expect(idsOf(await podsOf('each', lost.name))).toEqual(idsOf(each));
  });

  it('lose their pods when the power is cut, and begin anew', async () => {
    const lost = cluster.node('story-b');
    const [each] = await podsOf('each', lost.name);
    const startedAtMs = performance.now();
    await cutPower(lost.agent.folder);
    await untilMoved(lost.name);
    took('power cut: pods moved', startedAtMs);
    await sleep(1_000);
    const backAtMs = performance.now();
    lost.agent.start();
    await untilAllReady();
    took('power cut: in step once it is back', backAtMs);
    const [after] = await podsOf('each', lost.name);
    expect(after?.metadata?.uid).toBe(each?.metadata?.uid);
    expect(after?.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([1]);
  });

  it('have nothing left in the end', async () => {
    const names = ['deployment/web', 'statefulset/members', 'daemonset/each'];
    await cluster.kubectl('delete', ...names, '--cascade=foreground', '--timeout=9m');
    expect(await cluster.untilAgreed()).toEqual([]);
    expect(await cluster.pods()).toEqual([]);
    const { versions, gone } = cluster.history.counts;
    await recordResult('cluster', 'A node of a cluster', {
      name: `Two of ${cluster.nodes.length} nodes killed with -9 under a Deployment of ${REPLICAS}`,
      what: 'First every agent alone, and started again at once; then one agent, until its pods had moved; then every process of another node, as a power cut would. The controller manager gives a node up after 20 s, pods leave it 3 s later; all on one machine. After each step API server, agents and runtimes agreed on every pod.',
      values: { ...seconds, 'versions of pods seen': versions, 'pods that went': gone, disagreements: 0 },
    });
  });
});

it.runIf('missing' in found)('has no control plane for stories', () => {
  console.warn(`stories on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
