import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { setUpHandlers } from '#support/harness/pod-handlers-harness.js';

function edited(pod: NodePod, version: string): NodePod {
  const annotations = { ...pod.metadata.annotations, [STATIC_POD_ANNOTATIONS.manifestHash]: version };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

const web = aNodePod();
const db = aNodePod({ name: 'db' });

describe('the handlers of the sync loop', () => {
  it('keep what is desired, and ask the workers for it', () => {
    const { handlers, desired, asked } = setUpHandlers();
    handlers.handlePodAdditions([web, db]);
    expect([...desired.uids()]).toEqual(['uid-web', 'uid-db']);
    const changed = aNodePod({ labels: { version: '2' } });
    handlers.handlePodUpdates([changed]);
    expect(desired.find('uid-web')).toBe(changed);
    handlers.handlePodSyncs([changed]);
    handlers.handlePodRemoves([db]);
    expect(desired.has('uid-db')).toBe(false);
    expect(asked()).toEqual([
      'create uid-web',
      'create uid-db',
      'update uid-web',
      'sync uid-web',
      'kill uid-db',
    ]);
  });

  it('end a pod whose source wants it gone by an update', () => {
    const { handlers, requests } = setUpHandlers();
    handlers.handlePodAdditions([web]);
    const deleted = aNodePod({ deletionTimestamp: '2026-01-02T03:04:05Z' });
    handlers.handlePodUpdates([deleted]);
    expect(requests.at(-1)).toEqual({ type: 'update', pod: deleted });
  });

  it('end nothing before every source was seen', () => {
    const { handlers, desired, state, asked } = setUpHandlers();
    handlers.handlePodAdditions([web]);
    state.allSeen = false;
    handlers.handlePodRemoves([web]);
    expect(asked()).toEqual(['create uid-web']);
    expect(desired.has('uid-web')).toBe(false);
  });

  it('sync a pod whose status differs only when that needs it', () => {
    const { handlers, desired, asked } = setUpHandlers({
      needsReconcile: ({ metadata }) => metadata.name === 'db',
    });
    handlers.handlePodReconcile([web, db]);
    expect(desired.size).toBe(2);
    expect(asked()).toEqual(['sync uid-db']);
  });

  it('leave it to housekeeping to start a pod of whose former life something is left', () => {
    const { handlers, desired, tornDown, asked } = setUpHandlers();
    tornDown.add('uid-web');
    handlers.handlePodAdditions([web]);
    handlers.handlePodUpdates([web]);
    handlers.handlePodSyncs([web, db]);
    expect(desired.has('uid-web')).toBe(true);
    expect(asked()).toEqual(['sync uid-db']);
  });

  it('leave cleaning up to housekeeping', () => {
    const { handlers, state } = setUpHandlers();
    handlers.handlePodCleanups();
    expect(state.housekeepings).toBe(1);
  });

  it('restart a pod whose containers are edited after it has run to its end', () => {
    const { handlers, ended, requests } = setUpHandlers();
    handlers.handlePodAdditions([edited(web, '1')]);
    ended.add('uid-web');
    handlers.handlePodUpdates([edited(web, '1')]);
    expect(requests.at(-1)?.type).toBe('update');
    const [container] = web.spec.containers;
    const spec = { ...web.spec, containers: [{ ...container!, image: 'another:1' }] };
    handlers.handlePodUpdates([edited({ ...web, spec }, '2')]);
    expect(requests.at(-1)?.type).toBe('create');
  });

  it('run no pod a second time for an edit that restarts nothing', () => {
    const { handlers, ended, requests } = setUpHandlers();
    handlers.handlePodAdditions([edited(web, '1')]);
    ended.add('uid-web');
    const labels = { version: '2' };
    handlers.handlePodUpdates([edited({ ...web, metadata: { ...web.metadata, labels } }, '2')]);
    const spec = { ...web.spec, terminationGracePeriodSeconds: 7 };
    handlers.handlePodUpdates([edited({ ...web, spec }, '3')]);
    expect(requests.map(({ type }) => type)).toEqual(['create', 'update', 'update']);
  });
});

describe('a pod of an API server', () => {
  const full = { admit: false, reason: 'OutOfpods', message: 'too many' } as const;

  it('that was rejected stays so, whatever is given back or edited', async () => {
    let isFull = true;
    const { handlers, desired, asked } = setUpHandlers({ admit: () => (isFull ? full : { admit: true }) });
    const pod = aNodePod({ source: 'api' });
    handlers.handlePodAdditions([pod]);
    isFull = false;
    handlers.podEndChanged('uid-other');
    await Promise.resolve();
    handlers.handlePodUpdates([{ ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } }]);
    expect(asked()).toEqual([]);
    expect(desired.findRejection('uid-web')?.reason).toBe('OutOfpods');
    // To be taken off the server it has to go through its end.
    handlers.handlePodUpdates([
      { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } },
    ]);
    expect(asked()).toEqual(['create uid-web']);
  });

  it('runs but once, whatever is edited after its end', () => {
    const { handlers, ended, asked } = setUpHandlers();
    const pod = aNodePod({ source: 'api' });
    handlers.handlePodAdditions([pod]);
    ended.add('uid-web');
    const containers = [{ ...pod.spec.containers[0]!, image: 'another' }];
    handlers.handlePodUpdates([{ ...pod, spec: { ...pod.spec, containers } }]);
    expect(asked()).toEqual(['create uid-web', 'update uid-web']);
  });
});
