import { describe, expect, it } from 'vitest';
import { type ApiRequest } from '../http/api-request.js';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { ApiRouter } from '../http/api-router.js';
import { kubeletPodFinder } from './find-kubelet-pod.js';
import { addKubeletStreams } from './kubelet-streams.js';
import { podFinder } from '../objects/list-pods.js';

/** What the handler of Kubernetes' API is asked for behind a kubelet's path. */
async function ask(method: string, path: string, query = ''): Promise<unknown> {
  const router = new ApiRouter();
  const scene = new ServedPodsHarness();
  scene.set({ namespace: 'ns', name: 'web' });
  const findPod = kubeletPodFinder(podFinder(scene.table));
  const asked: unknown[] = [];
  const note = (kind: string) => async (request: ApiRequest) => {
    asked.push([kind, request.params['namespace'], request.params['name'], String(request.query)]);
    return Promise.resolve({ url: new URL('http://127.0.0.1/') });
  };
  const handlers = { exec: note('exec'), attach: note('attach'), portForward: note('ports') };
  addKubeletStreams(router, handlers, findPod);
  const { route, params } = router.find(method, path);
  if (route.kind !== 'upgrade') throw new Error('it is no upgrade');
  await route.handle({
    ...{ method, path, params, headers: {}, query: new URLSearchParams(query) },
    ...{ signal: new AbortController().signal, readBody: async () => Promise.resolve(undefined) },
  });
  return asked[0];
}

describe('the streams of a kubelet', () => {
  it.each(['GET', 'POST'])('are those of the API, by their kubelet’s names: %s', async (method) => {
    expect(await ask(method, '/exec/ns/web/main', 'command=sh&command=-c&input=1&output=1&tty=1')).toEqual([
      ...['exec', 'ns', 'web'],
      'command=sh&command=-c&input=1&output=1&tty=true&container=main&stdin=true&stdout=true&stderr=false',
    ]);
    expect(await ask(method, '/attach/ns/web/main', 'output=1&error=1')).toEqual([
      ...['attach', 'ns', 'web'],
      'output=1&error=1&container=main&stdin=false&stdout=true&stderr=true&tty=false',
    ]);
    expect(await ask(method, '/portForward/ns/web')).toEqual(['ports', 'ns', 'web', '']);
    expect(await ask(method, '/portForward/ns/web', 'port=80&port=81')).toEqual([
      ...['ports', 'ns', 'web', 'ports=80&ports=81'],
    ]);
  });

  it('may name the UID of the pod, and then lead to no other', async () => {
    expect(await ask('POST', '/exec/ns/web/uid-web/main', 'command=sh&output=1')).toEqual([
      ...['exec', 'ns', 'web'],
      'command=sh&output=1&container=main&stdin=false&stdout=true&stderr=false&tty=false',
    ]);
    expect(await ask('GET', '/attach/ns/web/uid-web/main', 'output=1')).toEqual([
      ...['attach', 'ns', 'web'],
      'output=1&container=main&stdin=false&stdout=true&stderr=false&tty=false',
    ]);
    expect(await ask('GET', '/portForward/ns/web/uid-web', 'port=80')).toEqual([
      ...['ports', 'ns', 'web', 'ports=80'],
    ]);
    for (const path of [
      '/exec/ns/web/former/main',
      '/attach/ns/web/former/main',
      '/portForward/ns/web/former',
    ]) {
      await expect(ask('POST', path)).rejects.toMatchObject({ code: 404, message: 'pod not found' });
    }
    await expect(ask('POST', '/exec/ns/db/main')).rejects.toMatchObject({
      ...{ code: 404, message: 'pod does not exist' },
    });
  });

  it('take the container from the path, whatever else is asked for', async () => {
    expect(await ask('GET', '/attach/ns/web/main', 'container=other&output=1&stdin=true')).toEqual([
      ...['attach', 'ns', 'web', 'container=main&output=1&stdin=false&stdout=true&stderr=false&tty=false'],
    ]);
  });
});
