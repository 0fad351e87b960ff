import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { readMetricsPage } from '#support/builders/metrics-page.js';
import { LocalApiClient } from '../integration/local-api-client.js';
import { EmbeddedChaosNode } from '../integration/metrics/embedded-chaos-node.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { PODS, untilEvent } from './harness/pods-seen.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NODE = 'lab-h';
/** After so long without a sign of it a runtime is not healthy, with podloop as with a kubelet. */
const THRESHOLD_MS = 180_000;
const LIMIT_MS = 120_000;
const LOOK_MS = 5_000;

describe.skipIf('missing' in found)('a node whose runtime hangs', { timeout: 900_000 }, () => {
  let plane: ControlPlane;
  let runtime: EmbeddedChaosNode;
  let agent: ClusterAgent;

  beforeAll(async () => {
    if ('missing' in found) return;
    const controllerManager = ['--allocate-node-cidrs', '--cluster-cidr=10.201.0.0/16'];
    plane = await ControlPlane.start({ ...found, args: { controllerManager } });
    runtime = await EmbeddedChaosNode.start();
    // Without events: what hangs is not to be learned in another way.
    const flags = ['--runtime-endpoint', runtime.proxy.endpoint, '--mode', 'generic'];
    agent = await ClusterAgent.start(plane, NODE, ...flags);
    await untilAsync('a Node that is Ready', async () => isReady(await getNode()));
  });

  afterAll(async () => {
    runtime.replaceRules('rules: []');
    await agent[Symbol.asyncDispose]();
    await runtime[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const getNode = async (): Promise<Node> =>
    plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${NODE}` });
  const getPod = async (name: string): Promise<Pod> =>
    plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}` });
  const untilReady = async (name: string): Promise<Pod> =>
    untilAsync(
      `${name} to be Ready`,
      async () => {
        const pod = await getPod(name);
        return isReady(pod) && pod;
      },
      LIMIT_MS,
    );
  const untilRestarted = async (name: string, restarts: number): Promise<void> => {
    await untilAsync(
      `${name} to be restarted`,
      async () => (await getPod(name)).status?.containerStatuses?.[0]?.restartCount === restarts,
      LIMIT_MS,
    );
  };
  const fileOf = (name: string): string => join(agent.folder, `${name}.end`);
  /** Its container runs until there is a file of its name. */
  const make = async (name: string): Promise<void> => {
    const file = fileOf(name);
    const script = `trap "exit 0" TERM; while [ ! -e ${file} ]; do sleep 0.2; done; rm ${file}; exit 3`;
    const containers = [{ name: 'main', image: HOST_IMAGE, command: ['sh', '-c', script] }];
    const more = { terminationGracePeriodSeconds: 2, automountServiceAccountToken: false };
    const body = { metadata: { name }, spec: { nodeName: NODE, ...more, containers } };
    await plane.admin.request({ method: 'POST', path: PODS, body });
  };
  const endContainerOf = async (name: string): Promise<void> => writeFile(fileOf(name), '');
  /** Status calls are never answered; of one pod, or of all. */
  const hang = (pods = ''): void => {
    const match = `{ methods: [ContainerStatus, PodSandboxStatus]${pods} }`;
    runtime.replaceRules(`rules: [{ name: hung, match: ${match}, fault: { type: hang } }]`);
  };
  const stuckPods = async (): Promise<number | undefined> => {
    const { text } = await new LocalApiClient(join(agent.rootDir, 'podloop.sock')).ask('/metrics');
    return readMetricsPage(text).get('podloop_pleg_stuck_pods')?.samples[0]?.value;
  };

  it('is told the range of addresses that the cluster gives to its pods', async () => {
    const range = await untilAsync('a range', async () => (await getNode()).spec?.podCIDR);
    expect(range).toMatch(/^10\.201\.\d+\.0\/24$/);
    const line = new RegExp(`"Updating Pod CIDR".* newPodCIDR="${range}"`);
    await untilAsync('word of it', () => Promise.resolve(line.test(agent.log)));
  });

  it('is Ready for as long as it is one pod about which nothing is said, and goes on with the others', async () => {
    for (const name of ['stuck', 'well']) await make(name);
    for (const name of ['stuck', 'well']) await untilReady(name);
    hang(', pods: [default/stuck]');
    await endContainerOf('stuck');
    await untilAsync('a pod that is stuck', async () => (await stuckPods()) === 1);
    const endsAtMs = performance.now() + THRESHOLD_MS + 4 * LOOK_MS;
    await endContainerOf('well');
    await untilRestarted('well', 1);
    await make('later');
    await untilReady('later');
    while (performance.now() < endsAtMs) {
      expect(isReady(await getNode())).toBe(true);
      expect(await stuckPods()).toBeGreaterThanOrEqual(1);
      await sleep(LOOK_MS);
    }
    expect((await getPod('stuck')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
    runtime.replaceRules('rules: []');
    await untilRestarted('stuck', 1);
    expect(isReady(await getNode())).toBe(true);
  });

  it('is not Ready once nothing is said about any pod, and says which has hung', async () => {
    hang();
    await endContainerOf('well');
    const ready = await untilAsync(
      'the Node to be NotReady',
      async () => {
        const conditions = (await getNode()).status?.conditions ?? [];
        return conditions.find(({ type, status }) => type === 'Ready' && status === 'False');
      },
      2 * THRESHOLD_MS,
    );
    expect(ready.reason).toBe('KubeletNotReady');
    // Whichever was looked at first.
    const culprit = String.raw`\w+Status of default/(stuck|well|later) has hung for \dm\d+s`;
    const words = String.raw`PLEG is not healthy: pleg was last seen active 3m[\d.]+s ago; threshold is 3m0s`;
    expect(ready.message).toMatch(new RegExp(`^${words}; ${culprit}`));
    runtime.replaceRules('rules: []');
    await untilAsync('the Node to be Ready', async () => isReady(await getNode()), LIMIT_MS);
    for (const reason of ['NodeNotReady', 'NodeReady']) {
      expect(await untilEvent(plane, NODE, reason)).toBe(`Node ${NODE} status is now: ${reason}`);
    }
    await untilRestarted('well', 2);
    for (const name of ['stuck', 'well', 'later']) await untilReady(name);
  });
});
