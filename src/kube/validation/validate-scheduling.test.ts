import { describe, expect, it } from 'vitest';
import { formatFieldPath } from '../fields/field-path.js';
import { readPod } from '../pod/read-pod.js';

const pathsOf = (spec: object, metadata: object = {}): string[] =>
  readPod({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', ...metadata } },
    spec: { containers: [{ name: 'a', image: 'a' }], ...spec },
  }).problems.map(({ path }) => formatFieldPath(path));
const node = (term: object) => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
  },
});
const pods = (term: object) => ({
  affinity: {
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z', ...term }] },
  },
});
const spread = (more: object) => ({
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule', ...more }],
});
const NODE = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]';
const PODS = 'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]';
const SPREAD = 'spec.topologySpreadConstraints[0]';

describe('scheduling fields are rejected as by an API server', () => {
  it.each([
    [{ nodeSelector: { 'a b': 'x' } }, 'spec.nodeSelector[a b]'],
    [{ nodeSelector: { a: 'x y' } }, 'spec.nodeSelector[a]'],
    [{ nodeName: 'A_b' }, 'spec.nodeName'],
    [{ tolerations: [{}] }, 'spec.tolerations[0].operator'],
    [{ tolerations: [{ key: 'a', operator: 'Gt', value: '1' }] }, 'spec.tolerations[0].operator'],
    [{ tolerations: [{ key: 'a', operator: 'Exists', value: '1' }] }, 'spec.tolerations[0].operator'],
    [{ tolerations: [{ key: 'a', tolerationSeconds: 1 }] }, 'spec.tolerations[0].effect'],
    [{ tolerations: [{ key: 'a', value: 'x y' }] }, 'spec.tolerations[0].value'],
    [
      node({ matchExpressions: [{ key: 'a', operator: 'Is', values: ['b'] }] }),
      `${NODE}.matchExpressions[0].operator`,
    ],
    [node({ matchExpressions: [{ key: 'a', operator: 'In' }] }), `${NODE}.matchExpressions[0].values`],
    [
      node({ matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] }),
      `${NODE}.matchExpressions[0].values`,
    ],
    [
      node({ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1', '2'] }] }),
      `${NODE}.matchExpressions[0].values`,
    ],
    [
      node({ matchFields: [{ key: 'metadata.uid', operator: 'In', values: ['b'] }] }),
      `${NODE}.matchFields[0].key`,
    ],
    [
      node({ matchFields: [{ key: 'metadata.name', operator: 'Exists' }] }),
      `${NODE}.matchFields[0].operator`,
    ],
    [pods({ namespaces: ['a.b'] }), `${PODS}.namespaces[0]`],
    [pods({ topologyKey: 'a b' }), `${PODS}.topologyKey`],
    [pods({ matchLabelKeys: ['a'] }), `${PODS}.matchLabelKeys`],
    [pods({ labelSelector: { matchLabels: { a: 'x y' } } }), `${PODS}.labelSelector.matchLabels[a]`],
    [
      pods({ labelSelector: {}, matchLabelKeys: ['a'], mismatchLabelKeys: ['a'] }),
      `${PODS}.matchLabelKeys[0]`,
    ],
    [spread({ maxSkew: 0 }), `${SPREAD}.maxSkew`],
    [spread({ minDomains: 2, whenUnsatisfiable: 'ScheduleAnyway' }), `${SPREAD}.minDomains`],
    [spread({ nodeTaintsPolicy: '' }), `${SPREAD}.nodeTaintsPolicy`],
  ])('%j', (spec, path) => {
    expect(pathsOf(spec)).toEqual([path]);
  });

  it('and valid ones are accepted', () => {
    expect(
      pathsOf({
        ...node({ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] }),
        ...spread({ minDomains: 2, labelSelector: { matchLabels: { a: '' } }, matchLabelKeys: ['b'] }),
        tolerations: [{ operator: 'Exists' }, { key: 'a', value: '' }],
      }),
    ).toEqual([]);
  });
});

describe('annotations that an API server interprets', () => {
  it.each([
    ['container.apparmor.security.beta.kubernetes.io/nope', 'unconfined'],
    ['container.apparmor.security.beta.kubernetes.io/a', 'mine'],
    ['seccomp.security.alpha.kubernetes.io/pod', 'mine'],
    ['container.seccomp.security.alpha.kubernetes.io/a', 'localhost/../x'],
    ['controller.kubernetes.io/pod-deletion-cost', '08'],
    ['kubernetes.io/config.mirror', 'x'],
    ['scheduler.alpha.kubernetes.io/tolerations', '{'],
    ['scheduler.alpha.kubernetes.io/tolerations', '[{"key": "a b", "operator": "Exists"}]'],
  ])('are validated by its rules: %s: %s', (key, value) => {
    expect(pathsOf({}, { annotations: { [key]: value } })).toEqual([`metadata.annotations[${key}]`]);
  });

  it.each([
    ['localhost/deny-write', { type: 'Localhost', localhostProfile: 'deny-write' }],
    ['runtime/default', { type: 'RuntimeDefault' }],
    ['unconfined', { type: 'Unconfined' }],
    ['localhost/', undefined],
    ['', undefined],
  ])('become the AppArmor profile of their container: %j', (annotation, appArmorProfile) => {
    const { pod } = readPod({
      ...{
        apiVersion: 'v1',
        kind: 'Pod',
        spec: {
          containers: [
            { name: 'a', image: 'a' },
            { name: 'b', image: 'b' },
          ],
        },
      },
      metadata: {
        name: 'a',
        annotations: { 'container.apparmor.security.beta.kubernetes.io/a': annotation },
      },
    });
    expect(pod!.spec.containers.map(({ securityContext }) => securityContext?.appArmorProfile)).toEqual([
      appArmorProfile,
      undefined,
    ]);
  });

  it('and fields that contradict them are rejected', () => {
    const fields = { appArmorProfile: { type: 'Unconfined' }, seccompProfile: { type: 'RuntimeDefault' } };
    const annotations = {
      'container.apparmor.security.beta.kubernetes.io/a': 'runtime/default',
      'container.seccomp.security.alpha.kubernetes.io/a': 'unconfined',
    };
    const spec = { containers: [{ name: 'a', image: 'a', securityContext: fields }] };
    expect(pathsOf(spec, { annotations })).toEqual([
      'spec.containers[0].securityContext.seccompProfile.type',
      'spec.containers[0].securityContext.appArmorProfile.type',
    ]);
  });
});

describe('a pod is rejected, or accepted, as by an API server', () => {
  const withContainer = (fields: object): object => ({ containers: [{ name: 'a', image: 'a', ...fields }] });
  const C = 'spec.containers[0]';
  it.each([
    [
      { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] } },
      'spec.securityContext.sysctls[0].name',
    ],
    [
      { hostIPC: true, securityContext: { sysctls: [{ name: 'kernel/shmmax', value: '1' }] } },
      'spec.securityContext.sysctls[0].name',
    ],
    [{ hostAliases: [{ ip: '::ffff:1.2.3.4' }] }, 'spec.hostAliases[0].ip'],
    [{ dnsConfig: { nameservers: ['::ffff:102:304'] } }, 'spec.dnsConfig.nameservers[0]'],
    [{ runtimeClassName: '' }, 'spec.runtimeClassName'],
    [{ securityContext: { fsGroupChangePolicy: '' } }, 'spec.securityContext.fsGroupChangePolicy'],
    [
      { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: ' x' } } },
      'spec.securityContext.appArmorProfile.localhostProfile',
    ],
    [
      withContainer({ resources: { limits: { 'hugepages-2Mi': '3Mi', cpu: 1 } } }),
      `${C}.resources.limits[hugepages-2Mi]`,
    ],
    [withContainer({ image: ' a' }), `${C}.image`],
    [
      withContainer({ livenessProbe: { httpGet: { port: 1, httpHeaders: [{ name: 'a_b', value: '' }] } } }),
      `${C}.livenessProbe.httpGet.httpHeaders[0].name`,
    ],
    [{ schedulingGates: '' }, 'spec.schedulingGates'],
    [{ schedulingGates: [{}] }, 'spec.schedulingGates[0].name'],
    [{ schedulingGates: [{ name: 'a/b/c' }] }, 'spec.schedulingGates[0]'],
    [{ schedulingGates: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] }, 'spec.schedulingGates[2]'],
    [{ schedulingGates: [{ name: 'a' }], nodeName: 'n1' }, 'spec.nodeName'],
  ])('for %j', (spec, path) => {
    expect(pathsOf(spec)).toEqual([path]);
  });

  it.each([
    ['status', { status: [] }],
    ['status.phase', { status: { phase: 1 } }],
    ['metadata.ownerReferences', { metadata: { name: 'a', ownerReferences: {} } }],
    [
      'metadata.managedFields[0].x',
      { metadata: { name: 'a', managedFields: [{ operation: 'Apply', x: 1 }] } },
    ],
    ['metadata.creationTimestamp', { metadata: { name: 'a', creationTimestamp: '2026-02-30T00:00:00Z' } }],
  ])('for its %s', (path, more) => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: withContainer({}) };
    expect(readPod({ ...pod, ...more }).problems.map((problem) => formatFieldPath(problem.path))).toEqual([
      path,
    ]);
  });

  it('with an empty preference', () => {
    const term = { weight: 1 };
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [term] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } };
    expect(readPod({ ...pod, spec: { ...withContainer({}), affinity: { nodeAffinity } } }).problems).toEqual(
      [],
    );
  });

  it('with entries without a value, and with references to pull secrets without a name', () => {
    const { pod, problems } = readPod({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { name: 'a', labels: { a: null }, annotations: { b: null } },
      spec: {
        ...{ nodeSelector: { c: null }, imagePullSecrets: [{ name: '' }, {}, { name: 'x' }] },
        containers: [{ name: 'a', image: 'a', resources: { limits: { memory: null } } }],
      },
    });
    expect(problems).toEqual([]);
    expect(pod!.metadata).toEqual({ name: 'a', labels: { a: '' }, annotations: { b: '' } });
    expect(pod!.spec).toMatchObject({ nodeSelector: { c: '' }, imagePullSecrets: [{ name: 'x' }] });
    expect(pod!.spec.containers[0]!.resources).toEqual({ limits: { memory: '0' } });
  });
});
