import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { type ApiRequest, type StreamAnswer } from '../http/api-request.js';
import { kubeletPodFinder } from './find-kubelet-pod.js';
import { listAllPods, listRunningPods, readContainerLog } from './kubelet-pods.js';
import { listPods, podFinder } from '../objects/list-pods.js';
import { WatchPlaces } from '../http/watch-answer.js';

function aRequest(query = '', more: Partial<ApiRequest> = {}): ApiRequest {
  return {
    ...{ method: 'GET', path: '/', params: {}, query: new URLSearchParams(query), headers: {} },
    ...{ signal: new AbortController().signal, readBody: async () => undefined, ...more },
  };
}

describe("a kubelet's paths of pods", () => {
  it('list every pod, whatever else is asked for', async () => {
    const scene = new ServedPodsHarness();
    scene.set({ name: 'a' });
    scene.set({ name: 'b' });
    const watches = new WatchPlaces({ clock: new FakeClock(), limit: 1 });
    const handler = listAllPods(listPods({ table: scene.table, watches }));
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const { pieces } = (await handler(aRequest('watch=true&labelSelector=a', { headers }))) as StreamAnswer;
    let text = '';
    for await (const piece of pieces) text += String(piece);
    const list = JSON.parse(text) as { kind: string; items: { metadata: { name: string } }[] };
    expect([list.kind, ...list.items.map(({ metadata }) => metadata.name)]).toEqual(['PodList', 'a', 'b']);
  });

  it('show what runs', async () => {
    const pod = {
      uid: 'u',
      namespace: 'default',
      name: 'web',
      containers: [{ name: 'main', image: 'app:1' }],
    };
    expect(await listRunningPods(() => [pod])(aRequest())).toMatchObject({
      body: {
        kind: 'PodList',
        items: [
          { metadata: { uid: 'u', name: 'web' }, spec: { containers: [{ name: 'main', image: 'app:1' }] } },
        ],
      },
    });
  });

  it('lead to the logs of one container, and say in a kubelet’s words what there is not', async () => {
    const scene = new ServedPodsHarness();
    scene.set({ name: 'web' });
    const asked: string[] = [];
    const params = { namespace: 'default', name: 'web', container: 'main' };
    const handler = readContainerLog(
      ({ query }) => {
        asked.push(query.toString());
        return { kind: 'text', body: '' };
      },
      kubeletPodFinder(podFinder(scene.table)),
    );
    await handler(aRequest('follow=true&container=other', { params }));
    await handler(aRequest('tail=7', { params }));
    await handler(aRequest('tail=all&tailLines=3', { params }));
    expect(asked).toEqual([
      'follow=true&container=main',
      'tail=7&container=main&tailLines=7',
      'tail=all&container=main',
    ]);
    await expect(handler(aRequest('', { params: { ...params, name: 'db' } }))).rejects.toMatchObject({
      ...{ code: 404, message: 'pod "db" does not exist' },
    });
    await expect(handler(aRequest('', { params: { ...params, container: 'side' } }))).rejects.toMatchObject({
      ...{ code: 404, message: 'container "side" not found in pod "web"' },
    });
  });
});
