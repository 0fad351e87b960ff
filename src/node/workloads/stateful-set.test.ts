import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkloadNode } from '#support/harness/workload-node.js';

let node: WorkloadNode;
beforeEach(async () => void (node = await WorkloadNode.open()));
afterEach(async () => node[Symbol.asyncDispose]());

const LABELS = { app: 'db' };
const podOf = (image: string) => ({
  ...{ selector: { matchLabels: LABELS } },
  template: { metadata: { labels: LABELS }, spec: { containers: [{ name: 'a', image }] } },
});
const setOf = (image: string, spec: object = {}) => ({
  ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' } },
  spec: { ...podOf(image), replicas: 3, serviceName: 'db', ...spec },
});
const imageOf = (name: string) => node.state(name).pod.spec.containers[0]!.image;

describe('a StatefulSet', () => {
  it('makes its pods in order, each once the one before it is ready', async () => {
    await node.apply(setOf('a:1'));
    for (const names of [['db-0'], ['db-0', 'db-1'], ['db-0', 'db-1', 'db-2']]) {
      expect(node.names()).toEqual(names);
      await node.pass(60);
      expect(node.names()).toEqual(names);
      await node.ready(names.at(-1)!);
    }
    const { pod } = node.state('db-1');
    expect(pod.spec.hostname).toBe('db-1');
    expect(pod.metadata.labels).toMatchObject({
      'statefulset.kubernetes.io/pod-name': 'db-1',
      'apps.kubernetes.io/pod-index': '1',
    });
  });

  it('makes all at once with Parallel, from its first ordinal', async () => {
    await node.apply(setOf('a:1', { podManagementPolicy: 'Parallel', ordinals: { start: 5 } }));
    expect(node.names()).toEqual(['db-5', 'db-6', 'db-7']);
  });

  it('gives each pod a claim of its own, which stays with its name', async () => {
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: claim }];
    await node.apply(setOf('a:1', { volumeClaimTemplates, podManagementPolicy: 'Parallel' }));
    const claimOf = (name: string) => node.state(name).pod.spec.volumes![0]!.persistentVolumeClaim!.claimName;
    expect(['db-0', 'db-1', 'db-2'].map(claimOf)).toEqual(['data-db-0', 'data-db-1', 'data-db-2']);
    expect(new Set(node.claims)).toEqual(new Set(['data-db-0', 'data-db-1', 'data-db-2']));
    node.state('db-1').isStopped = true;
    await node.gone();
    expect(claimOf('db-1')).toBe('data-db-1');
  });

  it('makes a pod of the same name only when the former one is gone', async () => {
    await node.apply(setOf('a:1', { replicas: 1 }));
    const { uid } = node.state('db-0').pod.metadata;
    await node.end('db-0', 'Failed');
    expect(node.names()).toEqual([]);
    await node.gone();
    expect(node.state('db-0').pod.metadata.uid).not.toBe(uid);
  });

  it('takes pods away from the last on, one after the other', async () => {
    await node.apply(setOf('a:1', { podManagementPolicy: 'Parallel' }));
    await node.ready('db-0', 'db-1', 'db-2');
    await node.apply(setOf('a:1', { replicas: 0, podManagementPolicy: 'Parallel' }));
    expect(node.names()).toEqual([]);
  });

  it('waits in order until the last one is gone', async () => {
    await node.apply(setOf('a:1', { replicas: 2 }));
    await node.ready('db-0');
    await node.ready('db-1');
    await node.apply(setOf('a:1', { replicas: 0 }));
    expect(node.names()).toEqual(['db-0']);
    await node.gone();
    expect(node.names()).toEqual([]);
  });

  it('is replaced after an edit from the last on, each once the one behind it is ready', async () => {
    await node.apply(setOf('a:1'));
    for (const name of ['db-0', 'db-1', 'db-2']) await node.ready(name);
    await node.apply(setOf('a:2'));
    for (const name of ['db-2', 'db-1', 'db-0']) {
      expect(node.names()).not.toContain(name);
      expect(node.names()).toHaveLength(2);
      await node.gone();
      expect(imageOf(name)).toBe('a:2');
      await node.pass(60);
      expect(node.names()).toHaveLength(3);
      await node.ready(name);
    }
    expect(['db-0', 'db-1', 'db-2'].map(imageOf)).toEqual(['a:2', 'a:2', 'a:2']);
  });

  it('leaves what is below its partition, and with OnDelete everything, as it is', async () => {
    const partition = { updateStrategy: { rollingUpdate: { partition: 1 } } };
    await node.apply(setOf('a:1', { replicas: 2, ...partition }));
    await node.ready('db-0');
    await node.ready('db-1');
    await node.apply(setOf('a:2', { replicas: 2, ...partition }));
    await node.gone();
    await node.ready('db-1');
    expect(['db-0', 'db-1'].map(imageOf)).toEqual(['a:1', 'a:2']);
    await node.apply(setOf('a:3', { replicas: 2, updateStrategy: { type: 'OnDelete' } }));
    expect(['db-0', 'db-1'].map(imageOf)).toEqual(['a:1', 'a:2']);
  });
});

describe('a DaemonSet', () => {
  const daemonOf = (image: string, updateStrategy: object = {}) => ({
    ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'logs' } },
    spec: { ...podOf(image), updateStrategy },
  });
  const images = () => node.states().map(({ pod }) => pod.spec.containers[0]!.image);

  it('has one pod, and another one when that has ended', async () => {
    await node.apply(daemonOf('a:1'));
    const [name] = node.names() as [string];
    expect(name).toMatch(/^logs-[a-z0-9]{5}$/);
    await node.end(name, 'Failed');
    await node.gone();
    expect(node.names()).toHaveLength(1);
    expect(node.names()).not.toEqual([name]);
  });

  it('ends the old pod before it makes a new one', async () => {
    await node.apply(daemonOf('a:1'));
    await node.apply(daemonOf('a:2'));
    expect(images()).toEqual([]);
    await node.gone();
    expect(images()).toEqual(['a:2']);
  });

  it('keeps the old pod until the new one is ready where it may surge', async () => {
    const surge = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await node.apply(daemonOf('a:1', surge));
    await node.ready(...node.names());
    await node.apply(daemonOf('a:2', surge));
    expect(images().sort()).toEqual(['a:1', 'a:2']);
    await node.ready(...node.names());
    expect(images()).toEqual(['a:2']);
  });
});
