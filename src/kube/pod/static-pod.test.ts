import { describe, expect, it } from 'vitest';
import { type Pod, type PodSpec } from './pod.js';
import { applyPodDefaults } from './pod-defaults.js';
import { PLANNED_FIELDS } from './read-pod.js';
import { formatFieldProblem } from '../fields/field-problem.js';
import { checkStaticPod, hashPod, staticPodUid, toStaticPod } from './static-pod.js';

const POD: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', labels: { b: '1', a: '2' } },
  spec: { containers: [{ name: 'main', image: 'nginx:1.27' }] },
};
const ORIGIN = { source: 'file', nodeName: 'Node-1' };

describe('the defaults of a pod', () => {
  it('are Kubernetes’', () => {
    const pod: Pod = {
      ...POD,
      spec: {
        containers: [
          {
            ...{ name: 'main', image: 'nginx' },
            ports: [{ containerPort: 80 }],
            resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } },
            livenessProbe: { httpGet: { port: 80 } },
            readinessProbe: { grpc: { port: 1 }, periodSeconds: 3 },
          },
        ],
      },
    };
    expect(applyPodDefaults(pod)).toEqual({
      ...pod,
      metadata: { ...pod.metadata, namespace: 'default' },
      spec: {
        ...{ restartPolicy: 'Always', terminationGracePeriodSeconds: 30, dnsPolicy: 'ClusterFirst' },
        enableServiceLinks: true,
        containers: [
          {
            ...{ name: 'main', image: 'nginx', imagePullPolicy: 'Always' },
            ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            resources: {
              limits: { cpu: '1', memory: '1Gi' },
              requests: { cpu: '500m', memory: '1Gi' },
            },
            livenessProbe: {
              httpGet: { port: 80, path: '/', scheme: 'HTTP' },
              ...{ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
            },
            readinessProbe: {
              grpc: { port: 1, service: '' },
              ...{ timeoutSeconds: 1, periodSeconds: 3, successThreshold: 1, failureThreshold: 3 },
            },
          },
        ],
      },
    });
  });

  it('include the number of Kubernetes’ own priority classes, and of no other', () => {
    const priorityOf = (spec: Partial<PodSpec>): number | undefined =>
      applyPodDefaults({
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
        spec: { containers: [{ name: 'a', image: 'x:1' }], ...spec },
      }).spec.priority;
    expect(priorityOf({ priorityClassName: 'system-node-critical' })).toBe(2_000_001_000);
    expect(priorityOf({ priorityClassName: 'system-cluster-critical' })).toBe(2_000_000_000);
    expect(priorityOf({ priorityClassName: 'mine', priority: 7 })).toBe(7);
    expect(priorityOf({ priorityClassName: 'mine' })).toBeUndefined();
  });

  it.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['registry:5000/nginx', 'Always'],
    ['registry:5000/nginx:1', 'IfNotPresent'],
    [`nginx@sha256:${'0'.repeat(64)}`, 'IfNotPresent'],
    [`nginx:latest@sha256:${'0'.repeat(64)}`, 'Always'],
  ])('set the pull policy of %s to %s', (image, policy) => {
    const pod: Pod = {
      ...POD,
      spec: { containers: [{ name: 'a', image }], initContainers: [{ name: 'b', image }] },
    };
    const { containers, initContainers } = applyPodDefaults(pod).spec;
    expect([...containers, ...initContainers!].map(({ imagePullPolicy }) => imagePullPolicy)).toEqual([
      policy,
      policy,
    ]);
  });

  it('set ports of the node on its network, and give a folder to a volume without a source', () => {
    const pod: Pod = {
      ...POD,
      spec: {
        hostNetwork: true,
        volumes: [
          { name: 'v' },
          { name: 'h', hostPath: { path: '/x' } },
          { name: 'c', configMap: { name: 'c' } },
        ],
        containers: [{ name: 'a', image: 'x:1', ports: [{ containerPort: 80 }] }],
      },
    };
    const { spec } = applyPodDefaults(pod, PLANNED_FIELDS);
    expect(spec.containers[0]!.ports).toEqual([{ containerPort: 80, hostPort: 80, protocol: 'TCP' }]);
    expect(spec.volumes).toEqual([
      { name: 'v', emptyDir: {} },
      { name: 'h', hostPath: { path: '/x', type: '' } },
      { name: 'c', configMap: { name: 'c', defaultMode: 0o644 } },
    ]);
  });

  it('change nothing when they are applied again', () => {
    const once = applyPodDefaults(POD);
    expect(applyPodDefaults(once)).toEqual(once);
  });
});

describe('a static pod', () => {
  it('belongs to its node, by name and by identity', () => {
    const { pod, hash } = toStaticPod(POD, ORIGIN);
    const uid = staticPodUid({
      ...{ source: 'file', namespace: 'default', name: 'web-node-1', nodeName: 'Node-1' },
    });
    expect(pod.metadata).toEqual({
      ...{ name: 'web-node-1', namespace: 'default', labels: { b: '1', a: '2' }, uid },
      annotations: {
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.hash': uid,
        'podloop.dev/manifest-hash': hash,
      },
    });
    expect(pod.metadata.uid).toMatch(/^[0-9a-f]{32}$/);
    expect(pod.spec.nodeName).toBe('Node-1');
    expect(pod.spec.restartPolicy).toBe('Always');
  });

  it('has the same identity after an edit, and the uid that it was given', () => {
    const edited: Pod = { ...POD, spec: { containers: [{ name: 'main', image: 'nginx:1.28' }] } };
    const [one, other] = [toStaticPod(POD, ORIGIN), toStaticPod(edited, ORIGIN)];
    expect(other.pod.metadata.uid).toBe(one.pod.metadata.uid);
    expect(other.hash).not.toBe(one.hash);
    const own: Pod = { ...POD, metadata: { ...POD.metadata, uid: 'mine' } };
    expect(toStaticPod(own, ORIGIN).pod.metadata.uid).toBe('mine');
  });

  it('is a different one through another source, on another node, or under another name', () => {
    const uids = [
      toStaticPod(POD, ORIGIN),
      toStaticPod(POD, { ...ORIGIN, source: 'http' }),
      toStaticPod(POD, { ...ORIGIN, nodeName: 'node-2' }),
      toStaticPod({ ...POD, metadata: { name: 'web', namespace: 'other' } }, ORIGIN),
      toStaticPod({ ...POD, metadata: { name: 'web2' } }, ORIGIN),
    ].map(({ pod }) => pod.metadata.uid);
    expect(new Set(uids).size).toBe(5);
  });

  it('has the same hash and uid in every version of podloop', () => {
    // A different value here means that an update of podloop restarts every pod.
    expect(hashPod(POD)).toBe('9613826b7137aa62dcf8f48b76e72fd5');
    expect(toStaticPod(POD, ORIGIN).pod.metadata.uid).toBe('10de24a10aa33cceddbd94a35eea01ff');
  });

  it('has a hash that the order of keys and written defaults do not change, and the order of lists does', () => {
    const reordered: Pod = { ...POD, metadata: { labels: { a: '2', b: '1' }, name: 'web' } };
    expect(hashPod(reordered)).toBe(hashPod(POD));
    const verbose: Pod = {
      ...POD,
      spec: { ...POD.spec, restartPolicy: 'Always', hostPID: false, volumes: [] },
    };
    expect(hashPod(verbose)).toBe(hashPod(POD));
    expect(hashPod({ ...POD, spec: { ...POD.spec, restartPolicy: 'Never' } })).not.toBe(hashPod(POD));
    const args = (...words: string[]): string =>
      hashPod({ ...POD, spec: { containers: [{ name: 'a', image: 'b', args: words }] } });
    expect(args('a', 'b')).not.toBe(args('b', 'a'));
  });

  it('must not have a name that makes the folder of its logs too long, with those of node and namespace, and the uid', () => {
    const check = (length: number, more: Partial<Pod['metadata']> = {}, node = 'Node-1'): string[] =>
      checkStaticPod({ ...POD, metadata: { name: 'a'.repeat(length), ...more } }, node).map(
        formatFieldProblem,
      );
    // 255 less "default_", "-node-1_" and the uid's 32.
    expect(check(207)).toEqual([]);
    expect(check(208)).toEqual([
      expect.stringMatching(
        /^metadata\.name: Invalid value: "a+…?: must have at most 207 characters, and has 208: the folder of its logs is default_NAME-node-1_UID, with 32 characters of uid, and its name has at most 255$/,
      ),
    ]);
    expect(check(210, { namespace: 'kube' })).toEqual([]);
    expect(check(211, { namespace: 'kube' })[0]).toContain('must have at most 210 characters');
    expect(check(111, { uid: 'u'.repeat(128) })).toEqual([]);
    expect(check(112, { uid: 'u'.repeat(128) })[0]).toContain('with 128 characters of uid');
    const crowded = { namespace: 'n'.repeat(63), uid: 'u'.repeat(128) };
    expect(check(1, crowded, 'k'.repeat(60))).toEqual([]);
    expect(check(1, crowded, 'k'.repeat(61))[0]).toContain(
      'no name is short enough: the folder of its logs is n',
    );
  });

  it('has a log folder whose name is never longer than the limit that its own name is checked for', () => {
    const longest: Pod = { ...POD, metadata: { name: 'a'.repeat(207) } };
    expect(checkStaticPod(longest, 'node-1')).toEqual([]);
    const { namespace, name, uid } = toStaticPod(longest, ORIGIN).pod.metadata;
    expect(`${namespace}_${name}_${uid}`).toHaveLength(255);
  });
});
