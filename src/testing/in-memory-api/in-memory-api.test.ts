import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../fake-clock.js';
import { InMemoryApi } from './in-memory-api.js';
import { type StoredObject } from './stored-object.js';

const POD = '/api/v1/namespaces/default/pods/web';

describe('the API in memory', () => {
  let api: InMemoryApi;
  beforeEach(() => {
    api = new InMemoryApi({ clock: new FakeClock() });
  });

  it('makes an object once, with uid and version', async () => {
    const body = { metadata: { name: 'web' }, spec: {} };
    const path = '/api/v1/namespaces/default/pods';
    const made = await api.request<StoredObject>({ method: 'POST', path, body });
    expect(made.metadata).toMatchObject({ name: 'web', namespace: 'default', resourceVersion: '101' });
    expect(made.metadata.uid).toMatch(/-/);
    await expect(api.request({ method: 'POST', path, body })).rejects.toMatchObject({ code: 409 });
    await expect(api.request({ method: 'GET', path: `${path}/none` })).rejects.toMatchObject({ code: 404 });
  });

  it('refuses a PUT of an old version', async () => {
    const old = api.put(POD, { metadata: {}, spec: { a: 1 } });
    api.change(POD, (pod) => ({ ...pod, spec: { a: 2 } }));
    const put = api.request({ method: 'PUT', path: POD, body: { ...old, spec: { a: 3 } } });
    await expect(put).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
  });

  it('merges conditions by their type, and only the status with the status subresource', async () => {
    const { metadata } = api.put(POD, {
      metadata: {},
      spec: { nodeName: 'here' },
      status: { conditions: [{ type: 'PodScheduled', status: 'True' }] },
    });
    const body = {
      metadata: { uid: metadata.uid },
      spec: { nodeName: 'there' },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] },
    };
    await api.request({ method: 'PATCH', path: `${POD}/status`, body });
    expect(api.find(POD)).toMatchObject({
      spec: { nodeName: 'here' },
      status: {
        phase: 'Running',
        conditions: [
          { type: 'PodScheduled', status: 'True' },
          { type: 'Ready', status: 'False' },
        ],
      },
    });
    const other = { metadata: { uid: 'other' }, status: { phase: 'Failed' } };
    const patched = api.request({ method: 'PATCH', path: `${POD}/status`, body: other });
    await expect(patched).rejects.toMatchObject({ code: 409 });
  });

  it('lets a pod on a node end in its time, and takes it away when told 0', async () => {
    api.put(POD, { metadata: {}, spec: { nodeName: 'here', terminationGracePeriodSeconds: 5 } });
    await api.request({ method: 'DELETE', path: POD });
    expect(api.find(POD)?.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 });
    const body = { gracePeriodSeconds: 0, preconditions: { uid: 'other' } };
    const request = { method: 'DELETE', path: POD, body } as const;
    await expect(api.request(request)).rejects.toMatchObject({ code: 409 });
    await api.request({ method: 'DELETE', path: POD, body: { gracePeriodSeconds: 0 } });
    expect(api.find(POD)).toBeUndefined();
  });

  it('goes back to a backup, and shows nothing to who watches from a version that is to come', async () => {
    const backup = api.backUp();
    api.put(POD, { metadata: {} });
    api.passVersions(10);
    const place = api.resourceVersion;
    api.restore(backup);
    expect(api.find(POD)).toBeUndefined();
    expect(api.resourceVersion).toBe('100');
    const abort = new AbortController();
    const query = { resourceVersion: place };
    const watch = api.watch<StoredObject>({ path: '/api/v1/pods', query, signal: abort.signal });
    const next = watch.next();
    // Its watch begins.
    await new Promise((resolve) => setImmediate(resolve));
    api.put(POD, { metadata: {} });
    api.sendBookmarks();
    api.passVersions(20);
    api.sendBookmarks();
    await expect(next).resolves.toMatchObject({
      value: { type: 'BOOKMARK', object: { metadata: { resourceVersion: '121' } } },
    });
    abort.abort();
    const list = { method: 'GET', path: '/api/v1/pods', query: { resourceVersion: '122' } } as const;
    await expect(api.request(list)).rejects.toMatchObject({
      ...{ code: 504, reason: 'Timeout', retryAfterMs: 1_000, causes: ['ResourceVersionTooLarge'] },
      message: 'Timeout: Too large resource version: 122, current: 121',
    });
  });

  it('shows a watch of one node a pod that comes to it, and that goes', async () => {
    const abort = new AbortController();
    const query = { fieldSelector: 'spec.nodeName=here', resourceVersion: '100' };
    const events = api.watch<StoredObject>({ path: '/api/v1/pods', query, signal: abort.signal });
    api.put(POD, { metadata: {}, spec: {} });
    api.change(POD, (pod) => ({ ...pod, spec: { nodeName: 'here' } }));
    api.change(POD, (pod) => ({ ...pod, spec: { nodeName: 'here', more: 1 } }));
    api.drop(POD);
    const types: string[] = [];
    for await (const { type } of events) {
      types.push(type);
      if (type === 'DELETED') break;
    }
    expect(types).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });
});
