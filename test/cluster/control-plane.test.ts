import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type WatchEvent } from '../../src/cluster/client/kube-client.js';
import { type ConfigMap, type KubeList, type Node } from '../../src/cluster/client/kube-objects.js';
import { type KubeClients, openKubeClients } from '../../src/cluster/client/open-kube-clients.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();

describe.skipIf('missing' in found)('a client of a real control plane', () => {
  let plane: ControlPlane;
  let clients: KubeClients;
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    clients = await openKubeClients({
      ...{
        file: await plane.nodeKubeconfig('lab-a'),
        version: 'test',
        environment: {},
        clock: new SystemClock(),
      },
      ...{ rateLimit: { perSecond: 50, burst: 100 }, heartbeatTimeoutMs: 10_000, logger: SILENT_LOGGER },
    });
  });

  afterAll(async () => {
    stop.abort();
    clients.close();
    await plane[Symbol.asyncDispose]();
  });

  it('is the node that its certificate names, and nobody else', async () => {
    const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const { api } = clients;
    const path = '/api/v1/nodes';
    const made = await api.request<Node>({ method: 'POST', path, body: node('lab-a') });
    expect(made.metadata?.name).toBe('lab-a');
    await expect(api.request({ method: 'POST', path, body: node('lab-b') })).rejects.toMatchObject({
      ...{ code: 403, reason: 'Forbidden' },
      message: expect.stringContaining('lab-a') as string,
    });
    await expect(api.request({ method: 'GET', path: `${path}/none` })).rejects.toMatchObject({ code: 403 });
  });

  it('holds two hundred watches over one connection, and sees every change in each', async () => {
    const path = '/api/v1/namespaces/default/configmaps';
    const { metadata: list } = await plane.admin.request<KubeList<ConfigMap>>({ method: 'GET', path });
    const resourceVersion = list!.resourceVersion!;
    const watches = Array.from({ length: 200 }, (_, index) => {
      const query = { fieldSelector: `metadata.name=map-${index}`, resourceVersion };
      return plane.admin.watch<ConfigMap>({ path, query, signal: stop.signal })[Symbol.asyncIterator]();
    });
    const first = watches.map(async (each) => each.next());
    for (let index = 0; index < 200; index++) {
      const metadata = { name: `map-${index}` };
      await plane.admin.request({ method: 'POST', path, body: { metadata, data: { at: String(index) } } });
    }
    const seen = (await Promise.all(first)).map(({ value }) => value as WatchEvent<ConfigMap>);
    expect(seen.map(({ type, object }) => `${type} ${object.data?.['at']}`)).toEqual(
      Array.from({ length: 200 }, (_, index) => `ADDED ${index}`),
    );
  });

  it('hears at once that the API server is gone, and finds it again when it is back', async () => {
    const path = '/api/v1/nodes';
    const { metadata } = await clients.api.request<Node>({ method: 'GET', path: `${path}/lab-a` });
    const query = { fieldSelector: 'metadata.name=lab-a', resourceVersion: metadata!.resourceVersion! };
    const watch = clients.api.watch<Node>({ path, query, signal: stop.signal })[Symbol.asyncIterator]();
    const ending = expect(watch.next()).rejects.toThrow();
    await plane.components.apiServer.kill();
    await ending;
    await expect(clients.api.request({ method: 'GET', path: `${path}/lab-a` })).rejects.toThrow(
      'cannot connect to',
    );
    await plane.components.apiServer.start();
    const node = await clients.api.request<Node>({ method: 'GET', path: `${path}/lab-a` });
    expect(node.metadata?.name).toBe('lab-a');
  });

  it('reads on after etcd was killed and is back', async () => {
    await plane.restart('etcd');
    const list = await untilAsync('a list', async () =>
      plane.admin.request<KubeList<ConfigMap>>({
        method: 'GET',
        path: '/api/v1/namespaces/default/configmaps',
      }),
    );
    expect(list.items!.length).toBeGreaterThanOrEqual(200);
  });
});

it.runIf('missing' in found)('has no control plane to be tried on', () => {
  console.warn(`tests on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
