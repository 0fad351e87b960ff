import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeClients, openKubeClients } from '../../src/cluster/client/open-kube-clients.js';
import { ClusterObjects } from '../../src/cluster/objects/cluster-objects.js';
import { ServiceAccountTokens } from '../../src/cluster/objects/service-account-tokens.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { readClusterPod } from '#kube/pod/read-cluster-pod.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { contentVolumeKinds } from '../../src/node/volumes/content/content-volume.js';
import { sourceOf } from '../../src/node/volumes/volume-kind.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NODE = 'lab-a';
const PODS = '/api/v1/namespaces/default/pods';
const SECRETS = '/api/v1/namespaces/default/secrets';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

describe.skipIf('missing' in found)('what pods find on a real API server', () => {
  const stop = new AbortController();
  const clock = new SystemClock();
  const forbidden: string[] = [];
  const changed: string[][] = [];
  let plane: ControlPlane;
  let clients: KubeClients;
  let objects: ClusterObjects;
  let folder: string;
  let running: Promise<void>;

  beforeAll(async () => {
    if ('missing' in found) return;
    folder = await mkdtemp(join(tmpdir(), 'podloop-objects-'));
    plane = await ControlPlane.start(found);
    clients = await openKubeClients({
      ...{ file: await plane.nodeKubeconfig(NODE), version: 'test', environment: {}, clock },
      ...{ rateLimit: { perSecond: 50, burst: 100 }, heartbeatTimeoutMs: 10_000, logger: SILENT_LOGGER },
    });
    await admin('POST', '/api/v1/nodes', { metadata: { name: NODE } });
    const logger = {
      ...SILENT_LOGGER,
      warn: (message: string, facts: object = {}) => {
        if (/forbidden/i.test(JSON.stringify(facts))) forbidden.push(`${message} ${JSON.stringify(facts)}`);
      },
    };
    objects = new ClusterObjects({
      ...{ client: clients.api, clock, logger, onSecret: () => undefined, onSecretEnded: () => undefined },
      node: () => ({ metadata: { name: NODE } }),
      onChanged: (uids) => changed.push([...uids]),
    });
    running = objects.run(stop.signal);
    // Controllers make it: without it no pod is admitted.
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    await untilAsync('a service account', async () => admin('GET', account));
    await untilAsync('its authority', async () => admin('GET', `${CONFIG_MAPS}/kube-root-ca.crt`));
  });

  afterAll(async () => {
    stop.abort();
    await running;
    clients.close();
    await plane[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function admin<T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<T> {
    const contentType = method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {};
    return plane.admin.request<T>({ method, path, ...contentType, ...(body !== undefined && { body }) });
  }

  /** A pod that is bound to the node, as the node gets to see it. */
  async function makePod(name: string, spec: object = {}): Promise<NodePod> {
    const container = { name: 'main', image: 'registry.example/app:1' };
    const value = await admin('POST', PODS, {
      ...{ metadata: { name }, spec: { nodeName: NODE, containers: [container], ...spec } },
    });
    const { pod, problems } = readClusterPod(value);
    expect(problems).toEqual([]);
    return pod!;
  }

  /** Sets up the volumes of a pod as the agent does, and reads a file of one. */
  async function mount(pod: NodePod, volumeName: string): Promise<(path: string) => Promise<string>> {
    await objects.fetchForVolumes(pod, stop.signal);
    const kinds = contentVolumeKinds({
      ...{ objects, clock, tokens: objects },
      mounter: { mountTmpfs: () => Promise.reject(new Error('permission denied')) },
      downwardFacts: () => ({
        ...{ podIps: [], hostIps: [], nodeName: NODE, serviceAccountName: 'default' },
        allocatable: { cpuMilli: 1_000n, memoryBytes: 1n << 30n },
      }),
    });
    const volume = pod.spec.volumes!.find(({ name }) => name === volumeName)!;
    const place = join(folder, pod.metadata.uid, volume.name);
    await mkdir(join(folder, pod.metadata.uid), { recursive: true });
    await kinds[sourceOf(volume)]!.setUp({ pod, volume, folder: place }, stop.signal);
    return async (path) => readFile(join(place, path), 'utf8');
  }

  const untilChanged = async (pod: NodePod): Promise<boolean> =>
    untilAsync('word of a change', () => Promise.resolve(changed.flat().includes(pod.metadata.uid)));

  it('are the files of a Secret, which change with it', async () => {
    await admin('POST', SECRETS, { metadata: { name: 'login' }, stringData: { password: 'first one' } });
    const pod = await makePod('with-secret', {
      volumes: [{ name: 'login', secret: { secretName: 'login' } }],
    });
    expect(await (await mount(pod, 'login'))('password')).toBe('first one');
    changed.length = 0;
    await admin('PATCH', `${SECRETS}/login`, { stringData: { password: 'second one' } });
    await untilChanged(pod);
    expect(await (await mount(pod, 'login'))('password')).toBe('second one');
  });

  it('may come after the pod', async () => {
    const pod = await makePod('early', { volumes: [{ name: 'late', configMap: { name: 'late' } }] });
    await expect(mount(pod, 'late')).rejects.toThrow('configmap "late" not found');
    changed.length = 0;
    await admin('POST', CONFIG_MAPS, { metadata: { name: 'late' }, data: { key: 'here' } });
    await untilChanged(pod);
    expect(await (await mount(pod, 'late'))('key')).toBe('here');
  });

  it('are the token of the pod’s account, the authority of the API server and the namespace', async () => {
    const pod = await makePod('with-account');
    const { name } = pod.spec.volumes!.find((volume) => volume.name.startsWith('kube-api-access-'))!;
    const read = await mount(pod, name);
    expect(await read('namespace')).toBe('default');
    expect(await read('ca.crt')).toContain('BEGIN CERTIFICATE');
    const token = await read('token');
    const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as object;
    expect(claims).toMatchObject({
      sub: 'system:serviceaccount:default:default',
      'kubernetes.io': { pod: { name: 'with-account', uid: pod.metadata.uid } },
    });
    const review = await admin<{ status: object }>('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      spec: { token },
    });
    expect(review.status).toMatchObject({
      ...{ authenticated: true, user: { username: 'system:serviceaccount:default:default' } },
    });
    expect(
      await objects.getToken(pod, pod.spec.volumes![0]!.projected!.sources![0]!.serviceAccountToken!),
    ).toBe(token);
  });

  it('are other tokens when the time of the first has come', async () => {
    const spec = { audience: 'vault', expirationSeconds: 600 };
    const sources = [{ serviceAccountToken: { ...spec, path: 'token' } }];
    const pod = await makePod('with-rotation', { volumes: [{ name: 'vault', projected: { sources } }] });
    let passedMs = 0;
    const later: Clock = {
      now: () => clock.now() + passedMs,
      monotonicMs: () => clock.monotonicMs() + passedMs,
      stamp: () => clock.stamp(),
      setTimer: (...given) => clock.setTimer(...given),
      sleep: async (...given) => clock.sleep(...given),
    };
    const tokens = new ServiceAccountTokens({
      ...{ client: clients.api, clock: later, logger: SILENT_LOGGER },
      ...{ onToken: () => undefined, onTokenEnded: () => undefined },
    });
    const first = await tokens.get(pod, spec);
    passedMs = 460_000;
    expect(await tokens.get(pod, spec)).toBe(first);
    // Tokens of the same second are the same.
    await clock.sleep(1_100);
    passedMs = 480_000;
    expect(await tokens.get(pod, spec)).not.toBe(first);
  });

  it('are the services of the cluster', async () => {
    const pod = await makePod('with-services');
    await objects.fetchForContainer(pod, pod.spec.containers[0]!, stop.signal);
    const variables = objects.serviceVariables(pod);
    expect(variables.get('KUBERNETES_SERVICE_HOST')).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(variables.get('KUBERNETES_SERVICE_PORT_HTTPS')).toBe('443');
  });

  it('are the handler and the overhead of a runtime class', async () => {
    await admin('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
      ...{ metadata: { name: 'sandboxed' }, handler: 'runsc', overhead: { podFixed: { cpu: '250m' } } },
    });
    const pod = await untilAsync('the class to be known', async () =>
      makePod('in-class', { runtimeClassName: 'sandboxed' }),
    );
    expect(pod.spec.overhead).toEqual({ cpu: '250m' });
    await untilAsync(
      'the handler',
      async () => (await objects.getRuntimeHandler(pod, stop.signal)) === 'runsc',
    );
  });

  it('are persistent volumes that lie on the node', async () => {
    const path = '/api/v1/namespaces/default/persistentvolumeclaims';
    const capacity = { storage: '1Mi' };
    const common = { accessModes: ['ReadWriteOnce'], storageClassName: 'by-hand' };
    await admin('POST', '/api/v1/persistentvolumes', {
      metadata: { name: 'disk' },
      spec: {
        ...{ ...common, capacity, local: { path: '/mnt/disk' } },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [NODE] }] }],
          },
        },
      },
    });
    await admin('POST', path, {
      metadata: { name: 'data' },
      spec: { ...common, volumeName: 'disk', resources: { requests: capacity } },
    });
    const volume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
    const pod = await makePod('with-claim', { volumes: [volume] });
    const claimed = await untilAsync('the claim to be bound', async () =>
      objects.getClaimed(pod, volume, stop.signal),
    );
    expect(claimed).toMatchObject({ name: 'disk', kind: 'local', path: '/mnt/disk' });
  });

  it('are nothing that no pod of the node names', async () => {
    await admin('POST', SECRETS, { metadata: { name: 'of-others' }, stringData: { key: 'x' } });
    await expect(clients.api.request({ method: 'GET', path: `${SECRETS}/of-others` })).rejects.toMatchObject({
      code: 403,
    });
    expect(forbidden).toEqual([]);
  });

  it('stay while the API server is away, and are in step when it is back', async () => {
    await admin('POST', CONFIG_MAPS, { metadata: { name: 'steady' }, data: { key: 'one' } });
    const pod = await makePod('steady', { volumes: [{ name: 'v', configMap: { name: 'steady' } }] });
    expect(await (await mount(pod, 'v'))('key')).toBe('one');
    await plane.components.apiServer.kill();
    expect(await (await mount(pod, 'v'))('key')).toBe('one');
    await plane.components.apiServer.start();
    await untilAsync('a change', async () =>
      admin('PATCH', `${CONFIG_MAPS}/steady`, { data: { key: 'two' } }),
    );
    await untilAsync('the change', async () => (await (await mount(pod, 'v'))('key')) === 'two');
  });
});
