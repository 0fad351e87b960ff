import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeList, type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { type Containerd, startContainerd } from '../containerd/harness/containerd.js';
import { runtimeService } from '../containerd/harness/cri-driver.js';
import { BUSYBOX_IMAGE } from '../containerd/harness/image.js';
import { findInstaller } from '../containerd/harness/installed.js';
import { ClusterAgent } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { readGuideCommand } from './harness/guide-command.js';
import { type StartedKubelet, startKubelet } from './harness/kubelet.js';
import { findOwnIp } from './harness/own-ip.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const isInstalled = existsSync(join(findInstaller().folder, 'installed.json'));
const kubelet = 'missing' in found ? undefined : found.binaries.kubelet;
const NODE = 'lab-k';
const PODS = '/api/v1/namespaces/default/pods';
const UNTIL_TOLD = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
/** Of the pods that are made here, each with what a kubelet has to know of it. */
const REPLICAS = 3;
/** Static pods, as they are called here and in the cluster. */
const STATIC = ['critical', 'static'];
const MIRRORS = STATIC.map((name) => `${name}-${NODE}`);

describe.skipIf(kubelet === undefined || !isInstalled)("a kubelet's node, taken over in place", () => {
  let plane: ControlPlane;
  let containerd: Containerd;
  let agent: ClusterAgent;
  let node: StartedKubelet;
  /** What the guide says, at the places of this test. */
  let takeOver: readonly string[];
  let before: readonly Pod[];
  let madeBefore: ReadonlyMap<string, string>;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    containerd = await startContainerd({ version: '1.7' });
    const nodeIp = findOwnIp();
    agent = await ClusterAgent.prepare(
      plane,
      NODE,
      ...['--runtime-endpoint', containerd.endpoint, '--node-ip', nodeIp],
    );
    await writeManifest(podOf('static', {}));
    await writeManifest(criticalPod());
    const clientCAFile = plane.keys.file('ca.crt');
    const { endpoint } = containerd;
    node = await startKubelet({ kubelet: kubelet!, agent, endpoint, nodeIp, clientCAFile });
    const places = {
      ...{ '/etc/kubernetes/manifests': agent.manifests, '/etc/kubernetes/kubelet.conf': agent.kubeconfig },
      ...{ '/var/lib/kubelet/config.yaml': node.configFile, '/var/lib/kubelet': agent.rootDir },
      ...{ '/var/lib/kubelet/pki': node.certDir, NAME: NODE },
    };
    const command = await readGuideCommand('In place of a kubelet', new Map(Object.entries(places)));
    // The first as the guide carries it over, the second for what is looked for in the log.
    takeOver = [...command, '--node-ip', nodeIp, '-v', '3'];
    await make('configmaps', { metadata: { name: 'words' }, data: { greeting: 'hello' } });
    await make('secrets', { metadata: { name: 'keys' }, stringData: { key: 'opens' } });
    const { metadata, spec } = podOf('web', { labels: { app: 'web' }, withVolumes: true });
    await plane.admin.request({
      ...{ method: 'POST', path: '/apis/apps/v1/namespaces/default/deployments' },
      body: {
        metadata: { name: 'web' },
        spec: {
          replicas: REPLICAS,
          selector: { matchLabels: metadata.labels },
          template: { metadata, spec },
        },
      },
    });
    // It has been restarted before, and that is not forgotten.
    await make(
      'pods',
      podOf('restarted', { script: 'test -e /data/been || { touch /data/been; exit 3; };' }),
    );
    await make('pods', podOf('deleted', {}));
    await make('pods', podOf('forced', {}));
    before = await untilAsync(
      'pods that are Ready',
      async () => {
        const pods = await list();
        return pods.length === REPLICAS + 3 + STATIC.length && pods.every(isReady) && pods;
      },
      180_000,
    ).catch(async (error: unknown) => {
      const log = await readFile(join(agent.folder, 'kubelet.log'), 'utf8');
      throw new Error(`${String(error)}; the kubelet said:\n${log.slice(-4_000)}`);
    });
    await node.component.stop();
    madeBefore = await listContainers();
    await plane.kubectl('delete', 'pod', 'deleted', '--wait=false');
    await plane.kubectl('delete', 'pod', 'forced', '--force', '--grace-period=0');
    agent.startAs(...takeOver);
  });

  afterAll(async () => {
    await node.component.stop();
    await agent[Symbol.asyncDispose]();
    await containerd[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const writeManifest = async (pod: { readonly metadata: { readonly name: string } }): Promise<void> =>
    writeFile(join(agent.manifests, `${pod.metadata.name}.yaml`), JSON.stringify(pod));
  const make = async (plural: string, body: object): Promise<void> => {
    await plane.admin.request({ method: 'POST', path: `/api/v1/namespaces/default/${plural}`, body });
  };
  const list = async (): Promise<readonly Pod[]> =>
    (await plane.admin.request<KubeList<Pod>>({ method: 'GET', path: PODS })).items ?? [];
  const named = (pods: readonly Pod[], name: string): Pod | undefined =>
    pods.find(({ metadata }) => metadata?.name === name);
  /** Names of those that run, by id. */
  const listContainers = async (): Promise<ReadonlyMap<string, string>> => {
    const { containers } = await containerd.driver.call(runtimeService.listContainers, { filter: undefined });
    const running = containers.filter(({ state }) => state === 1);
    return new Map(running.map(({ id, labels }) => [id, labels['io.kubernetes.pod.name'] ?? '']));
  };

  it('goes on under its name, with podloop', async () => {
    const path = `/api/v1/nodes/${NODE}`;
    await untilAsync('podloop, that is Ready', async () => {
      const node = await plane.admin.request<Node>({ method: 'GET', path });
      return isReady(node) && node.status?.nodeInfo?.kubeletVersion.includes('podloop');
    });
  });

  it('is found where the kubelet was', async () => {
    const path = `/api/v1/nodes/${NODE}`;
    const { status } = await plane.admin.request<Node>({ method: 'GET', path });
    expect(status).toMatchObject({ daemonEndpoints: { kubeletEndpoint: { Port: node.port } } });
  });

  it('keeps its pods: none is restarted, none changes its status, and what was deleted meanwhile ends', async () => {
    const gone = ['deleted', 'forced'];
    await untilAsync(
      'the end of those that were deleted',
      async () => {
        const names = [...(await listContainers()).values()];
        const pods = await list();
        return !gone.some((name) => names.includes(name) || named(pods, name) !== undefined);
      },
      90_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}; the agent said:\n${agent.log.slice(-9_000)}`);
    });
    const left = [...madeBefore].filter(([, name]) => !gone.includes(name));
    expect(new Map(await listContainers())).toEqual(new Map(left));
    const after = await list();
    const kept = before.filter(({ metadata }) => !gone.includes(metadata?.name ?? ''));
    expect(after.map(({ metadata }) => metadata?.name).sort()).toEqual(
      kept.map(({ metadata }) => metadata?.name).sort(),
    );
    for (const { metadata, status } of kept) {
      const now = named(after, metadata?.name ?? '');
      expect(containersOf(now)).toEqual(containersOf({ status: status! }));
      const { podIP, qosClass, startTime, conditions } = status ?? {};
      expect(now?.status).toMatchObject({ phase: 'Running', podIP, qosClass, startTime });
      // Static pods do not wait for the API server, which alone knows that they are ready: they are probed anew.
      if (MIRRORS.includes(metadata?.name ?? '')) continue;
      expect(now?.status).toMatchObject({ conditions });
    }
    expect(named(after, 'restarted')?.status?.containerStatuses?.[0]).toMatchObject({
      ...{ restartCount: 1, lastState: { terminated: { exitCode: 3 } } },
    });
  });

  it('keeps the mirror pods of its static pods, and has none made anew', async () => {
    for (const name of MIRRORS) {
      expect(named(before, name)?.metadata?.annotations).toHaveProperty(['kubernetes.io/config.mirror']);
    }
    expect(mirrorsOf(await list())).toEqual(mirrorsOf(before));
    expect(agent.log).not.toContain('Creating a mirror pod for static pod');
  });

  it('serves logs and commands of what a kubelet has started', async () => {
    const name = webOf(await list());
    expect(await plane.kubectl('logs', name)).toBe('up\n');
    expect(await plane.kubectl('exec', name, '--', 'cat', '/keys/key')).toBe('opens');
  });

  it('brings changes to volumes that a kubelet has mounted', async () => {
    const path = '/api/v1/namespaces/default/configmaps/words';
    const body = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'words' },
      data: { greeting: 'again' },
    };
    await plane.admin.request({ method: 'PUT', path, body });
    const name = webOf(await list());
    await untilAsync(
      'the new words',
      async () => (await plane.kubectl('exec', name, '--', 'cat', '/words/greeting')) === 'again',
      150_000,
    );
  });

  it('restarts a container that ends, in its pod and with its files', async () => {
    const pod = named(await list(), 'restarted');
    const before = pod?.status?.containerStatuses?.[0];
    await plane.kubectl('exec', 'restarted', '--', 'kill', '1');
    const after = await untilAsync('its restart', async () => {
      const [status] = named(await list(), 'restarted')?.status?.containerStatuses ?? [];
      return status?.restartCount === 2 && status.ready && status;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; the agent said:\n${agent.log.slice(-9_000)}`);
    });
    expect(after.containerID).not.toBe(before?.containerID);
    // What is in an emptyDir stays.
    expect(await plane.kubectl('exec', 'restarted', '--', 'ls', '/data')).toBe('been\n');
    expect(named(await list(), 'restarted')?.metadata?.uid).toBe(pod?.metadata?.uid);
  });

  it('keeps all of it over a restart without --adopt', async () => {
    const was = await listContainers();
    await agent.kill();
    agent.startAs(...takeOver.filter((word) => word !== '--adopt'));
    await untilAsync('an agent that has begun', async () => {
      return Promise.resolve(agent.log.includes('Started node agent'));
    });
    await plane.kubectl('rollout', 'restart', 'deployment/web');
    await plane.kubectl('rollout', 'status', 'deployment/web', '--timeout=120s');
    const now = await listContainers();
    const others = (all: ReadonlyMap<string, string>): string[] =>
      [...all].filter(([, name]) => !name.startsWith('web-')).map(([id]) => id);
    expect(others(now).sort()).toEqual(others(was).sort());
    expect(mirrorsOf(await list())).toEqual(mirrorsOf(before));
    expect(agent.log).not.toContain('Creating a mirror pod for static pod');
  });

  it('tells of a static pod by the mirror pod that was kept', async () => {
    const [name = ''] = MIRRORS;
    await plane.kubectl('exec', name, '--', 'kill', '1');
    await untilAsync('its restart', async () => {
      const pods = await list();
      const [status] = named(pods, name)?.status?.containerStatuses ?? [];
      expect(mirrorsOf(pods)).toEqual(mirrorsOf(before));
      return status?.restartCount === 1 && status.ready;
    });
  });

  it('makes the mirror pod of a manifest anew that is edited, and of no other', async () => {
    const [edited = '', other = ''] = MIRRORS;
    const metadata = { name: 'critical', labels: { edited: 'yes' } };
    await writeManifest({ ...criticalPod(), metadata });
    await untilAsync('another mirror pod', async () => {
      const now = named(await list(), edited);
      return now?.metadata?.labels?.['edited'] === 'yes' && isReady(now);
    });
    const [now, was] = [mirrorsOf(await list()), mirrorsOf(before)];
    expect(now[edited]).not.toBe(was[edited]);
    expect(now[other]).toBe(was[other]);
  });

  it('takes everything of a pod away with it', async () => {
    await plane.kubectl('delete', 'deployment/web', 'pod/restarted', '--cascade=foreground');
    await untilAsync('no pod but the static ones', async () => {
      return (await list()).every(({ metadata }) => MIRRORS.includes(metadata?.name ?? ''));
    });
    await untilAsync('their folders, that they are gone', async () => {
      return (await readdir(join(agent.rootDir, 'pods'))).length === MIRRORS.length;
    });
    expect([...(await listContainers()).values()].sort()).toEqual(MIRRORS);
  });
});

interface PodWish {
  readonly labels?: Readonly<Record<string, string>>;
  readonly script?: string;
  readonly withVolumes?: boolean;
}

/** A pod that has a bit of everything that lives on the node. */
function podOf(name: string, { labels = {}, script = '', withVolumes = false }: PodWish) {
  const main = {
    ...{ name: 'main', image: BUSYBOX_IMAGE, imagePullPolicy: 'Never' },
    command: ['sh', '-c', `${script} echo up; touch /tmp/ready; ${UNTIL_TOLD}`],
    resources: { requests: { memory: '8Mi' }, limits: { memory: '64Mi' } },
    readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 },
    livenessProbe: { exec: { command: ['true'] }, periodSeconds: 2 },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      ...(withVolumes
        ? [
            { name: 'words', mountPath: '/words' },
            { name: 'keys', mountPath: '/keys' },
          ]
        : []),
    ],
  };
  const init = { name: 'first', image: BUSYBOX_IMAGE, imagePullPolicy: 'Never', command: ['true'] };
  const volumes = [
    { name: 'data', emptyDir: {} },
    ...(withVolumes
      ? [
          { name: 'words', configMap: { name: 'words' } },
          { name: 'keys', secret: { secretName: 'keys' } },
        ]
      : []),
  ];
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels } },
    spec: { terminationGracePeriodSeconds: 2, initContainers: [init], containers: [main], volumes },
  };
}

/** What kubeadm writes for the parts of a control plane, as far as an API server writes it in another way. */
function criticalPod() {
  const { spec, ...pod } = podOf('critical', {});
  const containers = spec.containers.map((container) => ({
    ...container,
    ports: [{ name: 'probe-port', containerPort: 47_381 }],
    env: [
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
    ],
    resources: { requests: { cpu: '0.01' }, limits: { memory: '65536Ki' } },
    readinessProbe: { ...container.readinessProbe, initialDelaySeconds: 0 },
    volumeMounts: [...container.volumeMounts, { name: 'node', mountPath: '/node', readOnly: false }],
  }));
  const volumes = [...spec.volumes, { name: 'node', hostPath: { path: '/tmp', type: 'Directory' } }];
  return {
    ...pod,
    spec: {
      ...{ ...spec, containers, volumes },
      ...{ hostNetwork: true, priority: 2_000_001_000, priorityClassName: 'system-node-critical' },
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    },
  };
}

/** The uids of the mirror pods, by name. */
function mirrorsOf(pods: readonly Pod[]): Readonly<Record<string, string | undefined>> {
  const mirrors = pods.filter(({ metadata }) => MIRRORS.includes(metadata?.name ?? ''));
  return Object.fromEntries(mirrors.map(({ metadata }) => [metadata?.name ?? '', metadata?.uid]));
}

function containersOf(pod: Pick<Pod, 'status'> | undefined): readonly object[] {
  return [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])];
}

function webOf(pods: readonly Pod[]): string {
  return pods.map(({ metadata }) => metadata?.name ?? '').find((name) => name.startsWith('web-')) ?? '';
}
