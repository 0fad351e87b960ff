import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeList, type Pod } from '../../src/cluster/client/kube-objects.js';
import { readMetricsPage } from '#support/builders/metrics-page.js';
import { type Containerd, startContainerd } from '../containerd/harness/containerd.js';
import { BUSYBOX_IMAGE, packPrograms } from '../containerd/harness/image.js';
import { findInstaller, readInstalled } from '../containerd/harness/installed.js';
import { LoginRegistry, REGISTRY_PASSWORD } from '../containerd/harness/login-registry.js';
import { LocalApiClient } from '../integration/local-api-client.js';
import { ClusterAgent } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const isInstalled = existsSync(join(findInstaller().folder, 'installed.json'));
const missing =
  'missing' in found
    ? found.missing
    : isInstalled
      ? undefined
      : 'there is no containerd to test with: run `node scripts/containerd/install.mjs` as root';

describe.skipIf(missing !== undefined)('podloop on containerd as a node of a real control plane', () => {
  let plane: ControlPlane;
  let containerd: Containerd;
  let agent: ClusterAgent;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    containerd = await startContainerd({ version: '1.7' });
    agent = await ClusterAgent.start(plane, 'lab-c', '--runtime-endpoint', containerd.endpoint);
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await containerd[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  it('runs a Deployment with what pods find in a cluster, and takes it away', async () => {
    const list = '/api/v1/namespaces/default/pods';
    const pods = async (): Promise<readonly Pod[]> =>
      (await plane.admin.request<KubeList<Pod>>({ method: 'GET', path: list })).items ?? [];
    const script =
      'test -s /var/run/secrets/kubernetes.io/serviceaccount/token && test "$GREETING" = hello && trap "exit 0" TERM && touch /tmp/ready && while :; do sleep 0.2; done';
    const container = {
      ...{ name: 'main', image: BUSYBOX_IMAGE, imagePullPolicy: 'Never', command: ['sh', '-c', script] },
      env: [{ name: 'GREETING', valueFrom: { configMapKeyRef: { name: 'words', key: 'greeting' } } }],
      readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 },
    };
    const metadata = { labels: { app: 'web' } };
    const body = {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
      spec: {
        ...{ replicas: 5, selector: { matchLabels: metadata.labels } },
        template: { metadata, spec: { terminationGracePeriodSeconds: 2, containers: [container] } },
      },
    };
    const path = '/apis/apps/v1/namespaces/default/deployments';
    await plane.admin.request({ method: 'POST', path, body });
    // What appears later is found.
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'words' },
      data: { greeting: 'hello' },
    };
    await plane.admin.request({ method: 'POST', path: '/api/v1/namespaces/default/configmaps', body: map });
    const ready = await untilAsync('five pods that are Ready', async () => {
      const all = (await pods()).filter(isReady);
      return all.length === 5 && all;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; the agent said:\n${agent.log.slice(-6_000)}`);
    });
    expect(new Set(ready.map(({ status }) => status?.podIP)).size).toBe(5);
    await plane.admin.request({
      ...{ method: 'DELETE', path: `${path}/web` },
      body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' },
    });
    await untilAsync('no pod', async () => (await pods()).length === 0);
  });

  it('runs a pod under the handler that its runtime class names', async () => {
    const body = { metadata: { name: 'usual' }, handler: 'runc' };
    await plane.admin.request({ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses', body });
    const path = '/api/v1/namespaces/default/pods';
    const script = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
    const container = { name: 'main', image: BUSYBOX_IMAGE, imagePullPolicy: 'Never' };
    const containers = [{ ...container, command: ['sh', '-c', script] }];
    const spec = { runtimeClassName: 'usual', terminationGracePeriodSeconds: 1, containers };
    await untilAsync('a pod that is admitted', async () =>
      plane.admin.request({ method: 'POST', path, body: { metadata: { name: 'classed' }, spec } }),
    );
    await untilAsync('a pod that is Ready', async () =>
      isReady(await plane.admin.request<Pod>({ method: 'GET', path: `${path}/classed` })),
    );
    const { text } = await new LocalApiClient(join(agent.rootDir, 'podloop.sock')).ask('/metrics');
    const samples = readMetricsPage(text).get('kubelet_run_podsandbox_duration_seconds')?.samples ?? [];
    const counts = samples.filter(
      ({ name, labels }) => name.endsWith('_count') && labels['runtime_handler'] === 'runc',
    );
    expect(counts.map(({ value }) => value)).toEqual([1]);
    await plane.admin.request({ method: 'DELETE', path: `${path}/classed` });
  });

  it('fetches an image with the login that a pod names, as soon as there is that Secret', async () => {
    const { busybox } = await readInstalled();
    await using registry = await LoginRegistry.start({ layers: [await packPrograms(busybox)] });
    const pods = '/api/v1/namespaces/default/pods';
    const container = {
      ...{ name: 'main', image: `${registry.place}/team/app:1`, imagePullPolicy: 'Always' },
      command: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.2; done'],
    };
    const body = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'private' } },
      spec: {
        imagePullSecrets: [{ name: 'login' }],
        terminationGracePeriodSeconds: 2,
        containers: [container],
      },
    };
    await plane.admin.request({ method: 'POST', path: pods, body });
    const firstStatus = async () =>
      (await plane.admin.request<Pod>({ method: 'GET', path: `${pods}/private` })).status
        ?.containerStatuses?.[0];
    const refused = await untilAsync('a pull that is refused', async () => {
      const waiting = (await firstStatus())?.state?.waiting;
      return waiting?.reason === 'ErrImagePull' && waiting;
    });
    expect(refused.message).toMatch(/401 Unauthorized|authorization failed/);
    await untilAsync('a pull that waits', async () => {
      return (await firstStatus())?.state?.waiting?.reason === 'ImagePullBackOff';
    });
    const auths = { [registry.place]: { username: 'me', password: REGISTRY_PASSWORD } };
    const secret = {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'login' } },
      ...{
        type: 'kubernetes.io/dockerconfigjson',
        stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
      },
    };
    await plane.admin.request({ method: 'POST', path: '/api/v1/namespaces/default/secrets', body: secret });
    await untilAsync('its container', async () => (await firstStatus())?.state?.running !== undefined);
    expect(agent.log).not.toContain(REGISTRY_PASSWORD);
    await plane.admin.request({ method: 'DELETE', path: `${pods}/private` });
    await untilAsync('no pod', async () =>
      plane.admin.request({ method: 'GET', path: `${pods}/private` }).then(
        () => false,
        () => true,
      ),
    );
  });
});

it.runIf(missing !== undefined)('has no containerd, or no control plane, to be a node with', () => {
  console.warn(`tests on a real control plane and containerd are skipped: ${missing}`);
});
