import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { ServedPodsScene } from '../testing/served-pods-scene.js';
import { notFoundError } from './api-error.js';
import { type ApiRequest, type StreamAnswer } from './api-request.js';
import { listAllPods, listRunningPods, readContainerLog } from './kubelet-pods.js';
import { listPods } from './list-pods.js';
import { WatchPlaces } from './watch-answer.js';

function aRequest(query = '', more: Partial<ApiRequest> = {}): ApiRequest {
  return {
    ...{ method: 'GET', path: '/', params: {}, query: new URLSearchParams(query), headers: {} },
    ...{ signal: new AbortController().signal, readBody: async () => undefined, ...more },
  };
}

describe("a kubelet's paths of pods", () => {
  it('list every pod, whatever else is asked for', async () => {
    const scene = new ServedPodsScene();
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

  it('lead to the logs of one container, and say in a kubelet’s words which pod there is not', async () => {
    const asked: string[] = [];
    const params = { namespace: 'default', name: 'web', container: 'main' };
    const handler = readContainerLog(({ query }) => {
      asked.push(query.toString());
      return { kind: 'text', body: '' };
    });
    await handler(aRequest('follow=true&container=other', { params }));
    expect(asked).toEqual(['follow=true&container=main']);
    const refusing = readContainerLog(() => {
      throw notFoundError('pods', 'web');
    });
    await expect(refusing(aRequest('', { params }))).rejects.toMatchObject({
      code: 404,
      message: 'pod "web" does not exist',
    });
  });
});
