import { describe, expect, it } from 'vitest';
import {
  type Json,
  at,
  CONTAINER,
  fromFile,
  podOf,
  probe,
  problemsOf,
  resources,
  volume,
  withContainer,
} from '#support/builders/written-pods.js';
import { PLANNED_FIELDS, readPod } from './read-pod.js';

describe('the account of a pod', () => {
  it.each([
    [{ serviceAccountName: 'builder' }, 'builder'],
    [{ serviceAccount: 'builder' }, 'builder'],
    [{ serviceAccountName: '', serviceAccount: 'builder' }, 'builder'],
    [{ serviceAccountName: 'builder', serviceAccount: 'other' }, 'builder'],
    [{ serviceAccountName: 'default', serviceAccount: 'default' }, 'default'],
    [{ serviceAccount: '' }, undefined],
  ])('is named by either field, the newer one first: %j', (fields, name) => {
    const { pod, problems } = readPod(podOf(fields));
    expect(problems).toEqual([]);
    expect(pod!.spec.serviceAccountName).toBe(name);
    expect(pod!.spec).not.toHaveProperty('serviceAccount');
  });

  it.each([{ serviceAccountName: 'A b' }, { serviceAccount: '/a' }, { serviceAccountName: 'a'.repeat(254) }])(
    'has the name of an object: %j',
    (fields) => {
      expect(problemsOf(podOf(fields))).toEqual([
        expect.stringMatching(/^spec\.serviceAccountName: Invalid value/),
      ]);
    },
  );
});

describe('a pod that is well formed', () => {
  it.each<[Json, string | RegExp]>([
    [podOf({}, { name: 'a..b' }), /^metadata\.name: Invalid value: "a\.\.b"/],
    [podOf({}, { name: 'a'.repeat(254) }), /^metadata\.name: Invalid value/],
    [podOf({}, { namespace: 'a.b' }), /^metadata\.namespace: Invalid value: "a\.b"/],
    [podOf({}, { uid: '../etc' }), /^metadata\.uid: Invalid value: "\.\.\/etc"/],
    [podOf({}, { labels: { a: 'b c' } }), /^metadata\.labels\[a\]: Invalid value: "b c"/],
    [podOf({}, { labels: { 'a/b/c': '' } }), /^metadata\.labels\[a\/b\/c\]: Invalid value/],
    [podOf({}, { annotations: { '-': 'x' } }), /^metadata\.annotations\[-\]: Invalid value/],
    [
      podOf({}, { annotations: { a: 'x'.repeat(300_000) } }),
      /^metadata\.annotations: Invalid value: "300001 bytes"/,
    ],
    [
      podOf({ activeDeadlineSeconds: 0 }),
      'spec.activeDeadlineSeconds: Invalid value: 0: must be from 1 to 2147483647',
    ],
    [
      podOf({ terminationGracePeriodSeconds: -1 }),
      'spec.terminationGracePeriodSeconds: Invalid value: -1: must be at least 0',
    ],
    [podOf({ containers: [CONTAINER, CONTAINER] }), 'spec.containers[1].name: Duplicate value: "main"'],
    [podOf({ initContainers: [CONTAINER] }), 'spec.initContainers[0].name: Duplicate value: "main"'],
    [
      podOf({ initContainers: [{ name: 'i', image: 'x', livenessProbe: { exec: { command: ['x'] } } }] }),
      /^spec\.initContainers\[0\]\.livenessProbe: Forbidden/,
    ],
    [
      withContainer({
        ports: [
          { containerPort: 1, name: 'a' },
          { containerPort: 2, name: 'a' },
        ],
      }),
      `${at}.ports[1].name: Duplicate value: "a"`,
    ],
    [withContainer({ ports: [{ containerPort: 1, name: '80' }] }), /ports\[0\]\.name: Invalid value: "80"/],
    [
      withContainer({ ports: [{ containerPort: 1, hostPort: -1 }] }),
      `${at}.ports[0].hostPort: Invalid value: -1: must be from 1 to 65535`,
    ],
    [
      withContainer({ ports: [{ containerPort: 1, hostIP: 'localhost' }] }),
      /hostIP: Invalid value: "localhost"/,
    ],
    [
      withContainer({
        ports: [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 2, hostPort: 9 },
        ],
      }),
      `${at}.ports[1].hostPort: Duplicate value: "TCP//9"`,
    ],
    [
      podOf({
        hostNetwork: true,
        containers: [{ ...CONTAINER, ports: [{ containerPort: 80, hostPort: 81 }] }],
      }),
      `${at}.ports[0].hostPort: Invalid value: 81: must be the containerPort (80) when hostNetwork is true`,
    ],
    [
      podOf({
        hostNetwork: true,
        containers: [
          { ...CONTAINER, ports: [{ containerPort: 80 }] },
          { name: 'b', image: 'x', ports: [{ containerPort: 80 }] },
        ],
      }),
      'spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"',
    ],
    [withContainer({ env: [{ name: 'a=b' }] }), /env\[0\]\.name: Invalid value: "a=b"/],
    [withContainer({ env: [{ name: 'A', value: 'a\0' }] }), /env\[0\]\.value: Invalid value/],
    [withContainer({ args: ['a\0'] }), /args\[0\]: Invalid value/],
    [
      probe({ httpGet: { port: 80 } }),
      `${at}.livenessProbe.httpGet: Forbidden: there is exec already; only one may be set`,
    ],
    [
      withContainer({ livenessProbe: {} }),
      `${at}.livenessProbe: Required value: must have one of exec, httpGet, tcpSocket or grpc`,
    ],
    [withContainer({ livenessProbe: { httpGet: { port: 0 } } }), /httpGet\.port: Invalid value: 0/],
    [
      withContainer({ livenessProbe: { httpGet: { port: 'UPPER' } } }),
      /httpGet\.port: Invalid value: "UPPER"/,
    ],
    [
      withContainer({ livenessProbe: { httpGet: { port: 1, httpHeaders: [{ name: 'a b', value: '' }] } } }),
      /httpHeaders\[0\]\.name: Invalid value: "a b"/,
    ],
    [
      withContainer({ livenessProbe: { tcpSocket: {} } }),
      `${at}.livenessProbe.tcpSocket.port: Required value`,
    ],
    [withContainer({ livenessProbe: { grpc: { port: 99999 } } }), /grpc\.port: Invalid value: 99999/],
    [
      withContainer({ livenessProbe: { exec: { command: [] } } }),
      `${at}.livenessProbe.exec.command: Required value`,
    ],
    [
      probe({ periodSeconds: -1 }),
      `${at}.livenessProbe.periodSeconds: Invalid value: -1: must be at least 0`,
    ],
    [
      probe({ successThreshold: 2 }),
      `${at}.livenessProbe.successThreshold: Invalid value: 2: must be 1 for a livenessProbe`,
    ],
    [
      probe({ terminationGracePeriodSeconds: 0 }),
      /terminationGracePeriodSeconds: Invalid value: 0: must be at least 1/,
    ],
    [
      withContainer({ readinessProbe: { exec: { command: ['x'] }, terminationGracePeriodSeconds: 3 } }),
      /must not be set for a readinessProbe/,
    ],
    [withContainer({ lifecycle: { preStop: {} } }), /preStop: Required value: must have one of/],
    [
      withContainer({ lifecycle: { preStop: { sleep: { seconds: 31 } } } }),
      /sleep\.seconds: Invalid value: 31: must be from 0 to terminationGracePeriodSeconds \(30\)/,
    ],
    [withContainer({ lifecycle: { stopSignal: 'TERM' } }), /stopSignal: Unsupported value: "TERM"/],
    [
      withContainer({ lifecycle: { stopSignal: 'SIGUSR1' } }),
      /lifecycle\.stopSignal: Forbidden: .* set spec\.os\.name to linux/,
    ],
    [
      podOf({ priorityClassName: 'system-node-critical', priority: 7 }),
      /^spec\.priority: Invalid value: 7: must be 2000001000/,
    ],
    [
      resources({ limits: { cpu: '-1' } }),
      `${at}.resources.limits[cpu]: Invalid value: "-1": must not be negative`,
    ],
    [
      resources({ limits: { cpu: 1 }, requests: { cpu: 2 } }),
      `${at}.resources.requests[cpu]: Invalid value: "2": must be at most the limit of cpu, 1`,
    ],
    [resources({ limits: { gpu: 1 } }), /limits\[gpu\]: Unsupported value: "gpu"/],
    [
      resources({ requests: { 'a.b/gpu': 1 } }),
      `${at}.resources.limits[a.b/gpu]: Required value: a.b/gpu cannot be had without a limit`,
    ],
    [
      resources({ limits: { 'a.b/gpu': 1 } }),
      /limits\[a\.b\/gpu\]: not supported; mount what the node has with hostPath/,
    ],
    [
      resources({ limits: { 'a.b/gpu': '1.5' } }),
      /limits\[a\.b\/gpu\]: Invalid value: "1500m": must be whole/,
    ],
    [resources({ limits: { 'hugepages-2Mi': '2Mi' } }), /resources: Required value: huge pages need/],
    [
      volume({ emptyDir: {}, hostPath: { path: '/x' } }),
      'spec.volumes[0].hostPath: Forbidden: there is emptyDir already; only one may be set',
    ],
    [podOf({ volumes: [{ name: 'v' }, { name: 'v' }] }), 'spec.volumes[1].name: Duplicate value: "v"'],
    [
      volume({ emptyDir: { medium: 'HugePages-2Mi' } }),
      /^spec\.volumes\[0\]\.emptyDir\.medium: "HugePages-2Mi" is not supported: .* use Memory, or/,
    ],
    [volume({ emptyDir: { sizeLimit: '-1Gi' } }), /sizeLimit: Invalid value: "-1Gi": must not be negative/],
    [
      volume({ hostPath: { path: '/a/../b' } }),
      /hostPath\.path: Invalid value: "\/a\/\.\.\/b": must not contain "\.\."/,
    ],
    [volume({ hostPath: { path: '/a', type: 'Folder' } }), /type: Unsupported value: "Folder"/],
    [
      volume({ configMap: { name: 'c', defaultMode: 512 } }),
      /defaultMode: Invalid value: 512: must be from 0 to 511/,
    ],
    [
      volume({ secret: { secretName: 's', items: [{ key: 'k', path: '../x' }] } }),
      /items\[0\]\.path: Invalid value: "\.\.\/x"/,
    ],
    [
      volume({ secret: { secretName: 's', items: [{ key: '../x', path: 'x' }] } }),
      /items\[0\]\.key: Invalid value/,
    ],
    [
      volume({ downwardAPI: { items: [{ path: '/x', fieldRef: { fieldPath: 'metadata.name' } }] } }),
      /must be a relative path/,
    ],
    [
      volume({ downwardAPI: { items: [{ path: 'x' }] } }),
      /items\[0\]: Required value: must have one of fieldRef, resourceFieldRef/,
    ],
    [volume({ projected: { sources: [{}] } }), /sources\[0\]: Required value/],
    [
      volume({ secret: { secretName: 's', items: [{ key: 'k', path: './..data/x' }] } }),
      /items\[0\]\.path: Invalid value: "\.\/\.\.data\/x": must not begin with "\.\."/,
    ],
    [
      volume({
        projected: {
          sources: [
            { configMap: { name: 'c', items: [{ key: 'k', path: 'a/b' }] } },
            { secret: { name: 's', items: [{ key: 'k', path: 'a//b' }] } },
          ],
        },
      }),
      /sources\[1\]\.secret\.items\[0\]\.path: Invalid value: "a\/\/b": conflicting duplicate paths/,
    ],
    [
      volume({ projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }),
      /sources\[0\]\.serviceAccountToken: not supported; put a token into a Secret/,
    ],
    [
      withContainer({ volumeMounts: [{ name: 'gone', mountPath: '/x' }] }),
      `${at}.volumeMounts[0].name: Not found: "gone"`,
    ],
    [
      podOf({
        volumes: [{ name: 'v' }],
        containers: [
          {
            ...CONTAINER,
            volumeMounts: [
              { name: 'v', mountPath: '/x' },
              { name: 'v', mountPath: '/x', subPath: '../y' },
            ],
          },
        ],
      }),
      /volumeMounts\[1\]\.mountPath: Invalid value: "\/x": must be unique/,
    ],
    [
      withContainer({
        env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      }),
      /valueFrom: Forbidden: there is a value already/,
    ],
    [withContainer({ env: [{ name: 'A', valueFrom: {} }] }), /valueFrom: Required value/],
    [fromFile({ volumeName: 'v', path: 'a', key: 'a=b' }, [{ name: 'v' }]), /fileKeyRef\.key: Invalid value/],
    [fromFile({ volumeName: 'v', path: 'a/../b', key: 'K' }, [{ name: 'v' }]), /fileKeyRef\.path: Invalid/],
    [fromFile({ volumeName: 'w', path: 'a', key: 'K' }, [{ name: 'v' }]), /volumeName: Not found: "w"/],
    [
      fromFile({ volumeName: 'v', path: 'a', key: 'K' }, [{ name: 'v', hostPath: { path: '/' } }]),
      'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir',
    ],
    [
      withContainer({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] }),
      /fieldPath: Unsupported value: "spec.x"/,
    ],
    [
      withContainer({
        env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } }],
      }),
      /fieldPath: Invalid value/,
    ],
    [
      withContainer({
        env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1Mi' } } }],
      }),
      /divisor: Invalid value: "1Mi": use one of 1m, 1/,
    ],
    [withContainer({ envFrom: [{ prefix: 'A' }] }), /envFrom\[0\]: Required value/],
    [withContainer({ securityContext: { runAsUser: -1 } }), /runAsUser: Invalid value: -1/],
    [
      withContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      /cannot be false for a privileged container/,
    ],
    [
      withContainer({ securityContext: { seccompProfile: { type: 'Localhost' } } }),
      /localhostProfile: Required value/,
    ],
    [
      podOf({ securityContext: { sysctls: [{ name: 'a b', value: '1' }] } }),
      /sysctls\[0\]\.name: Invalid value/,
    ],
    [volume({ emptyDir: { mode: 0o2000 } }), /emptyDir\.mode: Invalid value: 1024: must be from 0 to 1023/],
    [podOf({ hostPID: true, shareProcessNamespace: true }), /shareProcessNamespace: Forbidden/],
    [podOf({ hostUsers: false, hostNetwork: true }), 'spec.hostNetwork: Forbidden: when hostUsers is false'],
    [podOf({ hostUsers: false, hostPID: true }), 'spec.hostPID: Forbidden: when hostUsers is false'],
    [podOf({ hostUsers: false, hostIPC: true }), 'spec.hostIPC: Forbidden: when hostUsers is false'],
    [
      withContainer({ securityContext: { procMount: 'Unmasked' } }),
      'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": hostUsers must be false to use Unmasked',
    ],
    [podOf({ dnsPolicy: 'None' }), /dnsConfig\.nameservers: Required value/],
    [
      podOf({ dnsConfig: { nameservers: ['1.1.1.1', '2.2.2.2', '3.3.3.3', 'x'] } }),
      /nameservers: Invalid value: .*must have at most 3/,
    ],
    [podOf({ dnsConfig: { searches: ['a b'] } }), /searches\[0\]: Invalid value/],
    [podOf({ hostAliases: [{ ip: '1.2.3', hostnames: ['a'] }] }), /hostAliases\[0\]\.ip: Invalid value/],
    [podOf({ hostname: 'a.b' }), /spec\.hostname: Invalid value/],
  ])('is checked by Kubernetes’ rules: %j', (value, message) => {
    expect(problemsOf(value, PLANNED_FIELDS)[0]).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
  });

  it.each<[Json]>([
    [
      podOf({
        initContainers: [
          { ...CONTAINER, name: 's', restartPolicy: 'Always', startupProbe: { grpc: { port: 1 } } },
        ],
      }),
    ],
    [
      podOf({
        initContainers: [{ ...CONTAINER, name: 'i', ports: [{ containerPort: 1, hostPort: 9 }] }],
        containers: [{ ...CONTAINER, ports: [{ containerPort: 1, hostPort: 9 }] }],
      }),
    ],
    [
      withContainer({
        ports: [
          { containerPort: 53, hostPort: 53 },
          { containerPort: 53, hostPort: 53, protocol: 'UDP' },
        ],
      }),
    ],
    [withContainer({ env: [{ name: 'with.dots-and 0', value: '' }] })],
    [fromFile({ volumeName: 'v', path: '/a/b.env', key: 'with.dots-and 0' }, [{ name: 'v' }])],
    [
      fromFile({ volumeName: 'v', path: 'a', key: 'K', optional: true }, [
        { name: 'v', emptyDir: { medium: 'Memory' } },
      ]),
    ],
    [
      resources({
        limits: { cpu: '1.5', memory: '128Mi', 'ephemeral-storage': '1Gi', 'a.b/gpu': 0 },
        requests: { cpu: 0.1, 'a.b/gpu': 0 },
      }),
    ],
    [podOf({ dnsConfig: { searches: ['.', 'a_b.example.'], options: [{ name: 'ndots', value: '2' }] } })],
    [volume({ hostPath: { path: '/var/log', type: 'DirectoryOrCreate' } })],
    [volume({ emptyDir: { mode: 0o1777 } })],
    [volume({ emptyDir: { mode: 0 } })],
    [podOf({}, { annotations: { 'Example.COM/Name': 'x' }, labels: { 'example.com/name': '' } })],
  ])('may be as Kubernetes allows: %j', (value) => {
    expect(problemsOf(value, PLANNED_FIELDS)).toEqual([]);
  });
});

it('may have users of its own, and with them all of /proc', () => {
  const containers = [{ name: 'a', image: 'a:1', securityContext: { procMount: 'Unmasked' } }];
  expect(problemsOf(podOf({ hostUsers: false, containers }))).toEqual([]);
  // What follows from a value of another type is not said.
  expect(problemsOf(podOf({ hostUsers: 'no', containers }))).toEqual([
    expect.stringMatching(/^spec\.hostUsers: must be true or false/),
  ]);
});
