import { describe, expect, it } from 'vitest';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { type ApiRequest } from '../http/api-request.js';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../http/request-body.js';
import { ephemeralContainerHandlers } from './ephemeral-containers.js';
import { podFinder } from './list-pods.js';

const OLD = { name: 'old', image: 'tools:1' };
const NEW = { name: 'new', image: 'tools:1' };

function ask(body: unknown, { type = STRATEGIC_MERGE_PATCH, query = '' } = {}): ApiRequest {
  return {
    ...{ method: 'PATCH', path: '/', headers: { 'content-type': type } },
    params: { namespace: 'default', name: 'web' },
    ...{ query: new URLSearchParams(query), signal: new AbortController().signal },
    readBody: async () => body,
  };
}

function setUp() {
  const scene = new ServedPodsHarness();
  scene.set({ name: 'web-n1', spec: { nodeName: 'n1', ephemeralContainers: [OLD] } });
  const asked: { readonly list: readonly unknown[]; readonly isDryRun: boolean }[] = [];
  const handlers = ephemeralContainerHandlers({
    table: scene.table,
    findPod: podFinder(scene.table),
    debug: async (served, list, { isDryRun }) => {
      asked.push({ list, isDryRun });
      const ephemeralContainers = list as readonly { readonly name: string; readonly image: string }[];
      return { ...served, pod: { ...served.pod, spec: { ...served.pod.spec, ephemeralContainers } } };
    },
  });
  return { ...handlers, asked };
}

describe('the ephemeral containers of a pod', () => {
  it('are patched as kubectl debug does it, and answered with the pod', async () => {
    const { patch, asked } = setUp();
    const order = [{ name: 'old' }, { name: 'new' }];
    const body = { ephemeralContainers: [NEW], '$setElementOrder/ephemeralContainers': order };
    const answer = await patch(ask({ spec: body }, { query: 'dryRun=All' }));
    expect(asked).toEqual([{ list: [OLD, NEW], isDryRun: true }]);
    expect(answer).toMatchObject({
      kind: 'json',
      body: { kind: 'Pod', metadata: { name: 'web-n1' }, spec: { ephemeralContainers: [OLD, NEW] } },
    });
  });

  it('are replaced as a whole by a merge patch and by a PUT', async () => {
    const { patch, replace, asked } = setUp();
    await patch(ask({ spec: { ephemeralContainers: [NEW] } }, { type: MERGE_PATCH }));
    await replace(ask({ metadata: { name: 'web-n1' }, spec: { ephemeralContainers: [OLD, NEW] } }));
    await replace(ask({ metadata: { name: 'web' }, spec: {} }));
    expect(asked.map(({ list }) => list)).toEqual([[NEW], [OLD, NEW], []]);
  });

  it('are refused for another pod, and when they are no list', async () => {
    const { patch, replace, asked } = setUp();
    await expect(replace(ask({ metadata: { name: 'db' }, spec: {} }))).rejects.toThrow(
      'the name of the object (db) does not match the name on the URL (web-n1)',
    );
    await expect(replace(ask({ metadata: { name: 'web' } }))).rejects.toThrow(
      'the body must be a Pod with a list spec.ephemeralContainers',
    );
    await expect(patch(ask({ spec: { ephemeralContainers: { name: 'x' } } }))).rejects.toMatchObject({
      code: 400,
    });
    await expect(patch(ask([]))).rejects.toThrow('the patch must be an object');
    expect(asked).toEqual([]);
  });
});
