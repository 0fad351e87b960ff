import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type Container } from '#kube/container/container.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { CLUSTER_POD_TABLES, POD_TABLES } from '#kube/pod/pod-fields.js';
import { type Pod, type PodSpec } from '#kube/pod/pod.js';
import { PLANNED_FIELDS } from '#kube/pod/read-pod.js';
import { podHash } from '../actions/container-hash.js';
import { CONTAINER_UPDATES, METADATA_UPDATES, SPEC_UPDATES } from './update-class.js';

const TABLES = {
  ObjectMeta: METADATA_UPDATES,
  PodSpec: SPEC_UPDATES,
  Container: CONTAINER_UPDATES,
} as const;

describe('what an edit of a field does', () => {
  it.each(Object.entries(TABLES))('is decided for every field of %s that is honoured', (type, classes) => {
    const all = [POD_TABLES[type]!, CLUSTER_POD_TABLES[type]!].flatMap((table) => Object.entries(table));
    const honoured = all
      .filter(([, { support }]) => support === 'supported' || support === 'planned')
      // A deletion is no edit.
      .flatMap(([name]) => (name.startsWith('deletion') ? [] : name));
    expect(Object.keys(classes).sort()).toEqual([...new Set(honoured)].sort());
  });

  it('stands in the reference for each of them', async () => {
    const page = await readFile(new URL('../../../../docs/reference/updates.md', import.meta.url), 'utf8');
    for (const [type, classes] of Object.entries(TABLES)) {
      const prefix = { ObjectMeta: 'metadata', PodSpec: 'spec', Container: 'container' }[type]!;
      for (const [name, word] of Object.entries(classes)) {
        expect(page).toMatch(new RegExp(`^\\| \`${prefix}\\.${name}\` +\\| ${word} +\\|`, 'm'));
      }
    }
  });
});

const CONTAINER: Container = { name: 'main', image: 'registry.example/app:1', command: ['/app'] };
const podOf = (spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', ...metadata },
  spec: { containers: [CONTAINER], ...spec },
});
const withContainer = (fields: Partial<Container>): Pod =>
  podOf({ containers: [{ ...CONTAINER, ...fields }] });

describe('the hash of a pod', () => {
  const base = podHash(podOf());

  it('of a known pod is known: another would recreate every pod at the next start of an agent', () => {
    expect(base).toBe('c5f3dc2350756c01');
  });

  it.each([
    ['a command', withContainer({ command: ['/other'] })],
    ['the environment', withContainer({ env: [{ name: 'A', value: '1' }] })],
    ['a mount', withContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    ['a security context', withContainer({ securityContext: { runAsUser: 1 } })],
    ['a stop signal', withContainer({ lifecycle: { stopSignal: 'SIGUSR1' } })],
    ['a port of the node', withContainer({ ports: [{ containerPort: 80, hostPort: 80 }] })],
    ['another container', podOf({ containers: [CONTAINER, { ...CONTAINER, name: 'side' }] })],
    ['an init container', podOf({ initContainers: [{ ...CONTAINER, name: 'init' }] })],
    ['a volume that nobody mounts', podOf({ volumes: [{ name: 'data', hostPath: { path: '/srv' } }] })],
    ['the network', podOf({ hostNetwork: true })],
    ['the priority', podOf({ priority: 5 })],
    ['huge pages', withContainer({ resources: { limits: { 'hugepages-2Mi': '2Mi' } } })],
    ['the class of service', withContainer({ resources: { requests: { cpu: '1' } } })],
  ])('changes with %s', (_, pod) => {
    expect(podHash(pod)).not.toBe(base);
  });

  it.each([
    ['an image', withContainer({ image: 'registry.example/app:2' })],
    ['probes', withContainer({ livenessProbe: { tcpSocket: { port: 80 } } })],
    ['hooks', withContainer({ lifecycle: { preStop: { sleep: { seconds: 1 } } } })],
    ['labels and annotations', podOf({}, { labels: { a: 'b' }, annotations: { c: 'd' } })],
    ['periods and policies', podOf({ terminationGracePeriodSeconds: 1, activeDeadlineSeconds: 1 })],
    ['a port of the pod alone', withContainer({ ports: [{ containerPort: 80 }] })],
    ['defaults', applyPodDefaults(podOf())],
    ['the defaults of what comes later', applyPodDefaults(podOf(), PLANNED_FIELDS)],
  ])('does not change with %s', (_, pod) => {
    expect(podHash(pod)).toBe(base);
  });

  it('does not change with cpu and memory in the same class of service', () => {
    const of = (cpu: string): string => podHash(withContainer({ resources: { requests: { cpu } } }));
    expect(of('1')).toBe(of('2'));
  });
});
