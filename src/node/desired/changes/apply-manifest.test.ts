import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { type ApplyObject } from '../../api/objects/apply-object.js';
import { DesiredPods } from '../../pods/loop/desired-pods.js';
import { FakeClock } from '#testing/fake-clock.js';
import { applyManifests } from './apply-manifest.js';
import { WritableManifests } from './writable-manifests.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'podloop-apply-'))));
afterEach(async () => rm(folder, { recursive: true }));

const pod = (image: string) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
  spec: { containers: [{ name: 'c', image }] },
});
const withData = (kind: 'ConfigMap' | 'Secret', text: string) => ({
  ...{ apiVersion: 'v1', kind, metadata: { name: 'x' } },
  ...(kind === 'Secret' ? { stringData: { key: text } } : { data: { key: text } }),
});

const claim = (storage: string) => ({
  ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'x' } },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
});
const deployment = (replicas: number) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' } },
  spec: {
    ...{ replicas, selector: { matchLabels: { app: 'x' } } },
    template: {
      metadata: { labels: { app: 'x' } },
      spec: { containers: [{ name: 'c', image: 'a' }] },
    },
  },
});

const OWNER = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'u', controller: true };

interface Given {
  /** Uids of pods that somebody has deleted; `all`: each that is asked for. */
  readonly stopped?: Set<string>;
  readonly mustBeNew?: boolean;
  /** Kind and name of what the agent has from elsewhere. */
  readonly served?: readonly (readonly [string, string])[];
  /** The pod that the agent has. */
  readonly present?: NodePod;
  /** Containers that were added to it, by their names. */
  readonly added?: readonly string[];
}

/** Of an agent that hears the end of a wait for what it wrote at once. */
function applier(given: Given = {}): (...objects: readonly object[]) => Promise<unknown[]> {
  const { stopped = new Set(), mustBeNew = false, served = [], present, added = [] } = given;
  const desired = new DesiredPods();
  if (present !== undefined) desired.set(present);
  const manifests = new WritableManifests({
    ...{ clock: new FakeClock(), nodeName: 'node', manifests: { path: folder, findFile: () => undefined } },
    policy: { forbid: new Set<never>(), allowedHostPaths: undefined },
  });
  const apply: ApplyObject = applyManifests({
    ...{ nodeName: 'node', manifests, desired },
    ...{ adoption: { uidOf: (uid) => uid }, objects: { all: () => [] } },
    workloads: { roots: () => [] },
    served: () => served.map(([kind, name]) => ({ kind, metadata: { name, namespace: 'default' } })),
    services: { roots: () => [] },
    debugged: { namesAdded: () => [...added] },
    stopped: {
      list: () => {
        const facts = { uid: 'u', namespace: 'default', source: 'file', manifestHash: 'h' };
        const end = { deletionTimestamp: '', gracePeriodSeconds: 1, isOver: true };
        return stopped.has('all') ? [{ ...facts, ...end, name: 'x-node' }] : [];
      },
      release: async (uid) => {
        stopped.add(uid);
        return Promise.resolve(stopped.has('all'));
      },
    },
  });
  return async (...objects) => {
    const results: unknown[] = [];
    for (const value of objects) {
      const { kind } = value as { kind: 'Pod' };
      const object = { kind, namespace: 'default', name: 'x', value, isDryRun: false, mustBeNew };
      const applied = await apply(object, AbortSignal.abort());
      results.push(applied.kind === 'applied' ? applied.result : applied);
    }
    return results;
  };
}

describe('an object that is applied', () => {
  it.each([
    ['Pod', pod('a:1'), pod('a:2')],
    ['ConfigMap', withData('ConfigMap', 'a'), withData('ConfigMap', 'b')],
    ['Secret', withData('Secret', 'a'), withData('Secret', 'b')],
  ])('is created, unchanged, configured, and unchanged again: %s', async (_, first, second) => {
    expect(await applier()(first, first, second, second, first)).toEqual([
      ...['created', 'unchanged', 'configured', 'unchanged', 'configured'],
    ]);
  });

  it('is no pod that a workload has made', async () => {
    const present = aNodePod({ name: 'x', ownerReferences: [OWNER] });
    expect(await applier({ present })(pod('a:2'))).toEqual([
      {
        ...{ kind: 'refused', reason: 'MethodNotAllowed' },
        message: 'it is made by ReplicaSet web-1: change the template of the workload',
      },
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('is created again when it was deleted, though its manifest is as it was', async () => {
    expect(await applier({ stopped: new Set(['all']) })(pod('a:1'), pod('a:1'), pod('a:2'))).toEqual([
      ...['created', 'created', 'created'],
    ]);
  });

  const exists = { kind: 'refused', reason: 'AlreadyExists', message: '' };
  it.each([
    ['Pod', pod('a:1'), pod('a:2')],
    ['ConfigMap', withData('ConfigMap', 'a'), withData('ConfigMap', 'b')],
    ['Secret', withData('Secret', 'a'), withData('Secret', 'b')],
    ['PersistentVolumeClaim', claim('1Gi'), claim('2Gi')],
    ['Deployment', deployment(1), deployment(2)],
  ])('is refused where it has to be new and is there: %s', async (_, first, second) => {
    expect(await applier({ mustBeNew: true })(first, first, second)).toEqual(['created', exists, exists]);
  });

  it('is refused where it has to be new and comes from elsewhere', async () => {
    const served = [['PersistentVolumeClaim', 'x']] as const;
    const apply = applier({ mustBeNew: true, served });
    expect(await apply(claim('1Gi'), deployment(1))).toEqual([exists, 'created']);
    expect(await readdir(folder)).toEqual(['default_x.deployment.yaml']);
  });

  it('is refused where it has to be new and is in a file with others', async () => {
    const both = [withData('ConfigMap', 'a'), { ...withData('ConfigMap', 'a'), metadata: { name: 'y' } }];
    const text = both.map((each) => JSON.stringify(each)).join('\n---\n');
    await writeFile(join(folder, 'default_x.configmap.yaml'), text);
    expect(await applier({ mustBeNew: true })(withData('ConfigMap', 'b'))).toEqual([exists]);
  });

  it('has none of the containers that were added to the pod for debugging', async () => {
    const present = aNodePod({ name: 'x-node' });
    const debug = (name: string) => ({ name, image: 'tools:1' });
    const written = pod('a:1');
    const shown = { ...written, spec: { ...written.spec, ephemeralContainers: [debug('d')] } };
    const apply = applier({ present, added: ['d'] });
    expect(await apply(written, shown)).toEqual(['created', 'unchanged']);
    const both = { ...written, spec: { ...written.spec, ephemeralContainers: [debug('own'), debug('d')] } };
    expect(await apply(both)).toEqual(['configured']);
    const text = await readFile(join(folder, 'default_x.pod.yaml'), 'utf8');
    expect(text).toContain('name: own');
    expect(text).not.toContain('name: d\n');
  });

  it('may be created as new when it was deleted', async () => {
    const apply = applier({ stopped: new Set(['all']), mustBeNew: true });
    expect(await apply(pod('a:1'), pod('a:1'))).toEqual(['created', 'created']);
  });
});
