import { expect, it } from 'vitest';
import { formatFieldProblem } from '../fields/field-problem.js';
import { readClusterPod } from './read-cluster-pod.js';

type Json = Record<string, unknown>;

/** Similar to what an API server sends for a pod that was bound to a node. */
const podOf = (spec: Json = {}, metadata: Json = {}): Json => ({
  metadata: {
    ...{ name: 'web-1', generateName: 'web-', namespace: 'shop', uid: 'u1', resourceVersion: '12' },
    ...{ creationTimestamp: '2026-11-22T00:00:00Z', finalizers: ['example.com/keep'], ...metadata },
  },
  spec: {
    containers: [{ name: 'main', image: 'nginx', terminationMessagePolicy: 'File' }],
    ...{ serviceAccountName: 'builder', serviceAccount: 'builder', enableServiceLinks: true },
    ...{ nodeName: 'node1', schedulerName: 'default-scheduler', ...spec },
  },
  status: { phase: 'Pending' },
});

function problemsOf(value: unknown): string[] {
  return readClusterPod(value).problems.map(formatFieldProblem);
}

it('accepts a pod of an API server as it is, and marks its source', () => {
  const token = { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } };
  const volumes = [
    { name: 'kube-api-access', projected: { defaultMode: 420, sources: [token] } },
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'cache', ephemeral: { volumeClaimTemplate: { spec: {} } } },
  ];
  const value = podOf({ volumes, overhead: { cpu: '250m' } }, { annotations: { team: 'a' } });
  const { pod, problems, unknownFields } = readClusterPod(value);
  expect({ problems, unknownFields }).toEqual({ problems: [], unknownFields: 0 });
  expect(pod).toMatchObject({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: 'web-1', namespace: 'shop', uid: 'u1' },
    spec: {
      ...{ nodeName: 'node1', serviceAccountName: 'builder', enableServiceLinks: true },
      overhead: { cpu: '250m' },
      volumes: [...volumes.slice(0, 2), { name: 'cache', ephemeral: {} }],
    },
  });
  expect(pod!.metadata.annotations).toEqual({ team: 'a', 'kubernetes.io/config.source': 'api' });
});

it('does not let a pod claim another source', () => {
  const { pod } = readClusterPod(podOf({}, { annotations: { 'kubernetes.io/config.source': 'file' } }));
  expect(pod!.metadata.annotations).toEqual({ 'kubernetes.io/config.source': 'api' });
});

it('recognizes that a pod has to end', () => {
  const { pod } = readClusterPod(
    podOf({}, { deletionTimestamp: '2026-11-22T00:01:00Z', deletionGracePeriodSeconds: 0 }),
  );
  expect(pod!.metadata).toMatchObject({
    ...{ deletionTimestamp: '2026-11-22T00:01:00Z', deletionGracePeriodSeconds: 0 },
  });
});

it('skips and counts unknown fields', () => {
  const { pod, problems, unknownFields } = readClusterPod(podOf({ novelty: { a: 1 } }, { other: 1 }));
  expect({ problems, unknownFields }).toEqual({ problems: [], unknownFields: 2 });
  expect(pod!.spec).not.toHaveProperty('novelty');
});

it('skips and counts unknown values of fields that it does not read', () => {
  const spec = {
    tolerations: [{ key: 'later', operator: 'Resembles', effect: 'NoAdmit', tolerationSeconds: '3' }],
    preemptionPolicy: 'AskFirst',
    topologySpreadConstraints: [{ whenUnsatisfiable: 'Wait' }],
    affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: 'none' } },
  };
  const { pod, problems, unknownFields } = readClusterPod(podOf(spec));
  expect({ problems, unknownFields }).toEqual({ problems: [], unknownFields: 8 });
  expect(pod!.spec).toMatchObject({ nodeName: 'node1', affinity: {} });
  expect(problemsOf(podOf({ restartPolicy: 'Sometimes' }))).toHaveLength(1);
});

it('preserves volumes that are unsupported here, so that the pod waits for them', () => {
  const volumes = [{ name: 'shared', nfs: { server: 's', path: '/' } }];
  expect(readClusterPod(podOf({ volumes }))).toMatchObject({ problems: [], pod: { spec: { volumes } } });
});

it('reports what it cannot provide, and still identifies the pod', () => {
  const value = podOf({
    os: { name: 'windows' },
    resourceClaims: [{ name: 'gpu' }],
    volumes: [{ name: 'new' }],
  });
  expect(problemsOf(value)).toEqual([
    'spec.os.name: "windows" is not supported: podloop runs Linux containers',
    'spec.resourceClaims: not supported; mount what the node has with hostPath; devices need a privileged container',
    'spec.volumes[0]: not supported; volumes of its kind are not known here',
  ]);
  expect(readClusterPod(value).pod).toMatchObject({ metadata: { uid: 'u1' } });
});

it.each([undefined, null, 'pod', [], {}, { metadata: { name: 'x' } }, podOf({ containers: 'none' })])(
  'makes no pod of %j',
  (value) => {
    const { pod, problems } = readClusterPod(value);
    expect(pod).toBeUndefined();
    expect(problems).not.toEqual([]);
  },
);
