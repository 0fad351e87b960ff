import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentClient } from '../../src/cli/shared/api/agent-client.js';
import { askAgent } from '../../src/cli/shared/api/ask-agent.js';
import { type KubeList, type Lease, type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { SystemClock } from '#base/time/clock.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const PODS = '/api/v1/namespaces/default/pods';

describe.skipIf('missing' in found)('podloop as a node of a real control plane', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    agent = await ClusterAgent.start(plane, 'lab-a', '--node-labels', 'disk=ssd');
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const get = async <T>(path: string): Promise<T> => plane.admin.request<T>({ method: 'GET', path });
  const pods = async (): Promise<readonly Pod[]> => (await get<KubeList<Pod>>(PODS)).items ?? [];

  /** Waits; what never comes is told with the end of the agent's log. */
  async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    try {
      return await untilAsync(what, look, 90_000);
    } catch (error) {
      throw new Error(`${(error as Error).message}; the agent said:\n${agent.log.slice(-6_000)}`, {
        cause: error,
      });
    }
  }

  async function makePod(name: string, spec: object = {}): Promise<void> {
    const script = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
    const container = { name: 'main', image: HOST_IMAGE, command: ['sh', '-c', script] };
    const body = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
      spec: { terminationGracePeriodSeconds: 5, containers: [container], ...spec },
    };
    await plane.admin.request({ method: 'POST', path: PODS, body });
  }

  it('is registered, Ready, and gives signs of life', async () => {
    const node = await until('a Node that is Ready', async () => {
      const each = await get<Node>('/api/v1/nodes/lab-a');
      return isReady(each) && each;
    });
    expect(node.metadata?.labels).toMatchObject({
      ...{ disk: 'ssd', 'kubernetes.io/hostname': 'lab-a', 'kubernetes.io/os': 'linux' },
    });
    expect(node.status?.nodeInfo?.kubeletVersion).toMatch(/^v1\.\d+/);
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lab-a';
    const lease = await until('a lease', async () => get<Lease>(path));
    expect(lease.spec).toMatchObject({ holderIdentity: 'lab-a', leaseDurationSeconds: 40 });
  });

  it('runs the pods that the scheduler gives it, and tells how they are', async () => {
    await makePod('web');
    const pod = await until('a pod that is Ready', async () => (await pods()).find(isReady));
    expect(pod.spec?.nodeName).toBe('lab-a');
    expect(pod.status).toMatchObject({
      phase: 'Running',
      containerStatuses: [{ name: 'main', restartCount: 0 }],
    });
  });

  it('tells what happens to its pods and to itself, where kubectl shows it', async () => {
    await until('the events of a pod', async () => {
      const text = await plane.kubectl('describe', 'pod', 'web');
      return ['Pulled', 'Created', 'Started'].every((reason) =>
        new RegExp(`Normal +${reason} +.* kubelet +`).test(text),
      );
    });
    await until('the events of the node', async () => {
      const text = await plane.kubectl('describe', 'node', 'lab-a');
      return ['Starting', 'NodeHasNoDiskPressure', 'NodeHasSufficientMemory'].every((reason) =>
        new RegExp(`Normal +${reason} +.* kubelet +`).test(text),
      );
    });
  });

  it('tells how a pod has ended', async () => {
    const container = { name: 'main', image: HOST_IMAGE, command: ['sh', '-c', 'exit 3'] };
    await makePod('fails', { restartPolicy: 'Never', containers: [container] });
    const pod = await until('a pod that has failed', async () =>
      (await pods()).find(({ metadata, status }) => metadata?.name === 'fails' && status?.phase === 'Failed'),
    );
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 3,
      reason: 'Error',
    });
  });

  it('leaves what is well alone when it is killed and started again', async () => {
    const idOf = async (): Promise<string | undefined> =>
      (await get<Pod>(`${PODS}/web`)).status?.containerStatuses?.[0]?.containerID;
    const before = await idOf();
    await agent.kill();
    agent.start();
    await makePod('later');
    await until('another pod', async () =>
      (await pods()).find((pod) => pod.metadata?.name === 'later' && isReady(pod)),
    );
    expect(await idOf()).toBe(before);
    expect((await get<Pod>(`${PODS}/web`)).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  it('goes on without the API server, and is in step with it again', async () => {
    const lost = async (): Promise<readonly string[]> => {
      const clock = new SystemClock();
      const client = new AgentClient({
        ...{ socketPath: join(agent.rootDir, 'podloop.sock'), clock, signal: new AbortController().signal },
      });
      const { cluster } = (await askAgent(client, '/debug/pleg', { clock, limitMs: 5_000 })) as PlegReport;
      expect(cluster?.server).toBe(plane.server);
      return cluster!.problems.map(({ what }) => what);
    };
    expect(await lost()).toEqual([]);
    await plane.components.apiServer.kill();
    await until('what the agent does not get', async () => (await lost()).includes('pods'));
    await plane.components.apiServer.start();
    await until('all that the agent needs', async () => (await lost()).length === 0);
    await makePod('after');
    await until('a pod after a restart of the API server', async () =>
      (await pods()).find((pod) => pod.metadata?.name === 'after' && isReady(pod)),
    );
  });

  it('shows its static pods, and keeps them though somebody deletes what shows them', async () => {
    const manifest = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'static' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: HOST_IMAGE, command: ['sleep', '3600'] }],
      },
    };
    await writeFile(join(agent.manifests, 'static.json'), JSON.stringify(manifest));
    const find = async (): Promise<Pod | undefined | false> =>
      (await pods()).find((pod) => pod.metadata?.name === 'static-lab-a' && isReady(pod)) ?? false;
    const mirror = await until('a mirror pod', find);
    const { uid } = mirror.metadata ?? {};
    await plane.admin.request({
      ...{ method: 'DELETE', path: `${PODS}/static-lab-a` },
      query: { gracePeriodSeconds: '0' },
    });
    await until('another mirror pod', async () => {
      const next = await find();
      return next !== false && next !== undefined && next.metadata?.uid !== uid;
    });
    await rm(join(agent.manifests, 'static.json'));
    await until(
      'no mirror pod',
      async () => !(await pods()).some(({ metadata }) => metadata?.name === 'static-lab-a'),
    );
  });

  it('runs a Deployment, its rollout and its end', async () => {
    const path = '/apis/apps/v1/namespaces/default/deployments';
    const container = {
      name: 'main',
      image: HOST_IMAGE,
      command: ['sleep', '3600'],
      env: [{ name: 'V', value: '1' }],
    };
    const spec = (replicas: number, value: string): object => ({
      ...{ replicas, selector: { matchLabels: { app: 'many' } } },
      template: {
        metadata: { labels: { app: 'many' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ ...container, env: [{ name: 'V', value }] }],
        },
      },
    });
    const ours = async (): Promise<readonly Pod[]> =>
      (await pods()).filter(({ metadata }) => metadata?.labels?.['app'] === 'many');
    const areReady = async (count: number, value: string): Promise<boolean> => {
      const all = await ours();
      return (
        all.length === count &&
        all.every((pod) => isReady(pod) && pod.spec?.containers[0]?.env?.[0]?.value === value)
      );
    };
    const body = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'many' },
      spec: spec(10, '1'),
    };
    await plane.admin.request({ method: 'POST', path, body });
    await until('ten pods', async () => areReady(10, '1'));
    await plane.admin.request({ method: 'PATCH', path: `${path}/many`, body: { spec: spec(6, '2') } });
    await until('six others in their place', async () => areReady(6, '2'));
    await plane.admin.request({
      ...{ method: 'DELETE', path: `${path}/many` },
      body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' },
    });
    await until('none', async () => (await ours()).length === 0);
  });

  it('is not Ready from the moment that it ends with its pods, and takes no other', async () => {
    const leaving = await ClusterAgent.start(plane, 'lab-b');
    const ofNode = { nodeName: 'lab-b', terminationGracePeriodSeconds: 10 };
    const deaf = ['sh', '-c', 'trap "" TERM; while :; do sleep 0.2; done'];
    await makePod('deaf', { ...ofNode, containers: [{ name: 'main', image: HOST_IMAGE, command: deaf }] });
    const find = async (name: string): Promise<Pod | undefined> =>
      (await pods()).find((pod) => pod.metadata?.name === name);
    await until('a pod that hears no signal', async () => {
      const pod = await find('deaf');
      return pod !== undefined && isReady(pod);
    });
    const ending = leaving[Symbol.asyncDispose]();
    await until('a Node that says that it goes', async () => {
      const { status } = await get<Node>('/api/v1/nodes/lab-b');
      return status?.conditions?.some(
        ({ type, message }) => type === 'Ready' && message === 'node is shutting down',
      );
    });
    await makePod('late', ofNode);
    const refused = await until('a pod that is refused', async () => {
      const pod = await find('late');
      return pod?.status?.phase === 'Failed' && pod;
    });
    expect(refused.status?.reason).toBe('NodeShutdown');
    await ending;
    for (const name of ['deaf', 'late']) {
      await plane.kubectl('delete', 'pod', name, '--force', '--grace-period=0', '--ignore-not-found');
    }
    await plane.admin.request({ method: 'DELETE', path: '/api/v1/nodes/lab-b' });
  });

  it('takes pods out of the API once they have ended', async () => {
    for (const name of ['web', 'fails', 'later', 'after']) {
      await plane.admin.request({ method: 'DELETE', path: `${PODS}/${name}` });
    }
    await until('no pod', async () => (await pods()).length === 0);
  });
});

it.runIf('missing' in found)('has no control plane to be a node of', () => {
  console.warn(`tests on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
