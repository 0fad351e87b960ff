import { describe, expect, it } from 'vitest';
import { type Container } from '#kube/container/container.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { type Pod, type PodSpec } from '#kube/pod/pod.js';
import { PLANNED_FIELDS } from '#kube/pod/read-pod.js';
import { containerHash, sandboxHash } from './container-hash.js';

const BASE: Container = {
  name: 'main',
  image: 'registry.example/app:1',
  command: ['/app'],
  env: [{ name: 'A', value: '1' }],
  resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
};
const VOLUMES: PodSpec['volumes'] = [
  { name: 'data', hostPath: { path: '/srv/data' } },
  { name: 'other', hostPath: { path: '/srv/other' } },
];
const hash = (fields: Partial<Container> = {}, volumes = VOLUMES): string =>
  containerHash({ ...BASE, ...fields }, { volumes });

describe('the hash of a container', () => {
  it('is a number of 64 bits in hexadecimal, and stays as it is', () => {
    expect(hash()).toMatch(/^[0-9a-f]{16}$/);
    expect(hash()).toBe(hash());
  });

  it('of a known container is known: another would restart every container at the next start of an agent', () => {
    expect(containerHash({ name: 'main', image: 'registry.example/app:1' })).toBe('3c44e0e59ee7f82f');
  });

  it.each([
    ['the image', { image: 'registry.example/app:2' }],
    ['the command', { command: ['/app', '-v'] }],
    ['the order of the command', { command: ['-v', '/app'] }],
    ['arguments', { args: ['x'] }],
    ['the working directory', { workingDir: '/tmp' }],
    ['the environment', { env: [{ name: 'A', value: '2' }] }],
    [
      'its order, as later variables may use earlier ones',
      {
        env: [
          { name: 'B', value: '1' },
          { name: 'A', value: '1' },
        ],
      },
    ],
    ['limits', { resources: { limits: { cpu: '2' } } }],
    ['mounts', { volumeMounts: [{ name: 'data', mountPath: '/elsewhere' }] }],
    ['the security context', { securityContext: { runAsUser: 1 } }],
    ['a terminal', { tty: true }],
    ['the signal that stops it', { lifecycle: { stopSignal: 'SIGUSR1' } }],
    ['where it leaves its last words', { terminationMessagePath: '/tmp/words' }],
  ] satisfies [string, Partial<Container>][])('changes with %s', (_, fields) => {
    expect(hash(fields)).not.toBe(hash());
  });

  it.each([
    ['probes', { livenessProbe: { tcpSocket: { port: 80 } }, readinessProbe: {}, startupProbe: {} }],
    ['hooks', { lifecycle: { postStart: { sleep: { seconds: 1 } }, preStop: { sleep: { seconds: 1 } } } }],
    ['the pull policy', { imagePullPolicy: 'Always' }],
    ['ports, which are the sandbox’s', { ports: [{ containerPort: 80, hostPort: 80 }] }],
    ['how its last words are read', { terminationMessagePolicy: 'FallbackToLogsOnError' }],
    [
      'what says no more than leaving it out',
      { args: [], workingDir: '', terminationMessagePath: '/dev/termination-log' },
    ],
    ['the order of keys', Object.fromEntries(Object.entries(BASE).reverse())],
  ] satisfies [string, Partial<Container>][])('does not change with %s', (_, fields) => {
    expect(hash(fields)).toBe(hash());
  });

  it('changes with the volumes that are mounted, and only with those', () => {
    expect(hash({}, [VOLUMES[0]!, { name: 'other', emptyDir: {} }])).toBe(hash());
    expect(hash({}, [...VOLUMES].reverse())).toBe(hash());
    expect(hash({}, [{ name: 'data', hostPath: { path: '/srv/new' } }])).not.toBe(hash());
  });

  it('does not change when a version of podloop gives more fields their defaults', () => {
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { containers: [{ name: 'main', image: 'app' }], volumes: [{ name: 'data' }] },
    };
    const later = applyPodDefaults(pod, PLANNED_FIELDS);
    const now = applyPodDefaults(pod);
    expect(containerHash(later.spec.containers[0]!, later.spec)).toBe(
      containerHash(now.spec.containers[0]!, now.spec),
    );
    expect(containerHash(now.spec.containers[0]!, now.spec)).toBe(
      containerHash(pod.spec.containers[0]!, pod.spec),
    );
    expect(sandboxHash(later)).toBe(sandboxHash(now));
    expect(sandboxHash(now)).toBe(sandboxHash(pod));
  });
});

describe('the hash of a sandbox', () => {
  const podWith = (spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: { containers: [BASE], ...spec },
  });
  const base = sandboxHash(podWith({}));
  const withPorts = (...ports: NonNullable<Container['ports']>): Partial<PodSpec> => ({
    containers: [{ ...BASE, ports }],
  });

  it('of a known pod is known, for the same reason', () => {
    expect(base).toBe('e8c4c01a517f1d6f');
  });

  it.each([
    ['the host name', podWith({ hostname: 'other' })],
    ['the name', podWith({}, { name: 'other' })],
    ['DNS', podWith({ dnsPolicy: 'None', dnsConfig: { nameservers: ['10.0.0.1'] } })],
    ['namespaces shared', podWith({ shareProcessNamespace: true })],
    ['users of its own', podWith({ hostUsers: false })],
    ['the network of the host', podWith({ hostNetwork: true })],
    ['ports of the host', podWith(withPorts({ containerPort: 80, hostPort: 8080 }))],
    ['the class of service, and so the control group', podWith({ containers: [{ ...BASE, resources: {} }] })],
  ])('changes with %s', (_, pod) => {
    expect(sandboxHash(pod)).not.toBe(base);
  });

  it.each([
    ['labels and annotations', podWith({}, { labels: { a: 'b' }, annotations: { c: 'd' } })],
    ['images and commands', podWith({ containers: [{ ...BASE, image: 'other', command: ['x'] }] })],
    ['ports of the pod alone', podWith(withPorts({ containerPort: 80, name: 'http' }))],
    [
      'policies and periods',
      podWith({ restartPolicy: 'Never', terminationGracePeriodSeconds: 1, activeDeadlineSeconds: 1 }),
    ],
    ['defaults written out', podWith({ dnsPolicy: 'ClusterFirst', hostPID: false, hostUsers: true })],
    ['a network that is written out', podWith({ hostNetwork: false })],
  ])('does not change with %s', (_, pod) => {
    expect(sandboxHash(pod)).toBe(base);
  });

  it('knows no ports of the host where the pod is on its network', () => {
    const onHost = (hostPort: number): Pod =>
      podWith({ hostNetwork: true, ...withPorts({ containerPort: hostPort, hostPort }) });
    expect(sandboxHash(onHost(80))).toBe(sandboxHash(onHost(81)));
  });
});
