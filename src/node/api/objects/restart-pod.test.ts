import { describe, expect, it } from 'vitest';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { type ApiAnswer, type ApiRequest } from '../http/api-request.js';
import { podFinder } from './list-pods.js';
import { listStoppedPods, restartPod, type ServedStop, startPod, stopExplainer } from './restart-pod.js';

function ask(query: string, name = 'web', namespace = 'default'): ApiRequest {
  return {
    ...{ method: 'POST', path: '/', headers: {}, signal: new AbortController().signal },
    params: { namespace, name },
    query: new URLSearchParams(query),
    readBody: async () => Promise.resolve(undefined),
  };
}

function bodyOf(answer: ApiAnswer): unknown {
  if (answer.kind !== 'json') throw new Error(`it is ${answer.kind}`);
  return answer.body;
}

const aStop = (name: string, more: Partial<ServedStop> = {}): ServedStop => ({
  ...{ uid: `uid-${name}`, namespace: 'default', name, source: 'file' },
  ...{ deletionTimestamp: '2026-01-02T03:04:35Z', isOver: true },
  ...more,
});

function aRecord(...stops: ServedStop[]) {
  const released: string[] = [];
  const release = async (uid: string): Promise<boolean> => Promise.resolve(released.push(uid) > 0);
  return { released, record: { list: () => stops, release } };
}

describe('a restart of a pod', () => {
  it.each([
    ['', undefined],
    ['gracePeriodSeconds=5', 5],
    ['gracePeriodSeconds=-3', 1],
    ['gracePeriodSeconds=0', 0],
  ])('with the query %j gives it %o seconds', async (query, expected) => {
    const scene = new ServedPodsHarness();
    const served = scene.set({ name: 'web' });
    const asked: (number | undefined)[] = [];
    const restart = async (_: unknown, seconds: number | undefined): Promise<void> => {
      asked.push(seconds);
      const deletion = { deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds: 30 };
      scene.pods.set('uid-web', { ...served, deletion });
      return Promise.resolve();
    };
    const handle = restartPod({ table: scene.table, findPod: podFinder(scene.table), restart });
    const answer = await handle(ask(query));
    expect(asked).toEqual([expected]);
    expect(bodyOf(answer)).toMatchObject({ metadata: { name: 'web', deletionGracePeriodSeconds: 30 } });
    await expect(handle(ask('', 'other'))).rejects.toMatchObject({ code: 404 });
    await expect(handle(ask('gracePeriodSeconds=soon'))).rejects.toMatchObject({ code: 400 });
    expect(asked).toHaveLength(1);
  });
});

describe('a stopped pod', () => {
  it.each([
    ['web-node', 'uid-web-node'],
    ['web', 'uid-web-node'],
    ['adopted-node', 'uid-of-its-manifest'],
  ])('is started by the name %s', async (name, uid) => {
    const { record, released } = aRecord(
      aStop('web-node'),
      aStop('adopted-node', { manifestUid: 'uid-of-its-manifest' }),
    );
    const answer = await startPod('node', record)(ask('', name));
    expect(released).toEqual([uid]);
    expect(bodyOf(answer)).toMatchObject({ kind: 'StoppedPod', metadata: { namespace: 'default' } });
  });

  it('is not found by another name, nor in another namespace', async () => {
    const { record, released } = aRecord(aStop('web-node'));
    const handle = startPod('node', record);
    for (const [name, namespace] of [
      ['we', 'default'],
      ['web', 'other'],
    ])
      await expect(handle(ask('', name, namespace))).rejects.toMatchObject({ code: 404 });
    expect(released).toEqual([]);
  });

  it.each([
    ['web', 'default', 'pod "web" is stopped; to run it again: podloop start web'],
    ['web-node', 'default', 'pod "web-node" is stopped; to run it again: podloop start web-node'],
    ['web', 'a', 'pod "web" is stopped; to run it again: podloop start web -n a'],
    [
      'db',
      'default',
      'pod "db" was deleted, and its manifest is still there; to run it again: podloop start db',
    ],
    ['again', 'default', 'pods "again" not found'],
    ['other', 'default', 'pods "other" not found'],
  ])('is said to be so to who asks for %s in %s', (name, namespace, message) => {
    const scene = new ServedPodsHarness();
    const { record } = aRecord(
      aStop('web-node', { claims: [] }),
      aStop('web-node', { claims: [], namespace: 'a' }),
      aStop('db-node'),
      aStop('again-node', { comesBack: true }),
    );
    const find = stopExplainer(podFinder(scene.table), 'node', record);
    expect(() => find(ask('', name, namespace))).toThrow(
      expect.objectContaining({ code: 404, reason: 'NotFound', message }),
    );
  });

  it('is found as long as it ends', () => {
    const scene = new ServedPodsHarness();
    scene.set({ name: 'web-node' });
    const { record } = aRecord(aStop('web-node', { isOver: false }));
    const find = stopExplainer(podFinder(scene.table), 'node', record);
    expect(find(ask('', 'web-node')).served.pod.metadata.name).toBe('web-node');
  });

  it('is listed by namespace and name, unless it is only restarted', async () => {
    const { record } = aRecord(
      aStop('web-node', { isOver: false }),
      aStop('again-node', { comesBack: true }),
      aStop('db-node'),
      aStop('web-node', { namespace: 'a' }),
    );
    const { items } = bodyOf(await listStoppedPods(record)(ask(''))) as { items: object[] };
    expect(items).toMatchObject([
      { metadata: { namespace: 'a', name: 'web-node' } },
      { metadata: { namespace: 'default', name: 'db-node' }, isOver: true },
      { metadata: { namespace: 'default', name: 'web-node' }, isOver: false },
    ]);
  });
});
