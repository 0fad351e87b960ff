import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeNodeServer } from '#support/fakes/fake-node-server.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { nodeStatusSynced } from '#base/channels/node-channels.js';
import { ApiError, type KubeRequest } from '../client/kube-client.js';
import { ClusterNode, type ClusterNodeOptions } from './cluster-node.js';
import { type NodeObject } from './node-object.js';
import { type NodeEvent, type NodeFactsPort, type NodeHealth } from './node-ports.js';
import { DEFAULT_NODE_SETTINGS, kubeletVersionOf, type NodeSettings } from './node-settings.js';

const GI = 1024n ** 3n;
const STATUS = 'PATCH nodes/here/status';
const NOT_YET: NodeHealth = {
  isKnown: false,
  problems: ['container runtime status check may not have completed yet'],
};
const DOWN: NodeHealth = { ...NOT_YET, isKnown: true };
const WELL: NodeHealth = { isKnown: true, problems: [] };

let clock: FakeClock;
let server: FakeNodeServer;
let logger: LogRecorder;
let events: NodeEvent[];
let dropped: number;
let health: NodeHealth;
let stop: AbortController;
let running: Promise<void> | undefined;
let facts: NodeFactsPort;
const listeners = new Set<() => void>();

beforeEach(() => {
  clock = new FakeClock();
  server = new FakeNodeServer();
  logger = new LogRecorder();
  events = [];
  dropped = 0;
  health = WELL;
  stop = new AbortController();
  running = undefined;
  listeners.clear();
  facts = {
    machine: async () => ({
      ...{ machineID: 'm', systemUUID: 's', bootID: 'boot-1', kernelVersion: '6.1.0' },
      ...{ osImage: 'Debian', operatingSystem: 'linux', architecture: 'amd64' },
    }),
    resources: async () => ({
      ...{ cores: 2, memoryBytes: 4n * GI, storageBytes: 20n * GI, hugePages: new Map() },
      ...{ maxPods: 110, podsPerCore: 0, reserved: [] },
    }),
    addresses: async () => ({
      ...{ nodeIps: [], hostname: 'here', ofName: [], route: '' },
      interfaces: {
        eth0: [{ address: '192.0.2.7', family: 'IPv4', netmask: '', mac: '', internal: false, cidr: null }],
      },
    }),
    runtime: async () => ({ version: 'containerd://1.7.24', handlers: [], supplementalGroupsPolicy: true }),
    images: async () => [
      { names: ['small'], sizeBytes: 1 },
      { names: ['large'], sizeBytes: 9 },
    ],
    hasAttachedMounts: async () => true,
    kubeletPort: () => 10_250,
  };
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
  await running;
});

function make(settings: Partial<NodeSettings> = {}, more: Partial<ClusterNodeOptions> = {}): ClusterNode {
  return new ClusterNode({
    ...{ clock, logger, client: server, api: server, facts, random: () => 0.5 },
    settings: {
      ...DEFAULT_NODE_SETTINGS,
      ...{ name: 'here', hostname: 'here', kubeletVersion: kubeletVersionOf('0.1.0') },
      ...settings,
    },
    dropConnection: () => dropped++,
    health: {
      health: () => health,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    pressure: { readers: {}, hard: [], soft: [] },
    onEvent: (event) => events.push(event),
    ...more,
  });
}

async function start(settings: Partial<NodeSettings> = {}, more: Partial<ClusterNodeOptions> = {}) {
  const node = make(settings, more);
  running = node.run(stop.signal);
  await clock.settle();
  return node;
}

const change = async (next: NodeHealth): Promise<void> => {
  health = next;
  for (const listener of listeners) listener();
  await clock.settle();
};
const stored = (): NodeObject => server.node() as unknown as NodeObject;
const conditionOf = (type: string) => stored().status.conditions.find((each) => each.type === type);
const isOfNodes = ({ path }: KubeRequest): boolean => path.startsWith('/api/v1/nodes');
const count = (line: string): number => server.log.filter((each) => each === line).length;

describe('a node that nobody knows', () => {
  it('is registered with all that is known of it', async () => {
    const node = await start({
      labels: { disk: 'ssd' },
      taints: [{ key: 'a', effect: 'NoSchedule' }],
      providerId: 'x://1',
    });
    expect(stored()).toMatchObject({
      metadata: {
        labels: {
          ...{ 'kubernetes.io/hostname': 'here', 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
          ...{ 'beta.kubernetes.io/os': 'linux', 'beta.kubernetes.io/arch': 'amd64', disk: 'ssd' },
        },
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      },
      spec: { taints: [{ key: 'a', effect: 'NoSchedule' }], providerID: 'x://1' },
      status: {
        capacity: { cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': '20Gi' },
        addresses: [
          { type: 'InternalIP', address: '192.0.2.7' },
          { type: 'Hostname', address: 'here' },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
        nodeInfo: { containerRuntimeVersion: 'containerd://1.7.24', kubeletVersion: 'v1.37.2+podloop.0.1.0' },
        images: [{ names: ['large'] }, { names: ['small'] }],
        features: { supplementalGroupsPolicy: true },
      },
    });
    expect(conditionOf('Ready')?.status).toBe('True');
    expect(node.isOfKubeletHere).toBe(false);
  });

  it('is tried again while the API server is away: at once, then after 100 ms doubling to 7 s', async () => {
    const node = make();
    server.fault = () => new Error('connect ECONNREFUSED');
    running = node.run(stop.signal);
    const tries: number[] = [];
    const startedAtMs = clock.monotonicMs();
    server.fault = ({ method }) => {
      if (method === 'GET') tries.push(clock.monotonicMs() - startedAtMs);
      return new Error('connect ECONNREFUSED');
    };
    await clock.advance(30_000);
    expect(tries).toEqual([0, 100, 300, 700, 1_500, 3_100, 6_300, 12_700, 19_700, 26_700]);
    expect(node.node).toBeUndefined();
    expect(logger.complaints.map(({ message }) => message)).toEqual([
      'Unable to register node with API server, will retry',
    ]);
    server.fault = () => undefined;
    await clock.advance(7_000);
    await node.whenRegistered(stop.signal);
    expect(node.node?.metadata.name).toBe('here');
  });

  it('is given the time that webhooks may take, over the connection that is not for heartbeats', async () => {
    const slow = new FakeNodeServer();
    await start({}, { api: slow });
    const asked = slow.requests.filter(isOfNodes).map(({ method, timeoutMs }) => [method, timeoutMs]);
    expect(asked.slice(0, 2)).toEqual([
      ['GET', 10_000],
      ['POST', 70_000],
    ]);
    expect(count('POST nodes')).toBe(0);
  });

  it('is Ready the moment the runtime is up', async () => {
    health = NOT_YET;
    const runtime = facts.runtime.bind(facts);
    let isUp = false;
    facts = {
      ...facts,
      runtime: async (signal) => {
        if (!isUp) throw new Error('no runtime');
        return await runtime(signal);
      },
    };
    await start();
    expect(conditionOf('Ready')).toMatchObject({ status: 'False', message: NOT_YET.problems[0] });
    isUp = true;
    await change(WELL);
    expect(conditionOf('Ready')?.status).toBe('True');
    expect(stored().status.nodeInfo?.containerRuntimeVersion).toBe('containerd://1.7.24');
    expect(events.map(({ reason }) => reason)).toContain('NodeReady');
  });

  it('is registered although a name server or the runtime hangs, and completed when they answer', async () => {
    const addresses = facts.addresses.bind(facts);
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    facts = {
      ...facts,
      addresses: async (signal) => {
        await answered;
        return await addresses(signal);
      },
    };
    await start();
    await clock.advance(1_000);
    expect(stored().status.addresses).toEqual([]);
    answer();
    await clock.settle();
    expect(stored().status.addresses).toHaveLength(2);
  });

  it('is not made when others are to make it, and taken up once it is there', async () => {
    const node = await start({ register: false });
    await clock.advance(5_000);
    expect([...new Set(server.log)]).toEqual(['GET nodes/here']);
    server.put('/api/v1/nodes/here', { metadata: { name: 'here' } });
    await clock.advance(7_000);
    expect(node.node?.metadata.name).toBe('here');
    expect(conditionOf('Ready')?.status).toBe('True');
  });
});

describe('a node that the controller of a cloud completes', () => {
  const TAINT = {
    key: 'node.cloudprovider.kubernetes.io/uninitialized',
    value: 'true',
    effect: 'NoSchedule',
  };

  it('has its taint, and its host name alone as an address', async () => {
    await start({ cloud: { nodeIp: '' }, taints: [{ key: 'own', effect: 'NoExecute' }] });
    const { spec, status, metadata } = stored();
    expect(spec.taints).toEqual([{ key: 'own', effect: 'NoExecute' }, TAINT]);
    expect(status.addresses).toEqual([{ type: 'Hostname', address: 'here' }]);
    expect(metadata.annotations).not.toHaveProperty('alpha.kubernetes.io/provided-node-ip');
  });

  it('has an address that people have chosen from the beginning, and hands it to that controller', async () => {
    await start({ cloud: { nodeIp: '192.0.2.7' } });
    const { status, metadata } = stored();
    expect(status.addresses).toContainEqual({ type: 'InternalIP', address: '192.0.2.7' });
    expect(metadata.annotations).toMatchObject({ 'alpha.kubernetes.io/provided-node-ip': '192.0.2.7' });
  });
});

it('takes a chosen address back from that controller when it is chosen no more', async () => {
  const annotations = { 'alpha.kubernetes.io/provided-node-ip': '192.0.2.7', note: 'kept' };
  server.put('/api/v1/nodes/here', { metadata: { name: 'here', annotations } });
  await start({ cloud: { nodeIp: '' } });
  await clock.advance(1_000);
  const { metadata } = stored();
  expect(metadata.annotations).toMatchObject({ note: 'kept' });
  expect(metadata.annotations).not.toHaveProperty('alpha.kubernetes.io/provided-node-ip');
});

describe('a node that is there already', () => {
  const existing = {
    metadata: {
      name: 'here',
      labels: { 'kubernetes.io/hostname': 'old', team: 'a', pool: 'x' },
      annotations: { note: 'kept' },
    },
    spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }] },
    status: {
      capacity: { 'example.org/gpu': '2', 'hugepages-1Gi': '0' },
      allocatable: { 'example.org/gone': '1' },
      conditions: [{ type: 'NetworkUnavailable', status: 'False' }],
      volumesInUse: ['kept'],
    },
  };

  it('keeps what others have set, and says what it is not given', async () => {
    server.put('/api/v1/nodes/here', existing);
    await start({ labels: { pool: 'y', team: 'a' }, taints: [{ key: 'new', effect: 'NoExecute' }] });
    const { metadata, spec, status } = stored();
    expect(metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'here', team: 'a', pool: 'x' });
    expect(metadata.annotations).toMatchObject({ note: 'kept' });
    expect(spec.taints).toEqual(existing.spec.taints);
    expect(status).toMatchObject({ volumesInUse: ['kept'] });
    expect(status.capacity).toEqual({
      ...{ cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': '20Gi', 'example.org/gpu': '2' },
    });
    expect(status.allocatable).toMatchObject({ 'example.org/gpu': '2' });
    expect(status.allocatable).not.toHaveProperty('example.org/gone');
    expect(status.conditions.map(({ type }) => type)).toEqual([
      ...['NetworkUnavailable', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'],
    ]);
    expect(logger.complaints.map(({ fields }) => fields)).toEqual([
      { node: { name: 'here' }, missing: ['label pool=y', 'taint new:NoExecute'] },
    ]);
  });

  it('keeps the addresses that the controller of a cloud gives it, and is not sent again for them', async () => {
    await start();
    const given = [
      ...[
        { type: 'Hostname', address: 'here' },
        { type: 'ExternalIP', address: '203.0.113.7' },
      ],
      ...[
        { type: 'InternalDNS', address: 'here.internal' },
        { type: 'InternalIP', address: '192.0.2.7' },
      ],
    ];
    server.put('/api/v1/nodes/here', { ...server.node()!, status: { ...stored().status, addresses: given } });
    const before = count(STATUS);
    await clock.advance(60_000);
    expect(stored().status.addresses).toEqual(given);
    expect(count(STATUS)).toBe(before);
  });

  it('has the addresses that the controller of a cloud gives it, and no others, where that completes it', async () => {
    const given = [
      { type: 'InternalIP', address: '198.51.100.9' },
      { type: 'Hostname', address: 'of-the-cloud' },
    ];
    const spec = { providerID: 'cloud://1' };
    server.put('/api/v1/nodes/here', { ...existing, spec, status: { ...existing.status, addresses: given } });
    const node = await start({ cloud: { nodeIp: '' } });
    await clock.advance(60_000);
    expect(stored().status.addresses).toEqual(given);
    expect(node.addresses).toEqual(given);
    expect(node.ips).toEqual(['198.51.100.9']);
    // Its taint is taken off once, and not missed.
    expect(logger.complaints).toEqual([]);
  });

  it('has no volumes in use any more once nothing of any is mounted', async () => {
    server.put('/api/v1/nodes/here', existing);
    let isMounted = true;
    facts.hasAttachedMounts = async () => isMounted;
    await start();
    await clock.advance(30_000);
    expect(stored().status.volumesInUse).toEqual(['kept']);
    isMounted = false;
    await clock.advance(20_000);
    expect(stored().status.volumesInUse ?? []).toEqual([]);
    // Where none are in use, nothing is read.
    facts.hasAttachedMounts = async () => Promise.reject(new Error('not to be asked'));
    await clock.advance(60_000);
    expect(logger.complaints.map(({ fields }) => fields)).not.toContainEqual({ fact: 'mounts' });
  });

  it('is told of as one that another agent keeps, too, and not as a machine that was started anew', async () => {
    await start();
    for (let turn = 0; turn < 3; turn++) {
      const { status } = stored();
      const nodeInfo = { ...status.nodeInfo, systemUUID: 'other', bootID: 'theirs' };
      server.put('/api/v1/nodes/here', { ...server.node()!, status: { ...status, nodeInfo } });
      await clock.advance(15_000);
    }
    const reasons = events.map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === 'NodeNameConflict')).toHaveLength(1);
    expect(reasons).not.toContain('Rebooted');
  });

  it('is said to have been another machine’s, whose agent may still be running', async () => {
    const status = { nodeInfo: { machineID: 'other' } };
    server.put('/api/v1/nodes/here', { metadata: { name: 'here' }, status });
    await start();
    expect(logger.complaints).toMatchObject([{ fields: { before: 'other', now: 'm' } }]);
  });

  it.each<[boolean, string, object]>([
    [true, "the machine's", {}],
    [false, "another machine's", { machineID: 'other' }],
    [false, "a copied machine's", { systemUUID: 'other' }],
    [false, 'one of which that is not known', { machineID: '' }],
    [false, 'our own of before', { kubeletVersion: kubeletVersionOf('0.0.9') }],
  ])("counts as that of this machine's kubelet (%s): %s", async (isOfKubeletHere, _, more) => {
    const nodeInfo = { machineID: 'm', systemUUID: 'S', kubeletVersion: 'v1.37.2', ...more };
    server.put('/api/v1/nodes/here', { metadata: { name: 'here' }, status: { nodeInfo } });
    for (const register of [true, false]) {
      stop.abort();
      await running;
      stop = new AbortController();
      server.put('/api/v1/nodes/here', { metadata: { name: 'here' }, status: { nodeInfo } });
      expect((await start({ register })).isOfKubeletHere).toBe(isOfKubeletHere);
    }
  });

  it('is taken up by who may not create it', async () => {
    server.put('/api/v1/nodes/here', existing);
    server.fault = ({ method, path }) =>
      method === 'POST' && path === '/api/v1/nodes' ? new ApiError(403, 'Forbidden', 'no') : undefined;
    await start();
    expect(conditionOf('Ready')?.status).toBe('True');
  });

  it.each<[string, (request: KubeRequest) => ReturnType<FakeNodeServer['fault']>]>([
    ['a webhook cannot be asked', () => new ApiError(500, 'InternalError', 'failed calling webhook')],
    ['a policy refuses it', () => new ApiError(422, 'Invalid', 'denied')],
    ['a webhook hangs', () => 'hang'],
  ])('is taken up at once where no Node can be made: %s', async (_, fault) => {
    server.put('/api/v1/nodes/here', existing);
    server.fault = (request) =>
      request.method === 'POST' && isOfNodes(request) ? fault(request) : undefined;
    const node = await start();
    expect(node.node?.metadata.name).toBe('here');
    expect(conditionOf('Ready')?.status).toBe('True');
    expect(server.lease()).toBeDefined();
  });

  it('is taken up by who may not look at it before it is there, once somebody has made it', async () => {
    let isRefused = true;
    server.fault = (request) => {
      if (!isRefused || !isOfNodes(request)) return undefined;
      return new ApiError(403, 'Forbidden', request.method === 'GET' ? 'no look' : 'no new one');
    };
    const node = await start();
    await clock.advance(1_000);
    expect(logger.complaints).toMatchObject([{ fields: { err: { message: 'no new one' } } }]);
    server.put('/api/v1/nodes/here', existing);
    isRefused = false;
    await clock.advance(7_000);
    expect(node.node?.metadata.name).toBe('here');
  });

  it('has its lease and its status although it cannot be given its labels, and is given them later', async () => {
    server.put('/api/v1/nodes/here', existing);
    let isRefused = true;
    server.fault = ({ method, body }) =>
      isRefused && method === 'PATCH' && JSON.stringify(body).includes('kubernetes.io/hostname')
        ? new ApiError(500, 'InternalError', 'failed calling webhook')
        : undefined;
    const node = await start();
    await node.whenRegistered(stop.signal);
    await clock.advance(120_000);
    expect(conditionOf('Ready')?.status).toBe('True');
    expect(server.lease()).toBeDefined();
    expect(stored().metadata.labels['kubernetes.io/hostname']).toBe('old');
    isRefused = false;
    await clock.advance(60_000);
    expect(stored().metadata.labels['kubernetes.io/hostname']).toBe('here');
    expect(node.node?.metadata.labels['kubernetes.io/hostname']).toBe('here');
    expect(logger.complaints.map(({ message }) => message)).toEqual([
      'Node exists already and cannot be given its labels, will retry',
    ]);
    const before = server.log.length;
    await clock.advance(60_000);
    expect(server.log.slice(before).filter((line) => line === STATUS)).toEqual([]);
  });

  it('is not NotReady for a moment because its agent was restarted', async () => {
    await start();
    stop.abort();
    await clock.settle();
    stop = new AbortController();
    health = NOT_YET;
    const seen: unknown[] = [];
    server.fault = ({ method, body }) => {
      if (method === 'PATCH') seen.push(JSON.stringify(body).includes('"KubeletNotReady"'));
      return undefined;
    };
    await start();
    await change(WELL);
    await clock.advance(20_000);
    expect(seen).not.toContain(true);
  });

  it('tells that its machine was started anew', async () => {
    await start();
    stop.abort();
    await clock.settle();
    stop = new AbortController();
    const machine = await facts.machine(stop.signal);
    facts = { ...facts, machine: async () => ({ ...machine, bootID: 'boot-2' }) };
    await start();
    await clock.advance(60_000);
    expect(events.filter(({ reason }) => reason === 'Rebooted')).toEqual([
      { type: 'Warning', reason: 'Rebooted', message: 'Node here has been rebooted, boot id: boot-2' },
    ]);
  });
});

describe('the status of a node', () => {
  it('is compared every 10 s, and sent only on change or every 5 min', async () => {
    let looks = 0;
    const leave = nodeStatusSynced.subscribe(() => looks++);
    await start();
    await clock.advance(1_000);
    looks = 0;
    const [asked, sent] = [count('GET nodes/here'), count(STATUS)];
    await clock.advance(270_000);
    leave();
    expect(looks).toBeGreaterThan(25);
    // A Node that is watched need not be asked for.
    expect(count('GET nodes/here')).toBe(asked);
    expect(count(STATUS)).toBe(sent);
    await clock.advance(60_000);
    expect(count(STATUS)).toBe(sent + 1);
  });

  it('is compared with a Node that is asked for where it cannot be watched: no older than the last that was seen', async () => {
    server.canWatch = false;
    await start();
    await clock.advance(11_000);
    const looks = server.requests.filter(({ method, path }) => method === 'GET' && path.includes('/nodes/'));
    expect(looks.at(-1)?.query).toEqual({
      resourceVersion: stored().metadata.resourceVersion,
    });
  });

  it('is sent at once when the node is no longer well, with who is to blame', async () => {
    await start();
    const culprit = 'ContainerStatus of default/web has hung for 2m10s';
    await change({ isKnown: true, problems: ['container runtime is down'], culprit });
    expect(conditionOf('Ready')).toMatchObject({
      ...{ status: 'False', message: `container runtime is down; ${culprit}` },
    });
    expect(events.map(({ reason }) => reason)).toContain('NodeNotReady');
  });

  it('is not sent more often than it can be read when health goes up and down', async () => {
    await start();
    const before = count(STATUS);
    for (let turn = 0; turn < 50; turn++) await change(turn % 2 === 0 ? NOT_YET : WELL);
    expect(count(STATUS) - before).toBeLessThanOrEqual(5);
    await change(WELL);
    await clock.advance(11_000);
    expect(conditionOf('Ready')?.status).toBe('True');
  });

  it('is not sent again and again to an API server that drops a part of it', async () => {
    server.fault = ({ method, body }) => {
      if (method === 'PATCH') delete (body as { status: Record<string, unknown> }).status['features'];
      return undefined;
    };
    await start();
    await clock.advance(30_000);
    const before = count(STATUS);
    await clock.advance(100_000);
    expect(count(STATUS)).toBe(before);
  });

  it('is put right as often as somebody makes it wrong, in whatever way', async () => {
    await start();
    for (let turn = 0; turn < 3; turn++) {
      const { metadata } = stored();
      const labels = { ...metadata.labels, 'kubernetes.io/os': 'plan9' };
      server.put('/api/v1/nodes/here', { ...server.node()!, metadata: { ...metadata, labels } });
      await clock.advance(11_000);
      expect(stored().metadata.labels['kubernetes.io/os']).toBe('linux');
      await clock.advance(11_000);
    }
  });

  it('is tried five times, and from the second failure on over a new connection', async () => {
    await start();
    const failed: number[] = [];
    const leave = nodeStatusSynced.subscribe(({ outcome, failures }) => {
      if (outcome === 'failed') failed.push(failures);
    });
    server.fault = ({ path }) => (path.includes('/nodes/') ? new Error('ECONNRESET') : undefined);
    const before = dropped;
    await change(DOWN);
    await clock.advance(5_000);
    leave();
    expect(failed).toEqual([5]);
    expect(dropped - before).toBe(1);
    server.fault = () => undefined;
    await clock.advance(12_000);
    expect(logger.lines.map(({ message }) => message)).toContain('Node status can be updated again');
  });

  it('is told at once when the control plane has given the node up', async () => {
    await start();
    await clock.advance(15_000);
    const { status } = stored();
    const conditions = status.conditions.map((each) => ({ ...each, status: 'Unknown' }));
    server.put('/api/v1/nodes/here', { ...server.node()!, status: { ...status, conditions } });
    await clock.settle();
    expect(conditionOf('Ready')?.status).toBe('True');
  });

  it('is told although a fact of the machine hangs', async () => {
    await start();
    facts.addresses = async () => new Promise(() => undefined);
    facts.images = async () => new Promise(() => undefined);
    await clock.advance(60_000);
    let looks = 0;
    const leave = nodeStatusSynced.subscribe(() => looks++);
    await clock.advance(60_000);
    leave();
    expect(looks).toBeGreaterThanOrEqual(5);
    expect(stored().status.addresses).toHaveLength(2);
  });

  it('tells of a cordon at once, and that it is over', async () => {
    const node = await start();
    const cordon = (unschedulable: boolean): unknown =>
      server.put('/api/v1/nodes/here', { ...server.node()!, spec: { unschedulable } });
    cordon(true);
    await clock.settle();
    expect(node.node?.spec.unschedulable).toBe(true);
    cordon(false);
    await clock.settle();
    expect(events.map(({ reason }) => reason).filter((reason) => reason.includes('Schedulable'))).toEqual([
      ...['NodeNotSchedulable', 'NodeSchedulable'],
    ]);
  });
});

it('the addresses of pods are the Node’s, from before it is registered, and change with them', async () => {
  const node = make();
  await node.findAddresses(stop.signal);
  expect(node.ips).toEqual(['192.0.2.7']);
  running = node.run(stop.signal);
  await clock.settle();
  const first = await facts.addresses(stop.signal);
  const [eth0] = first.interfaces['eth0']!;
  facts.addresses = async () => ({ ...first, interfaces: { eth0: [{ ...eth0!, address: '192.0.2.8' }] } });
  await clock.advance(11_000);
  expect(node.ips).toEqual(['192.0.2.8']);
  expect(stored().status.addresses[0]).toEqual({ type: 'InternalIP', address: '192.0.2.8' });
});

describe('a Node that is deleted while the agent runs', () => {
  it('is not made again, which is said once; one that others make is taken up', async () => {
    const node = await start();
    for (const path of [...server.objects.keys()]) server.drop(path);
    await clock.settle();
    expect(node.node).toBeUndefined();
    await clock.advance(60_000);
    expect(server.node()).toBeUndefined();
    expect(server.lease()).toBeUndefined();
    expect(node.node).toBeUndefined();
    expect(logger.complaints.map(({ message }) => message)).toEqual([
      'Node was deleted from the API server and is not registered again',
    ]);
    server.put('/api/v1/nodes/here', { metadata: { name: 'here', uid: 'anew' } });
    await clock.settle();
    expect(conditionOf('Ready')?.status).toBe('True');
    await clock.advance(11_000);
    expect(server.lease()).toMatchObject({ metadata: { ownerReferences: [{ uid: 'anew' }] } });
  });
});
