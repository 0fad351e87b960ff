import { setMaxListeners } from 'node:events';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lease, type Node } from '../../src/cluster/client/kube-objects.js';
import { type KubeClients, openKubeClients } from '../../src/cluster/client/open-kube-clients.js';
import { ClusterNode } from '../../src/cluster/node/cluster-node.js';
import { type NodeHealth } from '../../src/cluster/node/node-ports.js';
import { DEFAULT_NODE_SETTINGS, kubeletVersionOf } from '../../src/cluster/node/node-settings.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SystemClock } from '#base/time/clock.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NAME = 'lab-node';
const PATH = `/api/v1/nodes/${NAME}`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NAME}`;
const WELL: NodeHealth = { isKnown: true, problems: [] };
/** Taints come and go with conditions, and the controller manager may have to find its server again before. */
const LIMIT_MS = 120_000;

describe.skipIf('missing' in found)('the Node of a machine, at a real control plane', () => {
  const clock = new SystemClock();
  const logger = new LogRecorder();
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const listeners = new Set<() => void>();
  let plane: ControlPlane;
  let clients: KubeClients;
  let health: NodeHealth = { isKnown: true, problems: ['container runtime is down'] };
  let running: Promise<void>;
  let node: ClusterNode;

  const change = (next: NodeHealth): void => {
    health = next;
    for (const listener of listeners) listener();
  };
  const read = async (): Promise<Node> => await plane.admin.request<Node>({ method: 'GET', path: PATH });
  const conditionOf = async (type: string) =>
    (await read()).status?.conditions?.find((each) => each.type === type);
  const untilReady = async (status: string): Promise<boolean> =>
    await untilAsync(
      `Ready is ${status}`,
      async () => (await conditionOf('Ready'))?.status === status,
      LIMIT_MS,
    );

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    clients = await openKubeClients({
      ...{ file: await plane.nodeKubeconfig(NAME), version: 'test', environment: {}, clock, logger },
      ...{ rateLimit: { perSecond: 50, burst: 100 }, heartbeatTimeoutMs: 10_000 },
    });
    node = new ClusterNode({
      ...{ clock, logger, client: clients.heartbeat, api: clients.api },
      dropConnection: () => clients.heartbeat.dropConnections(),
      settings: {
        ...DEFAULT_NODE_SETTINGS,
        ...{ name: NAME, hostname: NAME, kubeletVersion: kubeletVersionOf('0.0.0') },
        labels: { disk: 'ssd', 'node.kubernetes.io/pool': 'lab' },
        taints: [{ key: 'lab', value: 'yes', effect: 'PreferNoSchedule' }],
        providerId: 'lab://one',
      },
      health: {
        health: () => health,
        onChange: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      facts: {
        machine: async () => ({
          ...{ machineID: 'machine', systemUUID: 'system', bootID: 'boot', kernelVersion: '6.1.0' },
          ...{ osImage: 'Lab Linux', operatingSystem: 'linux', architecture: 'amd64' },
          swap: { capacity: 1_048_576 },
        }),
        resources: async () => ({
          ...{ cores: 2, memoryBytes: 4n * 1024n ** 3n, storageBytes: 20n * 1024n ** 3n },
          hugePages: new Map([[2n * 1024n ** 2n, 0n]]),
          ...{ maxPods: 110, podsPerCore: 0, reserved: [] },
        }),
        addresses: async () => ({
          ...{ nodeIps: [], hostname: NAME, ofName: [], route: '', interfaces: networkInterfaces() },
        }),
        runtime: async () => ({
          version: 'lab://1.0.0',
          handlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: false } }],
          supplementalGroupsPolicy: true,
        }),
        images: async () => [
          { names: ['example.org/small:1'], sizeBytes: 0 },
          { names: ['example.org/large:1'], sizeBytes: 9_000 },
        ],
        hasAttachedMounts: async () => true,
        kubeletPort: () => 10_250,
      },
      pressure: { readers: {}, hard: [], soft: [] },
      onEvent: () => undefined,
    });
    running = node.run(stop.signal);
    await node.whenRegistered(stop.signal);
  });

  afterAll(async () => {
    stop.abort();
    await running;
    clients.close();
    await plane[Symbol.asyncDispose]();
  });

  it('is made by the node itself, as its authorizer and NodeRestriction allow it', async () => {
    const { metadata, spec, status } = await read();
    expect(metadata?.labels).toMatchObject({
      ...{ 'kubernetes.io/hostname': NAME, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
      ...{ disk: 'ssd', 'node.kubernetes.io/pool': 'lab' },
    });
    expect(spec?.providerID).toBe('lab://one');
    expect(spec?.taints).toContainEqual({ key: 'lab', value: 'yes', effect: 'PreferNoSchedule' });
    expect(status?.capacity).toMatchObject({ cpu: '2', memory: '4Gi', pods: '110', 'hugepages-2Mi': '0' });
    expect(await conditionOf('Ready')).toMatchObject({
      status: 'False',
      message: 'container runtime is down',
    });
  });

  it('is Ready for everybody as soon as it is well', async () => {
    change(WELL);
    await untilReady('True');
    await untilAsync(
      'the taints are gone that a new node has',
      async () => (await read()).spec?.taints?.every(({ key }) => key === 'lab') === true,
      LIMIT_MS,
    );
    const [line = ''] = (await plane.kubectl('get', 'nodes', NAME, '-o', 'wide', '--no-headers')).split('\n');
    expect(line).toMatch(
      /^lab-node +Ready .*v1\.37\.2\+podloop\.0\.0\.0 .*Lab Linux +6\.1\.0.* lab:\/\/1\.0\.0$/,
    );
    const text = await plane.kubectl('describe', 'node', NAME);
    expect(text).toMatch(/KubeletReady +kubelet is posting ready status/);
  });

  it('is written only when something has changed', async () => {
    await clock.sleep(2_000);
    const { resourceVersion } = (await read()).metadata!;
    await clock.sleep(25_000);
    expect((await read()).metadata!.resourceVersion).toBe(resourceVersion);
  });

  it('has a lease that belongs to it and is renewed', async () => {
    const lease = async (): Promise<Lease> =>
      await plane.admin.request<Lease>({ method: 'GET', path: LEASE });
    const { metadata, spec } = await lease();
    expect(metadata?.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: NAME, uid: (await read()).metadata!.uid },
    ]);
    expect(spec).toMatchObject({ holderIdentity: NAME, leaseDurationSeconds: 40 });
    await untilAsync(
      'the lease is renewed',
      async () => (await lease()).spec?.renewTime !== spec?.renewTime,
      LIMIT_MS,
    );
  });

  it('says who makes it NotReady', async () => {
    const culprit = 'ContainerStatus of default/web has hung for 3m5s';
    change({ isKnown: true, problems: ['container runtime is down'], culprit });
    await untilReady('False');
    expect((await conditionOf('Ready'))?.message).toBe(`container runtime is down; ${culprit}`);
    change(WELL);
    await untilReady('True');
  });

  it('is seen to be cordoned, and keeps what others have written', async () => {
    await plane.kubectl('cordon', NAME);
    await plane.kubectl('label', '--overwrite', 'node', NAME, 'disk=slow', 'team=a');
    await untilAsync('the cordon is seen', async () => node.node?.spec.unschedulable === true, LIMIT_MS);
    await plane.kubectl('uncordon', NAME);
    await untilAsync('it is over', async () => node.node?.spec.unschedulable !== true, LIMIT_MS);
    change({ isKnown: true, problems: ['container runtime is down'] });
    await untilReady('False');
    change(WELL);
    await untilReady('True');
    expect((await read()).metadata?.labels).toMatchObject({ disk: 'slow', team: 'a' });
  });

  it('is told again once an API server is back that was killed', async () => {
    await plane.components.apiServer.kill();
    change({ isKnown: true, problems: ['container runtime is down'] });
    await clock.sleep(3_000);
    await plane.restart('apiServer');
    await untilReady('False');
    change(WELL);
    await untilReady('True');
  });

  it('stays deleted when it was deleted, and takes its lease with it', async () => {
    await plane.kubectl('delete', 'node', NAME);
    await untilAsync('that is seen', async () => node.node === undefined, LIMIT_MS);
    const answer = async (path: string): Promise<number> =>
      await plane.admin.request({ method: 'GET', path }).then(
        () => 200,
        (error: unknown) => (error as { readonly code: number }).code,
      );
    await untilAsync('its lease is cleared away', async () => (await answer(LEASE)) === 404, LIMIT_MS);
    await clock.sleep(12_000);
    expect([await answer(PATH), await answer(LEASE)]).toEqual([404, 404]);
    expect(logger.complaints.map(({ message }) => message)).toContain(
      'Node was deleted from the API server and is not registered again',
    );
  });
});
