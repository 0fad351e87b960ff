import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { readPod } from '#kube/pod/read-pod.js';
import { STATIC_POD_ANNOTATIONS, toStaticPod } from '#kube/pod/static-pod.js';
import { type NamedApiPod } from './api-pod.js';
import { isKubeletsMirrorOf } from './kubelets-mirror.js';

const UID = '8b1c0f7a2f0d4ee0a6f2b3f5a1c2d3e4';

/** As kubeadm writes it, with a bit more. */
const manifest = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'etcd',
    namespace: 'kube-system',
    creationTimestamp: null,
    labels: { component: 'etcd', tier: 'control-plane' },
    annotations: { 'kubeadm.kubernetes.io/etcd.advertise-client-urls': 'https://10.0.0.1:2379' },
  },
  spec: {
    containers: [
      {
        name: 'etcd',
        image: 'registry.k8s.io/etcd:3.6.5-0',
        imagePullPolicy: 'IfNotPresent',
        command: ['etcd', '--name=here'],
        env: [{ name: 'PROCS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }],
        resources: { requests: { cpu: '100m', memory: '100Mi' }, limits: { memory: '1024Mi' } },
        ports: [{ name: 'probe-port', containerPort: 2381 }],
        readinessProbe: {
          initialDelaySeconds: 0,
          httpGet: { host: '127.0.0.1', path: '/readyz', port: 'probe-port' },
        },
        volumeMounts: [{ mountPath: '/var/lib/etcd', name: 'data', readOnly: false }],
      },
    ],
    hostNetwork: true,
    priority: 2_000_001_000,
    priorityClassName: 'system-node-critical',
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    volumes: [{ name: 'data', hostPath: { path: '/var/lib/etcd', type: 'DirectoryOrCreate' } }],
  },
  status: {},
};

/** What an API server makes of it when a kubelet sends it. */
function aMirror(uid = UID): NamedApiPod {
  const { metadata, spec } = manifest;
  const [container] = spec.containers;
  return {
    metadata: {
      ...{ name: 'etcd-here', namespace: metadata.namespace, uid: 'of-the-api-server', generation: 1 },
      ...{ resourceVersion: '7', creationTimestamp: '2026-01-02T03:04:05Z', labels: metadata.labels },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'here', uid: 'node-uid', controller: true }],
      annotations: {
        ...metadata.annotations,
        'kubernetes.io/config.hash': uid,
        'kubernetes.io/config.mirror': uid,
        'kubernetes.io/config.seen': '2026-01-02T03:04:04.123456789Z',
        'kubernetes.io/config.source': 'file',
      },
    },
    spec: {
      ...{ ...spec, nodeName: 'here', dnsPolicy: 'ClusterFirst', restartPolicy: 'Always' },
      ...{ enableServiceLinks: true, preemptionPolicy: 'PreemptLowerPriority', schedulerName: 'default' },
      ...{ terminationGracePeriodSeconds: 30, tolerations: [{ effect: 'NoExecute', operator: 'Exists' }] },
      containers: [
        {
          ...container,
          env: [{ name: 'PROCS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } } }],
          ports: [{ name: 'probe-port', containerPort: 2381, hostPort: 2381, protocol: 'TCP' }],
          resizePolicy: [
            { resourceName: 'cpu', restartPolicy: 'NotRequired' },
            { resourceName: 'memory', restartPolicy: 'NotRequired' },
          ],
          resources: { limits: { memory: '1Gi' }, requests: { cpu: '100m', memory: '100Mi' } },
          readinessProbe: {
            httpGet: { host: '127.0.0.1', path: '/readyz', port: 'probe-port', scheme: 'HTTP' },
            ...{ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
          },
          volumeMounts: [{ mountPath: '/var/lib/etcd', name: 'data' }],
          ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
        },
      ],
    },
    status: { phase: 'Running' },
  } as NamedApiPod;
}

/** Our static pod of a manifest, as it is handed on once a kubelet's was adopted. */
function adopted(written: object, uid = UID): NodePod {
  const { pod: read, problems } = readPod(written);
  expect(problems).toEqual([]);
  const { pod } = toStaticPod(read!, { source: 'file', nodeName: 'here' });
  const annotations = { ...pod.metadata.annotations, [STATIC_POD_ANNOTATIONS.uid]: uid };
  return { ...pod, metadata: { ...pod.metadata, uid, manifestUid: pod.metadata.uid, annotations } };
}

/** The manifest with another metadata, spec or first container. */
function edited(edit: { metadata?: object; spec?: object; container?: object }): object {
  const { metadata, spec } = manifest;
  const containers = [{ ...spec.containers[0], ...edit.container }];
  return {
    ...manifest,
    metadata: { ...metadata, ...edit.metadata },
    spec: { ...spec, containers, ...edit.spec },
  };
}

describe('a mirror pod that a kubelet left', () => {
  it('is as good as ours where the static pod was adopted and says what it said', () => {
    expect(isKubeletsMirrorOf(aMirror(), adopted(manifest))).toBe(true);
  });

  it('is not that of a static pod that was not adopted', () => {
    expect(isKubeletsMirrorOf(aMirror(), adopted(manifest, 'ours'))).toBe(false);
    const mirror = aMirror();
    const annotations = { ...mirror.metadata.annotations, 'kubernetes.io/config.hash': 'ours' };
    const other = { ...mirror, metadata: { ...mirror.metadata, annotations } };
    expect(isKubeletsMirrorOf(other, adopted(manifest, 'ours'))).toBe(false);
  });

  it('is not one that podloop has made', () => {
    const mirror = aMirror();
    const annotations = { ...mirror.metadata.annotations, [STATIC_POD_ANNOTATIONS.manifestHash]: 'before' };
    const ours = { ...mirror, metadata: { ...mirror.metadata, annotations } };
    expect(isKubeletsMirrorOf(ours, adopted(manifest))).toBe(false);
  });

  it.each<[string, Parameters<typeof edited>[0]]>([
    ['image', { container: { image: 'registry.k8s.io/etcd:3.6.6-0' } }],
    ['arguments', { container: { command: ['etcd', '--name=there'] } }],
    ['resources', { container: { resources: { requests: { cpu: '200m' } } } }],
    [
      'resize policy',
      { container: { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] } },
    ],
    [
      'way to mount',
      { container: { volumeMounts: [{ mountPath: '/var/lib/etcd', name: 'data', readOnly: true }] } },
    ],
    ['environment', { container: { env: [] } }],
    ['probe', { container: { readinessProbe: undefined } }],
    [
      'delay of a probe',
      {
        container: {
          readinessProbe: {
            initialDelaySeconds: 3,
            httpGet: { host: '127.0.0.1', path: '/readyz', port: 'probe-port' },
          },
        },
      },
    ],
    ['labels', { metadata: { labels: { component: 'etcd' } } }],
    ['annotations', { metadata: { annotations: {} } }],
    ['network', { spec: { hostNetwork: false } }],
    ['priority', { spec: { priority: undefined, priorityClassName: undefined } }],
    ['class', { spec: { priority: undefined, priorityClassName: 'system-cluster-critical' } }],
    ['security', { spec: { securityContext: {} } }],
    ['volumes', { spec: { volumes: [{ name: 'data', emptyDir: {} }] } }],
    ['init containers', { spec: { initContainers: [{ name: 'first', image: 'busybox:1' }] } }],
    ['time to end', { spec: { terminationGracePeriodSeconds: 5 } }],
    ['toleration', { spec: { tolerations: [{ key: 'disk', operator: 'Exists' }] } }],
  ])('is out of date once the manifest says another %s', (_, edit) => {
    expect(isKubeletsMirrorOf(aMirror(), adopted(edited(edit)))).toBe(false);
  });

  it('is the same however what is done anyway was written', () => {
    const container = { terminationMessagePolicy: 'File', tty: false, stdin: false };
    const spec = { dnsPolicy: 'ClusterFirst', hostPID: false, priority: undefined };
    expect(isKubeletsMirrorOf(aMirror(), adopted(edited({ container, spec })))).toBe(true);
  });

  it('tolerates what the manifest says, and whatever drives pods off', () => {
    const tolerations = [{ key: 'disk', value: 'slow', effect: 'NoSchedule' }];
    const pod = adopted(edited({ spec: { tolerations } }));
    const mirror = aMirror();
    const own = { operator: 'Exists', effect: 'NoExecute' };
    const spec = { ...mirror.spec, tolerations: [...tolerations, own] };
    expect(isKubeletsMirrorOf({ ...mirror, spec }, pod)).toBe(true);
    expect(isKubeletsMirrorOf(mirror, pod)).toBe(false);
  });

  it('has the number of a class that the API server alone knows', () => {
    const mirror = aMirror();
    const spec = { ...mirror.spec, priority: 7, priorityClassName: 'mine' };
    const pod = adopted(edited({ spec: { priority: undefined, priorityClassName: 'mine' } }));
    expect(isKubeletsMirrorOf({ ...mirror, spec }, pod)).toBe(true);
    expect(isKubeletsMirrorOf(mirror, pod)).toBe(false);
  });

  it.each<[string, object]>([
    ['asks for what no manifest may', { serviceAccountName: 'somebody' }],
    ['has a field that is not known', { laterField: true }],
    ['has something of another type', { containers: 'none' }],
  ])('is made anew when it %s', (_, more) => {
    const mirror = aMirror();
    expect(isKubeletsMirrorOf({ ...mirror, spec: { ...mirror.spec, ...more } }, adopted(manifest))).toBe(
      false,
    );
  });
});
