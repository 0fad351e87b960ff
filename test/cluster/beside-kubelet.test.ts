import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeList, type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { type Containerd, startContainerd } from '../containerd/harness/containerd.js';
import { BUSYBOX_IMAGE } from '../containerd/harness/image.js';
import { findInstaller } from '../containerd/harness/installed.js';
import { unmountBelow } from '../containerd/harness/leftovers.js';
import { ClusterAgent } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { type StartedKubelet, startKubelet } from './harness/kubelet.js';
import { findOwnIp } from './harness/own-ip.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const isInstalled = existsSync(join(findInstaller().folder, 'installed.json'));
const kubelet = 'missing' in found ? undefined : found.binaries.kubelet;
const [THEIRS, OURS] = ['lab-kubelet', 'lab-podloop'];
const NODES = [THEIRS, OURS];
const PODS = '/api/v1/namespaces/default/pods';
const REPLICAS = 6;
const LIMIT_MS = 180_000;
const SCRIPT = 'echo up; trap "exit 0" TERM; touch /tmp/ready; while :; do sleep 0.2; done';

describe.skipIf(kubelet === undefined || !isInstalled)('a node beside that of a kubelet', () => {
  let plane: ControlPlane;
  let runtimes: readonly Containerd[] = [];
  /** Where the kubelet works; no agent is ever started there. */
  let place: ClusterAgent;
  let other: StartedKubelet;
  let agent: ClusterAgent;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    const [one, two] = [await startContainerd({ version: '1.7' }), await startContainerd({ version: '1.7' })];
    runtimes = [one, two];
    const [nodeIp, clientCAFile] = [findOwnIp(), plane.keys.file('ca.crt')];
    place = await ClusterAgent.prepare(plane, THEIRS);
    const { endpoint } = one;
    other = await startKubelet({ kubelet: kubelet!, agent: place, endpoint, nodeIp, clientCAFile });
    agent = await ClusterAgent.start(
      plane,
      OURS,
      ...['--runtime-endpoint', two.endpoint, '--node-ip', nodeIp, '--client-ca-file', clientCAFile],
      ...['--port', String(await findFreePort()), '--address', '0.0.0.0'],
    );
    for (const name of NODES) {
      await untilAsync(`${name} to be Ready`, async () => isReady(await getNode(name)), LIMIT_MS);
    }
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await other.component.stop();
    for (const runtime of runtimes) await runtime[Symbol.asyncDispose]();
    await unmountBelow(place.folder);
    await rm(place.folder, { recursive: true, force: true });
    await plane[Symbol.asyncDispose]();
  });

  const getNode = async (name: string): Promise<Node> =>
    plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${name}` });
  const list = async (): Promise<readonly Pod[]> =>
    (await plane.admin.request<KubeList<Pod>>({ method: 'GET', path: PODS })).items ?? [];
  /** Waits until all pods are there and Ready, on these nodes and on no other. */
  const untilOn = async (...nodes: readonly string[]): Promise<readonly Pod[]> =>
    untilAsync(
      `pods on ${nodes.join(' and ')}`,
      async () => {
        const pods = await list();
        const used = new Set(pods.map(({ spec }) => spec?.nodeName));
        const areThere = nodes.every((name) => used.has(name)) && used.size === nodes.length;
        return areThere && pods.length === REPLICAS && pods.every(isReady) && pods;
      },
      LIMIT_MS,
    ).catch((error: unknown) => {
      const logs = `the agent said:\n${agent.log.slice(-4_000)}\nthe kubelet:\n${other.component.logTail()}`;
      throw new Error(`${String(error)}; ${logs}`);
    });
  const podOn = (pods: readonly Pod[], name: string): Pod =>
    pods.find(({ spec }) => spec?.nodeName === name)!;

  it('says which of the two it is, and has the same features of its runtime', async () => {
    const [theirs, ours] = [await getNode(THEIRS), await getNode(OURS)];
    expect(ours.status?.nodeInfo?.kubeletVersion).toContain('+podloop.');
    expect(theirs.status?.nodeInfo?.kubeletVersion).not.toContain('podloop');
    const { containerRuntimeVersion, machineID, osImage } = theirs.status!.nodeInfo!;
    expect(ours.status?.nodeInfo).toMatchObject({ containerRuntimeVersion, machineID, osImage });
    const typesOf = ({ status }: Node): unknown => status?.conditions?.map(({ type }) => type).sort();
    expect(typesOf(ours)).toEqual(typesOf(theirs));
  });

  it('runs pods of one Deployment with it, tells of them with the same fields, and is reached as it is', async () => {
    const container = {
      ...{ name: 'main', image: BUSYBOX_IMAGE, imagePullPolicy: 'Never', command: ['sh', '-c', SCRIPT] },
      readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 },
    };
    const metadata = { labels: { app: 'web' } };
    const topologySpreadConstraints = [
      {
        ...{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
        labelSelector: { matchLabels: metadata.labels },
      },
    ];
    const more = { terminationGracePeriodSeconds: 2, topologySpreadConstraints, containers: [container] };
    await plane.admin.request({
      ...{ method: 'POST', path: '/apis/apps/v1/namespaces/default/deployments' },
      body: {
        metadata: { name: 'web' },
        spec: {
          ...{ replicas: REPLICAS, selector: { matchLabels: metadata.labels } },
          template: { metadata, spec: more },
        },
      },
    });
    const pods = await untilOn(...NODES);
    const [theirs, ours] = [podOn(pods, THEIRS).status!, podOn(pods, OURS).status!];
    // A kubelet tells of the resources of a pod that has none by an empty object, too.
    const { resources, ...told } = theirs as typeof theirs & { readonly resources?: object };
    expect(resources).toEqual({});
    expect(Object.keys(ours).sort()).toEqual(Object.keys(told).sort());
    const fieldsOf = ({ containerStatuses: [first] = [] }: typeof ours): string[] =>
      Object.keys(first ?? {}).sort();
    expect(fieldsOf(ours)).toEqual(fieldsOf(theirs));
    const conditionsOf = ({ conditions = [] }: typeof ours): unknown =>
      conditions.map(({ type, status }) => `${type} ${status}`).sort();
    expect(conditionsOf(ours)).toEqual(conditionsOf(theirs));
    for (const name of NODES) {
      const { metadata: { name: pod = '' } = {} } = podOn(pods, name);
      expect(await plane.kubectl('logs', pod)).toBe('up\n');
      expect(await plane.kubectl('exec', pod, '--', 'hostname')).toBe(`${pod}\n`);
    }
  });

  it('takes the pods of the other when that is drained, and gives its own away when it is', async () => {
    await plane.kubectl('drain', THEIRS, '--ignore-daemonsets', '--timeout=2m');
    await untilOn(OURS);
    await plane.kubectl('uncordon', THEIRS);
    await plane.kubectl('drain', OURS, '--ignore-daemonsets', '--timeout=2m');
    await untilOn(THEIRS);
    await plane.kubectl('uncordon', OURS);
    await plane.kubectl('delete', 'deployment', 'web', '--cascade=foreground', '--timeout=2m');
    expect(await list()).toEqual([]);
  });
});
