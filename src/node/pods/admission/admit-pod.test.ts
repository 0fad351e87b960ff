import { describe, expect, it } from 'vitest';
import { type ContainerPort } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Admission, admitPod, type NodeCapacity } from './admit-pod.js';
import { NodeClaims } from './node-claims.js';

const CAPACITY: NodeCapacity = {
  ...{ pods: 3, cpuMilli: 2_000n, memoryBytes: 1_000n },
  others: new Map([
    ['ephemeral-storage', 10_000n],
    ['example.com/gpu', 2n],
  ]),
};

interface Wish {
  readonly cpu?: string;
  readonly memory?: string;
  readonly others?: Readonly<Record<string, string>>;
  readonly ports?: readonly ContainerPort[];
  readonly hostNetwork?: boolean;
}

function pod(
  name: string,
  { cpu = '0', memory = '0', others = {}, ports = [], hostNetwork = false }: Wish = {},
): NodePod {
  const resources = { requests: { cpu, memory, ...others } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name },
    spec: { containers: [{ name: 'c', image: 'i', resources, ports }], hostNetwork },
  };
}

function admit(wish: Wish, ...active: Wish[]): Admission {
  const claims = new NodeClaims();
  for (const [index, each] of active.entries()) claims.add(pod(`p${index}`, each));
  return admitPod(pod('new', wish), claims, CAPACITY);
}
const port = (hostPort: number, more: Partial<ContainerPort> = {}): Wish => ({
  ports: [{ containerPort: 80, hostPort, ...more }],
});

describe('admission', () => {
  it('takes pods as long as there is room', () => {
    expect(admit({ cpu: '1', memory: '500' }, { cpu: '1', memory: '500' })).toEqual({ admit: true });
  });

  it('rejects one pod too many in the kubelet’s words', () => {
    expect(admit({}, {}, {}, {})).toMatchObject({
      admit: false,
      reason: 'OutOfpods',
      message: "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
    });
  });

  it('rejects what asks for more cpu or memory than is left', () => {
    expect(admit({ cpu: '1500m' }, { cpu: '1' })).toMatchObject({
      admit: false,
      reason: 'OutOfcpu',
      message:
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
    });
    expect(admit({ memory: '600' }, { memory: '500' })).toMatchObject({ reason: 'OutOfmemory' });
  });

  it('rejects what asks for more of anything else than is left, or than there is', () => {
    expect(
      admit({ others: { 'ephemeral-storage': '6k' } }, { others: { 'ephemeral-storage': '5k' } }),
    ).toMatchObject({
      reason: 'OutOfephemeral-storage',
      message:
        "Pod was rejected: Node didn't have enough resource: ephemeral-storage, requested: 6000, used: 5000, capacity: 10000",
    });
    expect(admit({ others: { 'hugepages-2Mi': '2Mi' } })).toMatchObject({ reason: 'OutOfhugepages-2Mi' });
    const gpu = { others: { 'example.com/gpu': '1' } };
    expect(admit(gpu, gpu)).toEqual({ admit: true });
    expect(admit(gpu, gpu, gpu)).toMatchObject({ reason: 'OutOfexample.com/gpu' });
    // Of no node: the scheduler counts it for the whole cluster.
    expect(admit({ others: { 'example.com/licence': '1' } })).toEqual({ admit: true });
  });

  it('returns everything that is short when nothing else is in the way', () => {
    expect(admit({ cpu: '1500m', memory: '600' }, { cpu: '1', memory: '500' })).toMatchObject({
      shortages: [
        { resource: 'cpu', requested: 1_500n, used: 1_000n, capacity: 2_000n },
        { resource: 'memory', requested: 600n, used: 500n, capacity: 1_000n },
      ],
    });
    const both = admit({ cpu: '3', ...port(80) }, port(80));
    expect(both).toMatchObject({ reason: 'OutOfcpu' });
    expect(both).not.toHaveProperty('shortages');
  });

  it('takes a pod that asks for nothing even where more was promised than there is', () => {
    expect(admit({}, { cpu: '3' })).toEqual({ admit: true });
  });

  it.each<[string, Wish, Wish]>([
    ['the same port', port(8080), port(8080)],
    [
      'the same port at all addresses and at one',
      port(8080, { hostIP: '0.0.0.0' }),
      port(8080, { hostIP: '10.0.0.1' }),
    ],
    [
      'a port of a pod on the host’s network',
      port(80),
      { hostNetwork: true, ports: [{ containerPort: 80 }] },
    ],
  ])('rejects %s', (_what, one, other) => {
    expect(admit(one, other)).toEqual({
      admit: false,
      reason: 'NodePorts',
      message:
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    });
  });

  it.each<[string, Wish, Wish]>([
    ['another port', port(8080), port(8081)],
    ['the same number of another protocol', port(53), port(53, { protocol: 'UDP' })],
    ['the same port at another address', port(80, { hostIP: '10.0.0.1' }), port(80, { hostIP: '10.0.0.2' })],
    ['ports of containers only', { ports: [{ containerPort: 80 }] }, { ports: [{ containerPort: 80 }] }],
  ])('takes %s', (_what, one, other) => {
    expect(admit(one, other)).toEqual({ admit: true });
  });
});
