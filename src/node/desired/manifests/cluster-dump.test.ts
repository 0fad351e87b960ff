import { describe, expect, it } from 'vitest';
import { readManifests } from './manifest-reader.js';
import { toSourcePod } from './source-pod.js';

const TOKEN = {
  name: 'kube-api-access-x7k2p',
  projected: {
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
  },
};
const MOUNT = {
  name: TOKEN.name,
  mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  readOnly: true,
};
const DATA = { name: 'data', emptyDir: {} };
const container = (name: string, mounts: object[]) => ({
  ...{ name, image: 'nginx:1.27', imagePullPolicy: 'IfNotPresent', resources: {}, volumeMounts: mounts },
  ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
});

/** As kubectl prints a pod of a ReplicaSet. */
const dump = (more: object = {}, volumes: object[] = [DATA, TOKEN]) => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: {
    ...{ name: 'web-5d9-abcde', generateName: 'web-5d9-', namespace: 'default', uid: 'a-b-c' },
    ...{ resourceVersion: '812', creationTimestamp: '2026-11-28T10:00:00Z' },
    labels: { app: 'web', 'pod-template-hash': '5d9' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5d9', uid: 'u', controller: true },
    ],
    managedFields: [
      {
        manager: 'kubelet',
        operation: 'Update',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:status': {} },
      },
    ],
  },
  spec: {
    containers: [container('a', [{ name: 'data', mountPath: '/data' }, MOUNT])],
    initContainers: [container('b', [MOUNT])],
    ...{
      dnsPolicy: 'ClusterFirst',
      enableServiceLinks: true,
      nodeName: 'node-1',
      preemptionPolicy: 'PreemptLowerPriority',
    },
    ...{ priority: 0, restartPolicy: 'Always', schedulerName: 'default-scheduler', securityContext: {} },
    ...{ serviceAccount: 'default', serviceAccountName: 'default', terminationGracePeriodSeconds: 30 },
    tolerations: [
      {
        effect: 'NoExecute',
        key: 'node.kubernetes.io/not-ready',
        operator: 'Exists',
        tolerationSeconds: 300,
      },
    ],
    volumes,
    ...more,
  },
  status: {
    ...{ phase: 'Running', podIP: '10.0.0.3', podIPs: [{ ip: '10.0.0.3' }], qosClass: 'BestEffort' },
    conditions: [
      { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-11-28T10:00:01Z' },
    ],
    containerStatuses: [
      {
        name: 'a',
        image: 'nginx:1.27',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-11-28T10:00:01Z' } },
      },
    ],
  },
});
const read = (value: object) => readManifests(JSON.stringify(value), { file: 'pod.yaml' });

describe('a pod that was dumped from a cluster', () => {
  it('is the pod that somebody wrote, and says what is left out', () => {
    const { pods, problems } = read(dump());
    expect(problems).toEqual([]);
    const [{ pod, leftOut }] = pods as [(typeof pods)[0]];
    expect(pod.metadata).toEqual({
      name: 'web-5d9-abcde',
      namespace: 'default',
      labels: { app: 'web', 'pod-template-hash': '5d9' },
    });
    expect(pod.spec.serviceAccountName).toBe('default');
    expect(pod.spec.volumes).toEqual([DATA]);
    expect(pod.spec.containers[0]!.volumeMounts).toEqual([{ name: 'data', mountPath: '/data' }]);
    expect(pod.spec.initContainers![0]!.volumeMounts).toEqual([]);
    expect(leftOut).toEqual([
      ...['metadata.generateName', 'metadata.uid'],
      'the volume kube-api-access-x7k2p and its mounts',
    ]);
  });

  it('leaves out the finalizer of a Job, and only of a pod that was on an API server', () => {
    const { metadata, ...job } = dump();
    const finalizers = ['batch.kubernetes.io/job-tracking'];
    const { pods, problems } = read({ ...job, metadata: { ...metadata, finalizers } });
    expect(problems).toEqual([]);
    expect(pods[0]!.leftOut).toContain('metadata.finalizers');
    const own = read({ ...job, metadata: { name: 'own', finalizers } });
    expect(own.problems.map(({ path }) => path)).toEqual(['metadata.finalizers']);
  });

  describe('with what its cluster had added', () => {
    const tokenOf = (name: string) => ({
      name,
      projected: {
        sources: [{ serviceAccountToken: { audience: 'cloud', expirationSeconds: 86_400, path: 'token' } }],
      },
    });
    const added: Readonly<Record<string, unknown>> = {
      overhead: { cpu: '250m', memory: '120Mi' },
      readinessGates: [{ conditionType: 'target-health.elbv2.k8s.aws/web' }],
      automountServiceAccountToken: true,
    };
    const volumes = ['aws-iam-token', 'eks-pod-identity-token', 'azure-identity-token'];
    const names = [...Object.keys(added), ...volumes];

    it('is the pod without it, whatever of it is there', () => {
      const alone = names.map((name) => [name]);
      const others = names.map((name) => names.filter((other) => other !== name));
      for (const chosen of [[], names, ...alone, ...others]) {
        const tokens = volumes.filter((name) => chosen.includes(name));
        const fields = Object.entries(added).filter(([name]) => chosen.includes(name));
        const mounts = tokens.map((name) => ({ name, mountPath: `/var/run/secrets/${name}` }));
        const value = dump({ ...Object.fromEntries(fields), containers: [container('a', mounts)] }, [
          DATA,
          TOKEN,
          ...tokens.map(tokenOf),
        ]);
        const { pods, problems } = read(value);
        expect(problems).toEqual([]);
        const [{ pod, leftOut }] = pods as [(typeof pods)[0]];
        expect(pod.spec.volumes).toEqual([DATA]);
        expect(pod.spec.containers[0]!.volumeMounts).toEqual([]);
        for (const name of names) expect(leftOut.join().includes(name)).toBe(chosen.includes(name));
      }
    });

    it.each(names)('is refused for %s where somebody wrote the pod', (name) => {
      const { metadata: _metadata, ...own } = dump({ [name]: added[name] }, [
        DATA,
        ...(volumes.includes(name) ? [tokenOf(name)] : []),
      ]);
      const spec = { ...own.spec, containers: [container('a', [])], initContainers: [] };
      expect(read({ ...own, spec, metadata: { name: 'own' } }).problems.length).toBeGreaterThan(0);
    });
  });

  describe('before Kubernetes 1.24', () => {
    const old = (name: string, secretName = name) => ({ name, secret: { defaultMode: 420, secretName } });
    const withVolume = (volume: { name: string }, mountPath = MOUNT.mountPath) =>
      dump(
        { containers: [container('a', [{ ...MOUNT, name: volume.name, mountPath }])], initContainers: [] },
        [volume],
      );

    it('has a volume of the token’s Secret, which is left out', () => {
      const { pods, problems } = read(withVolume(old('default-token-x7k2p')));
      expect(problems).toEqual([]);
      expect(pods[0]!.pod.spec.volumes).toEqual([]);
      expect(pods[0]!.pod.spec.containers[0]!.volumeMounts).toEqual([]);
      expect(pods[0]!.leftOut).toContain('the volume default-token-x7k2p and its mounts');
    });

    it('has one of its own account’s Secret, which is left out as well', () => {
      const { spec, ...rest } = withVolume(old('builder-token-x7k2p'));
      const account = { serviceAccountName: 'builder', serviceAccount: 'builder' };
      const { pods, problems } = read({ ...rest, spec: { ...spec, ...account } });
      expect(problems).toEqual([]);
      expect(pods[0]!.pod.spec.volumes).toEqual([]);
      expect(pods[0]!.pod.spec.containers[0]!.volumeMounts).toEqual([]);
    });

    it.each([
      ['another account', withVolume(old('builder-token-x7k2p'))],
      ['another name', withVolume(old('default-token-mine'))],
      ['another Secret', withVolume(old('default-token-x7k2p', 'mine'))],
      ['another folder', withVolume(old('default-token-x7k2p'), '/token')],
    ])('keeps a volume of %s', (_what, value) => {
      expect(read(value).pods[0]!.pod.spec.volumes).toHaveLength(1);
    });
  });

  it.each([
    ['a token volume that somebody named', dump({}, [{ ...TOKEN, name: 'token' }]), /serviceAccountToken/],
  ])('is refused for %s', (_what, value, path) => {
    expect(
      read(value)
        .problems.map((problem) => problem.path)
        .join(),
    ).toMatch(path);
  });

  it('keeps the uid and is refused for generateName where somebody wrote them', () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'a', image: 'a' }] } };
    expect(read({ ...pod, metadata: { name: 'a', uid: 'mine' } }).pods[0]!.pod.metadata.uid).toBe('mine');
    expect(read({ ...pod, metadata: { generateName: 'a-' } }).problems.map(({ path }) => path)).toContain(
      'metadata.generateName',
    );
  });
});

describe('a pod that podloop has printed', () => {
  it.each(['n1', 'other-node'])('is the same pod again, read on any node and shown by %s', (nodeName) => {
    const written = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { containers: [{ name: 'a', image: 'a:1' }] },
    };
    const [first] = read(written).pods;
    const { pod: shown } = toSourcePod(first!, { source: 'file', nodeName });
    const { pods, problems } = read({ ...shown, status: { phase: 'Running' } });
    expect(problems).toEqual([]);
    expect(pods[0]!.pod.metadata).toEqual({ name: 'web', namespace: 'default' });
    const again = toSourcePod(pods[0]!, { source: 'file', nodeName });
    expect(again.pod.metadata.uid).toBe(shown.metadata.uid);
    expect(again.pod.metadata.name).toBe(`web-${nodeName}`);
  });
});
