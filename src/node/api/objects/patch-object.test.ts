import { describe, expect, it } from 'vitest';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { type ApiRequest } from '../http/api-request.js';
import { type ApplyObject, type ObjectToApply } from './apply-object.js';
import { podFinder } from './list-pods.js';
import { patchConfigMap, patchPod } from './patch-object.js';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../http/request-body.js';

function ask(body: unknown, type = MERGE_PATCH, name = 'web'): ApiRequest {
  return {
    ...{ method: 'PATCH', path: '/', headers: { 'content-type': `${type}; charset=utf-8` } },
    params: { namespace: 'default', name },
    ...{ query: new URLSearchParams(), signal: new AbortController().signal, readBody: async () => body },
  };
}

function setUp(
  source = 'file',
  deletion?: { deletionTimestamp: string; deletionGracePeriodSeconds: number },
) {
  const scene = new ServedPodsHarness();
  scene.set({ name: 'web-n1', source, labels: { a: '1' }, spec: { nodeName: 'n1' } }, { deletion });
  const applied: ObjectToApply[] = [];
  const apply: ApplyObject = async (object) => {
    applied.push(object);
    return { kind: 'applied', result: 'configured' };
  };
  const metadata = { name: 'web', namespace: 'default' };
  const object = { kind: 'ConfigMap', metadata, data: new Map([['a', '1']]), binaryData: new Map() } as const;
  return {
    applied,
    pod: patchPod(podFinder(scene.table), apply),
    configMap: patchConfigMap(() => [{ object, source, createdAtMs: 0 }], apply),
  };
}

describe('a patch', () => {
  it('of a pod makes its manifest what the pod is with it, by either of its names', async () => {
    const { pod, applied } = setUp();
    const patch = { metadata: { labels: { b: '2' } } };
    for (const [type, name] of [
      [MERGE_PATCH, 'web-n1'],
      [STRATEGIC_MERGE_PATCH, 'web'],
    ] as const)
      expect(await pod(ask(patch, type, name))).toMatchObject({ kind: 'json', code: 200 });
    for (const { value } of applied)
      expect(value).toMatchObject({ metadata: { name: 'web-n1', labels: { a: '1', b: '2' } } });
    expect(applied).toHaveLength(2);
  });

  it('of a container changes that one, where the patch is of that kind', async () => {
    const { pod, applied } = setUp();
    await pod(ask({ spec: { containers: [{ name: 'main', image: 'b:2' }] } }, STRATEGIC_MERGE_PATCH));
    expect(applied[0]!.value).toMatchObject({ spec: { nodeName: 'n1', containers: [{ image: 'b:2' }] } });
  });

  it('of a ConfigMap, too', async () => {
    const { configMap, applied } = setUp();
    await configMap(ask({ data: { a: null, b: '2' } }));
    expect(applied[0]!.value).toMatchObject({ kind: 'ConfigMap', data: { b: '2' } });
    await expect(configMap(ask({}, MERGE_PATCH, 'x'))).rejects.toThrow('configmaps "x" not found');
  });

  it('is refused for what stands in no file, is being deleted, or has been changed meanwhile', async () => {
    const words = 'it is in no file of the folder, but comes from http: change it there';
    const { pod, configMap } = setUp('http');
    await expect(pod(ask({}))).rejects.toThrow(words);
    await expect(configMap(ask({}))).rejects.toThrow(words);
    const leaving = setUp('file', {
      deletionTimestamp: '2026-01-02T03:04:05Z',
      deletionGracePeriodSeconds: 1,
    });
    await expect(leaving.pod(ask({}))).rejects.toThrow('pods "web-n1": it is being deleted');
    const late = setUp().pod(ask({ metadata: { resourceVersion: '1' } }));
    await expect(late).rejects.toMatchObject({ code: 409 });
    await expect(late).rejects.toThrow('the object has been modified');
  });

  it.each([
    [[], 'the patch must be an object'],
    [{ metadata: 7 }, 'metadata must be an object'],
    [{ metadata: { name: 'other' } }, 'does not match the name on the URL'],
  ])('%j is refused', async (body, words) => {
    await expect(setUp().pod(ask(body))).rejects.toThrow(words);
  });
});
