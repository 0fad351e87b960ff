import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Secret } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { readClusterPod } from '#kube/pod/read-cluster-pod.js';
import { SecretHider } from '#kube/objects/secret-hider.js';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { messageOf } from '#base/errors/errors.js';
import { ClusterObjects } from './cluster-objects.js';

const NEVER = new AbortController().signal;
let clock: FakeClock;
let api: InMemoryApi;
let objects: ClusterObjects;
let labels: Record<string, string>;
let hidden: Secret[];
let hider: SecretHider;
let changed: (readonly string[])[];
let abort: AbortController;
let running: Promise<void>;
beforeEach(() => {
  clock = new FakeClock();
  api = new InMemoryApi({ clock });
  [hidden, changed, hider] = [[], [], new SecretHider()];
  labels = { 'kubernetes.io/hostname': 'here' };
  objects = new ClusterObjects({
    ...{
      client: api,
      node: () => ({ metadata: { name: 'here', labels } }),
      clock,
      onSecret: (secret) => {
        hidden.push(secret);
        hider.learn(secret);
      },
      onSecretEnded: (secret) => hider.forget(secret),
      onChanged: (uids) => changed.push(uids),
    },
  });
  abort = new AbortController();
});
afterEach(async () => {
  abort.abort();
  await running;
});

async function run(): Promise<void> {
  running = objects.run(abort.signal);
  await clock.settle();
}

function podOf(spec: object = {}, namespace = 'shop'): NodePod {
  const { pod } = readClusterPod({
    metadata: { name: 'web', namespace, uid: 'u1' },
    spec: { containers: [{ name: 'main', image: 'i' }], ...spec },
  });
  return pod!;
}
const staticPod = (spec: object = {}): NodePod => {
  const pod = podOf(spec);
  return { ...pod, metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'file' } } };
};
const putService = (namespace: string, name: string, clusterIP = '10.0.0.1'): void =>
  void api.put(`/api/v1/namespaces/${namespace}/services/${name}`, {
    ...{ metadata: {}, spec: { clusterIP, ports: [{ port: 80 }] } },
  });
const hostsFor = (pod: NodePod): Record<string, string> =>
  Object.fromEntries([...objects.serviceVariables(pod)].filter(([name]) => name.endsWith('_SERVICE_HOST')));

describe('variables of services', () => {
  it('tell of the API server and of the services of the pod’s namespace', async () => {
    putService('default', 'kubernetes', '10.96.0.1');
    putService('default', 'other');
    putService('shop', 'db', '10.0.0.2');
    putService('shop', 'headless', 'None');
    await run();
    expect(hostsFor(podOf())).toEqual({ KUBERNETES_SERVICE_HOST: '10.96.0.1', DB_SERVICE_HOST: '10.0.0.2' });
    expect(hostsFor(podOf({ enableServiceLinks: false }))).toEqual({ KUBERNETES_SERVICE_HOST: '10.96.0.1' });
    putService('shop', 'late', '10.0.0.3');
    api.drop('/api/v1/namespaces/shop/services/db');
    await clock.settle();
    expect(hostsFor(podOf())).toEqual({
      ...{ KUBERNETES_SERVICE_HOST: '10.96.0.1', LATE_SERVICE_HOST: '10.0.0.3' },
    });
  });

  it('are waited for by pods of the API server, and by no others', async () => {
    api.stop();
    await run();
    expect(objects.serviceVariables(staticPod())).toEqual(new Map());
    await objects.fetchForContainer(staticPod(), staticPod().spec.containers[0]!, NEVER);
    const pod = podOf();
    let isFetched = false;
    const fetched = objects
      .fetchForContainer(pod, pod.spec.containers[0]!, NEVER)
      .then(() => (isFetched = true));
    await clock.advance(1_000);
    expect(isFetched).toBe(false);
    expect(() => objects.serviceVariables(pod)).toThrow(
      'services have not yet been read at least once, cannot construct envvars',
    );
    putService('default', 'kubernetes');
    api.start();
    await clock.advance(5_000);
    await fetched;
    expect(hostsFor(pod)).toEqual({ KUBERNETES_SERVICE_HOST: '10.0.0.1' });
  });
});

describe('the handler of a runtime class', () => {
  it('is that of the class', async () => {
    api.put('/apis/node.k8s.io/v1/runtimeclasses/sandboxed', { metadata: {}, handler: 'runsc' });
    await run();
    const pod = podOf({ runtimeClassName: 'sandboxed' });
    expect(await objects.getRuntimeHandler(pod, NEVER)).toBe('runsc');
    expect(objects.findRuntimeHandler(pod)).toBe('runsc');
    expect(await objects.getRuntimeHandler(podOf(), NEVER)).toBe('');
    expect(await objects.getRuntimeHandler(staticPod({ runtimeClassName: 'kata' }), NEVER)).toBe('kata');
  });

  it('is an error where there is no such class', async () => {
    await run();
    await expect(objects.getRuntimeHandler(podOf({ runtimeClassName: 'none' }), NEVER)).rejects.toThrow(
      'runtimeclass.node.k8s.io "none" not found',
    );
  });
});

describe('claimed volumes', () => {
  const CLAIM = '/api/v1/namespaces/shop/persistentvolumeclaims/data';
  const VOLUME = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };
  const bound = { spec: { volumeName: 'pv1' }, status: { phase: 'Bound' } };
  const putVolume = (spec: object, claimUid = 'c1'): void =>
    void api.put('/api/v1/persistentvolumes/pv1', {
      ...{ metadata: {}, spec: { capacity: {}, claimRef: { uid: claimUid }, ...spec } },
    });
  beforeEach(async () => {
    await run();
  });

  it('are found where they lie on the node', async () => {
    api.put(CLAIM, { metadata: { uid: 'c1' }, ...bound });
    putVolume({ local: { path: '/mnt/disk' } });
    expect(await objects.getClaimed(podOf(), VOLUME, NEVER)).toMatchObject({
      ...{ name: 'pv1', kind: 'local', path: '/mnt/disk' },
    });
    putVolume({ hostPath: { path: '/srv', type: 'DirectoryOrCreate' } });
    expect(await objects.getClaimed(podOf(), VOLUME, NEVER)).toMatchObject({
      ...{ kind: 'hostPath', path: '/srv', type: 'DirectoryOrCreate' },
    });
  });

  it('are told of soon after they are there, to pods that lacked them', async () => {
    await expect(objects.getClaimed(podOf(), VOLUME, NEVER)).rejects.toThrow('not found');
    await clock.advance(30_000);
    expect(changed).toEqual([]);
    api.put(CLAIM, { metadata: { uid: 'c1' }, ...bound });
    putVolume({ local: { path: '/mnt/disk' } });
    await clock.advance(6_000);
    expect(changed).toEqual([['u1']]);
    // What no pod gets here is not waited for.
    putVolume({ csi: { driver: 'x' } });
    await expect(objects.getClaimed(podOf(), VOLUME, NEVER)).rejects.toThrow('not supported');
    await clock.advance(30_000);
    expect(changed).toHaveLength(1);
  });

  it('that lie on another node are no empty folder here, and come once they are this node’s', async () => {
    api.put(CLAIM, { metadata: { uid: 'c1' }, ...bound });
    const affinityTo = (host: string): object => {
      const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [host] }];
      return { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } };
    };
    for (const source of [{ local: { path: '/mnt/disk' } }, { hostPath: { path: '/srv' } }]) {
      putVolume({ ...source, ...affinityTo('there') });
      await expect(objects.getClaimed(podOf(), VOLUME, NEVER)).rejects.toThrow(
        'MountVolume.NodeAffinity check failed for volume "pv1" : no matching NodeSelectorTerms',
      );
      putVolume({ ...source, ...affinityTo('here') });
      expect(await objects.getClaimed(podOf(), VOLUME, NEVER)).toMatchObject({ name: 'pv1' });
    }
    putVolume({ local: { path: '/mnt/disk' }, ...affinityTo('there') });
    await expect(objects.getClaimed(podOf(), VOLUME, NEVER)).rejects.toThrow('NodeAffinity');
    labels = { 'kubernetes.io/hostname': 'there' };
    await clock.advance(6_000);
    expect(changed).toEqual([['u1']]);
  });

  it('may be made for the pod alone', async () => {
    const path = '/api/v1/namespaces/shop/persistentvolumeclaims/web-cache';
    putVolume({ local: { path: '/mnt/disk' } });
    api.put(path, { metadata: { uid: 'c1' }, ...bound });
    const volume = { name: 'cache', ephemeral: {} };
    await expect(objects.getClaimed(podOf(), volume, NEVER)).rejects.toThrow(
      'PVC shop/web-cache was not created for pod shop/web',
    );
    api.put(path, { metadata: { uid: 'c1', ownerReferences: [{ uid: 'u1' }] }, ...bound });
    expect(await objects.getClaimed(podOf(), volume, NEVER)).toMatchObject({ path: '/mnt/disk' });
  });

  it('say why they cannot be had', async () => {
    const why = async (): Promise<string> =>
      objects.getClaimed(podOf(), VOLUME, NEVER).then(
        () => 'none',
        (error: unknown) => messageOf(error),
      );
    expect(await why()).toBe('error fetching PVC shop/data: persistentvolumeclaims "data" not found');
    api.put(CLAIM, { metadata: { uid: 'c1' }, spec: {}, status: { phase: 'Pending' } });
    expect(await why()).toBe('PVC shop/data is not bound');
    api.put(CLAIM, { metadata: { uid: 'c1' }, ...bound });
    expect(await why()).toBe('failed to fetch PV pv1: persistentvolumes "pv1" not found');
    putVolume({ local: { path: '/mnt' } }, 'another');
    expect(await why()).toBe('PV pv1 is bound to another claim than PVC shop/data');
    putVolume({ csi: { driver: 'x' }, volumeMode: 'Filesystem' });
    expect(await why()).toBe(
      'PV pv1 is of the kind csi, which is not supported by podloop: only local and hostPath are',
    );
    api.put(CLAIM, {
      metadata: { uid: 'c1' },
      spec: { volumeName: 'pv1', volumeMode: 'Block' },
      status: bound.status,
    });
    expect(await why()).toBe('PVC shop/data is a block device, which is not supported by podloop');
  });
});

it('has a token hidden in what is said of pods of its pod’s namespace, until it was replaced and has ended', async () => {
  await run();
  let made = 0;
  api.answer = ({ path }) =>
    path.endsWith('/token') ? { status: { token: `header.number${++made}.signature` } } : undefined;
  await objects.getToken(podOf(), { expirationSeconds: 3_600 });
  const said = 'header.number1.signature, not header.number2.signature';
  expect(hider.hide(said, 'shop')).toBe('***, not header.number2.signature');
  expect(hider.hide(said, 'default')).toBe(said);
  await clock.advance(0.8 * 3_600_000);
  await objects.getToken(podOf(), { expirationSeconds: 3_600 });
  objects.keepOnly(new Set(['u1']));
  expect(hider.hide(said, 'shop')).toBe('***, not ***');
  await clock.advance(0.2 * 3_600_000);
  objects.keepOnly(new Set(['u1']));
  expect(hider.hide(said, 'shop')).toBe('header.number1.signature, not ***');
});

it('hides tokens as values of Secrets, and forgets pods that are gone', async () => {
  await run();
  api.answer = ({ path }) => (path.endsWith('/token') ? { status: { token: 'abcdef.ghi' } } : undefined);
  const pod = podOf({ volumes: [{ name: 'v', configMap: { name: 'a' } }] });
  expect(await objects.getToken(pod, {})).toBe('abcdef.ghi');
  expect(Buffer.from(hidden[0]!.data.get('token')!).toString()).toBe('abcdef.ghi');
  expect(hidden[0]!.metadata.namespace).toBe('shop');
  const fetched = objects.fetchForVolumes(pod, NEVER);
  await clock.settle();
  await fetched;
  expect(objects.stats.objects).toBe(1);
  objects.keepOnly(new Set(['u1']));
  expect(objects.stats.objects).toBe(1);
  objects.keepOnly(new Set());
  expect(objects.stats.objects).toBe(0);
});
