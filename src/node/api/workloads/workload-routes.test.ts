import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { ApiRouter } from '../http/api-router.js';
import { type ObjectToApply } from '../objects/apply-object.js';
import { type ObjectToRemove } from '../objects/delete-object.js';
import { ObjectTurns } from '../objects/object-turns.js';
import {
  addWorkloadRoutes,
  type ServedWorkload,
  workloadDiscovery,
  workloadResources,
} from './workload-routes.js';

const aWorkload = (kind: string, name: string, metadata: object = {}): ServedWorkload => ({
  kind,
  metadata: { name, namespace: 'default', ...metadata },
});

function setUp(...workloads: ServedWorkload[]) {
  const asked: (ObjectToApply | ObjectToRemove)[] = [];
  const changes: object[] = [];
  const router = new ApiRouter();
  addWorkloadRoutes(router, {
    turns: new ObjectTurns({ nodeName: 'n1' }),
    ...{ read: () => workloads, version: () => 7, clock: new FakeClock() },
    change: async (object, change) => {
      changes.push({ ...object, change });
      return Promise.resolve(true);
    },
    apply: async (object) => {
      asked.push(object);
      return Promise.resolve({ kind: 'applied', result: 'created' });
    },
    remove: async (object) => {
      asked.push(object);
      return Promise.resolve({ kind: 'removed' });
    },
  });
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const url = new URL(path, 'http://agent');
    const { route, params } = router.find(method, url.pathname);
    if (route.kind !== 'answer') throw new Error(`nothing answers ${method} ${path}`);
    return route.handle({
      ...{ method, path: url.pathname, query: url.searchParams },
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      ...{ params, signal: new AbortController().signal },
      readBody: async () => Promise.resolve(body),
    });
  };
  return { asked, changes, ask };
}

describe('workloads in the API', () => {
  it('are listed by kind, namespace and labels, and found by name', async () => {
    const { ask } = setUp(
      aWorkload('Deployment', 'db', { namespace: 'other' }),
      aWorkload('Deployment', 'web', { labels: { app: 'web' } }),
      aWorkload('Deployment', 'api'),
      aWorkload('Job', 'sum'),
    );
    const namesOf = async (path: string) => {
      const { body } = (await ask('GET', path)) as { body: { items: ServedWorkload[] } };
      return body.items.map(({ metadata }) => metadata.name);
    };
    expect(await namesOf('/apis/apps/v1/deployments')).toEqual(['api', 'web', 'db']);
    expect(await namesOf('/apis/apps/v1/namespaces/other/deployments')).toEqual(['db']);
    expect(await namesOf('/apis/apps/v1/deployments?labelSelector=app%3Dweb')).toEqual(['web']);
    expect(await namesOf('/apis/batch/v1/jobs')).toEqual(['sum']);
    expect(await ask('GET', '/apis/batch/v1/namespaces/default/jobs/sum')).toMatchObject({
      body: { metadata: { name: 'sum' } },
    });
    await expect(ask('GET', '/apis/batch/v1/namespaces/default/jobs/none')).rejects.toThrow(
      'jobs "none" not found',
    );
  });

  it('are applied with the version of their kind, and removed', async () => {
    const { asked, ask } = setUp(aWorkload('CronJob', 'tick'));
    const path = '/apis/batch/v1/namespaces/default/cronjobs';
    const object = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'tick' }, spec: {} };
    expect(await ask('POST', path, object)).toMatchObject({ code: 201 });
    await expect(ask('POST', path, { ...object, apiVersion: 'v1' })).rejects.toThrow(
      '"CronJob" of "v1" is not a batch/v1 CronJob',
    );
    await ask('DELETE', `${path}/tick`);
    expect(asked.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['CronJob tick', 'CronJob tick']);
  });

  const apps = '/apis/apps/v1/namespaces/default';
  const restartedAt = '2026-01-02T03:04:05Z';
  const restart = {
    spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': restartedAt } } } },
  };

  it.each<[string, 'Deployment' | 'DaemonSet', object, object]>([
    ['deployments/web', 'Deployment', { spec: { replicas: 3 } }, { replicas: 3 }],
    ['deployments/web/scale', 'Deployment', { spec: { replicas: 0 } }, { replicas: 0 }],
    ['deployments/web', 'Deployment', restart, { restartedAt }],
    ['daemonsets/web', 'DaemonSet', restart, { restartedAt }],
  ])('are changed beside their manifests: %s', async (path, kind, patch, change) => {
    const { ask, asked, changes } = setUp(aWorkload(kind, 'web'));
    await ask('PATCH', `${apps}/${path}`, patch);
    await ask('PATCH', `${apps}/${path}?dryRun=All`, patch);
    expect([changes, asked]).toEqual([[{ kind, namespace: 'default', name: 'web', change }], []]);
  });

  it.each<[string, 'Deployment' | 'DaemonSet', object]>([
    ['of anything else', 'Deployment', { spec: { replicas: 3, paused: true } }],
    [
      'of an image',
      'Deployment',
      { spec: { template: { spec: { containers: [{ name: 'a', image: 'b' }] } } } },
    ],
    ['of what the kind has not', 'DaemonSet', { spec: { replicas: 3 } }],
  ])('are changed in their manifests by a patch %s', async (_, kind, patch) => {
    const { ask, asked, changes } = setUp(aWorkload(kind, 'web'));
    await ask('PATCH', `${apps}/${kind.toLowerCase()}s/web`, patch);
    expect([changes.length, asked]).toEqual([0, [expect.objectContaining({ kind, mustBeNew: false })]]);
  });

  it('are not scaled to what is no number of pods', async () => {
    const { ask } = setUp(aWorkload('Deployment', 'web'));
    for (const replicas of [-1, 1.5])
      await expect(ask('PATCH', `${apps}/deployments/web/scale`, { spec: { replicas } })).rejects.toThrow(
        'must be a whole number, 0 or more',
      );
    await expect(ask('PUT', `${apps}/deployments/web/scale`, {})).rejects.toThrow('spec.replicas');
    expect(await ask('GET', `${apps}/deployments/web/scale`)).toMatchObject({
      body: { kind: 'Scale', spec: { replicas: 1 }, status: { replicas: 0 } },
    });
  });

  it('that another one has made are not removed by themselves', async () => {
    const ownerReferences = [{ kind: 'Deployment', name: 'web' }];
    const { asked, ask } = setUp(aWorkload('ReplicaSet', 'web-1', { ownerReferences }));
    const path = '/apis/apps/v1/namespaces/default/replicasets/web-1';
    await expect(ask('DELETE', path)).rejects.toThrow('it is made by the Deployment web');
    expect(asked).toEqual([]);
  });

  it('are all there for who asks first', () => {
    const listed = Object.values(workloadDiscovery()).flatMap(
      (each) => (each as { readonly resources?: { readonly name: string }[] }).resources ?? [],
    );
    const names = [...listed, ...(workloadResources('v1') as { readonly name: string }[])].map(
      ({ name }) => name,
    );
    const all = [
      ...['deployments', 'deployments/scale', 'replicasets', 'replicasets/scale'],
      ...['statefulsets', 'statefulsets/scale', 'daemonsets', 'jobs', 'cronjobs'],
      ...['replicationcontrollers', 'replicationcontrollers/scale', 'persistentvolumeclaims'],
      ...['services', 'endpoints', 'endpointslices'],
    ];
    expect([...names].sort()).toEqual(all.sort());
  });
});
