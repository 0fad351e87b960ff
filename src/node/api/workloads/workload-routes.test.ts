import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { ApiRouter } from '../http/api-router.js';
import { type ObjectToApply } from '../objects/apply-object.js';
import { type ObjectToRemove } from '../objects/delete-object.js';
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
  const router = new ApiRouter();
  addWorkloadRoutes(router, {
    ...{ read: () => workloads, version: () => 7, clock: new FakeClock() },
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
      ...{ method, path: url.pathname, query: url.searchParams, headers: {} },
      ...{ params, signal: new AbortController().signal },
      readBody: async () => Promise.resolve(body),
    });
  };
  return { asked, ask };
}

describe('workloads in the API', () => {
  it('are listed by kind, namespace and labels, and found by name', async () => {
    const { ask } = setUp(
      aWorkload('Deployment', 'web', { labels: { app: 'web' } }),
      aWorkload('Deployment', 'db', { namespace: 'other' }),
      aWorkload('Job', 'sum'),
    );
    const namesOf = async (path: string) => {
      const { body } = (await ask('GET', path)) as { body: { items: ServedWorkload[] } };
      return body.items.map(({ metadata }) => metadata.name);
    };
    expect(await namesOf('/apis/apps/v1/deployments')).toEqual(['web', 'db']);
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
    expect(names).toEqual([
      ...['deployments', 'replicasets', 'statefulsets', 'daemonsets', 'jobs', 'cronjobs'],
      ...['replicationcontrollers', 'persistentvolumeclaims'],
    ]);
  });
});
