import { describe, expect, it } from 'vitest';
import { type ResourceRequirements } from '../container/container.js';
import { formatFieldProblem } from '../fields/field-problem.js';
import { applyPodDefaults } from './pod-defaults.js';
import { withPodLimits } from './pod-level-resources.js';
import { computePodQos } from './pod-qos.js';
import { computeOtherRequests, computePodRequests } from './pod-requests.js';
import { readPod } from './read-pod.js';

type Own = ResourceRequirements | undefined;

function objectOf(resources: unknown, containers: readonly Own[] = [undefined], init: readonly Own[] = []) {
  const make = (own: Own, at: number) => ({ name: `c${at}`, image: 'i:1', ...(own && { resources: own }) });
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
    spec: {
      resources,
      containers: containers.map(make),
      initContainers: init.map((own, at) => ({ ...make(own, at), name: `i${at}`, restartPolicy: 'Always' })),
    },
  };
}
function read(...parts: Parameters<typeof objectOf>) {
  const { pod, problems } = readPod(objectOf(...parts));
  expect(problems).toEqual([]);
  return applyPodDefaults(pod!).spec;
}
const problemsOf = (...parts: Parameters<typeof objectOf>) =>
  readPod(objectOf(...parts)).problems.map(formatFieldProblem);

describe('a pod with resources of its own', () => {
  it('requests what its containers do where it says nothing, and otherwise as much as it may have', () => {
    expect(read({ limits: { cpu: '2', memory: '1Gi' } }).resources?.requests).toEqual({
      cpu: '2',
      memory: '1Gi',
    });
    const own = [{ requests: { cpu: '300m' } }, { limits: { cpu: '0.2', memory: '64Mi' } }];
    const spec = read({ limits: { cpu: '2' } }, own, [{ requests: { cpu: '1' } }]);
    expect(spec.resources).toEqual({ limits: { cpu: '2' }, requests: { cpu: '1500m', memory: '64Mi' } });
    expect(applyPodDefaults({ ...objectOf({}), spec } as never).spec).toEqual(spec);
    expect(read({ requests: { cpu: '2' } }, own).resources).toEqual({
      requests: { cpu: '2', memory: '64Mi' },
    });
    const huge = [{ limits: { 'hugepages-2Mi': '4Mi', memory: '1Mi' } }];
    expect(read({ limits: { memory: '2Mi' } }, huge).resources).toEqual({
      limits: { 'hugepages-2Mi': '4Mi', memory: '2Mi' },
      requests: { 'hugepages-2Mi': '4Mi', memory: '1Mi' },
    });
    expect(read({}, own).resources).toEqual({});
  });

  it.each<[string, ResourceRequirements, Own]>([
    ['Guaranteed', { limits: { cpu: '1', memory: '1Gi' } }, undefined],
    ['Guaranteed', { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1000m' } }, undefined],
    ['Burstable', { limits: { cpu: '1', memory: '1Gi' } }, { requests: { cpu: '10m' } }],
    ['Burstable', { limits: { cpu: '1' } }, undefined],
    ['Burstable', { requests: { cpu: '1', memory: '1Gi' } }, undefined],
    ['BestEffort', { limits: { cpu: '0' } }, undefined],
    ['Burstable', {}, { requests: { cpu: '10m' } }],
  ])('is of the class of those: %s, %j', (qos, resources, own) => {
    expect(computePodQos(read(resources, [own, undefined]))).toBe(qos);
  });

  it('takes up those of the node, with its overhead', () => {
    const spec = read(
      { requests: { cpu: '2', 'hugepages-2Mi': '4Mi', memory: '8Mi' }, limits: { 'hugepages-2Mi': '4Mi' } },
      [{ requests: { cpu: '1', memory: '4Mi' } }],
    );
    expect(computePodRequests({ ...spec, overhead: { cpu: '100m' } })).toEqual({
      cpuMilli: 2100n,
      memoryBytes: 8n * 2n ** 20n,
    });
    expect([...computeOtherRequests(spec)]).toEqual([['hugepages-2Mi', 4n * 2n ** 20n]]);
  });

  it('gives its limits to containers that have none of their own', () => {
    const spec = read({ limits: { cpu: '2', memory: '1Gi' } }, [
      { limits: { cpu: '1' } },
      { limits: { cpu: '0' } },
    ]);
    expect(spec.containers.map((each) => withPodLimits(spec, each).resources?.limits)).toEqual([
      { cpu: '1', memory: '1Gi' },
      { cpu: '2', memory: '1Gi' },
    ]);
    const without = read({}, [undefined]);
    expect(withPodLimits(without, without.containers[0]!)).toBe(without.containers[0]);
  });

  it.each<[string, unknown, Own[]]>([
    [
      'spec.resources.requests[cpu]: Invalid value: "500m": must be at least 1500m, which the containers request together',
      { requests: { cpu: '500m' } },
      [{ requests: { cpu: '1' } }, { limits: { cpu: '500m' } }],
    ],
    [
      'spec.resources.limits[memory]: Invalid value: "1Mi": must be at least 2Mi, which the containers request together',
      { limits: { memory: '1Mi' } },
      [{ requests: { memory: '1Mi' } }, { requests: { memory: '1Mi' } }],
    ],
    [
      'spec.containers[1].resources.limits[cpu]: Invalid value: "2": must be at most the limit of the pod, 1',
      { limits: { cpu: '1' }, requests: { cpu: '1' } },
      [undefined, { limits: { cpu: '2' }, requests: { cpu: '1m' } }],
    ],
    [
      'spec.resources.requests[cpu]: Invalid value: "2": must be at most the limit of cpu, 1',
      { limits: { cpu: '1' }, requests: { cpu: '2' } },
      [undefined],
    ],
    [
      'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "memory", "hugepages-2Mi"',
      { limits: { 'ephemeral-storage': '1Gi' } },
      [undefined],
    ],
    [
      'spec.resources.limits[cpu]: Invalid value: "-1": must not be negative',
      { limits: { cpu: '-1' } },
      [undefined],
    ],
  ])('is refused: %s', (message, resources, containers) => {
    expect(problemsOf(resources, containers)).toEqual([message]);
  });

  it('is refused for claims, as containers are, and for what is no amount', () => {
    expect(problemsOf({ claims: [{ name: 'x' }] })[0]).toMatch(/^spec\.resources\.claims: not supported; /);
    expect(problemsOf({ limits: { cpu: 'many' } }, [{ limits: { cpu: '1' } }])[0]).toMatch(
      /^spec\.resources\.limits\[cpu\]: /,
    );
  });
});
