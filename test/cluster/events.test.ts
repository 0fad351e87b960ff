import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeClients, openKubeClients } from '../../src/cluster/client/open-kube-clients.js';
import { type Event, type KubeList, type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { ClusterEvents } from '../../src/cluster/events/cluster-events.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const EVENTS = '/api/v1/namespaces/default/events';

describe.skipIf('missing' in found)('the events of a node at a real control plane', () => {
  let plane: ControlPlane;
  let clients: KubeClients;
  let events: ClusterEvents;
  let running: Promise<void>;
  let web: { readonly uid: string; readonly namespace: string; readonly name: string };
  const stop = new AbortController();

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    const clock = new SystemClock();
    clients = await openKubeClients({
      ...{ file: await plane.nodeKubeconfig('lab-e'), version: 'test', environment: {}, clock },
      ...{ rateLimit: { perSecond: 50, burst: 100 }, heartbeatTimeoutMs: 10_000, logger: SILENT_LOGGER },
    });
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'lab-e' } };
    await plane.admin.request<Node>({ method: 'POST', path: '/api/v1/nodes', body: node });
    const { metadata } = await plane.admin.request<Pod>({
      ...{ method: 'POST', path: '/api/v1/namespaces/default/pods' },
      body: {
        metadata: { name: 'web' },
        spec: { nodeName: 'lab-e', containers: [{ name: 'app', image: 'example.com/app' }] },
      },
    });
    web = { uid: metadata!.uid!, namespace: 'default', name: 'web' };
    events = new ClusterEvents({
      ...{ client: clients.api, nodeName: 'lab-e', clock, logger: SILENT_LOGGER },
      ...{ findPod: () => undefined, hide: (text: string) => text, nodeUid: () => undefined },
    });
    running = events.run(stop.signal);
  });

  afterAll(async () => {
    stop.abort();
    await running;
    clients.close();
    await plane[Symbol.asyncDispose]();
  });

  const list = async (fieldSelector: string): Promise<readonly Event[]> => {
    const query = { fieldSelector };
    return (await plane.admin.request<KubeList<Event>>({ method: 'GET', path: EVENTS, query })).items!;
  };
  const back = {
    type: 'Warning',
    reason: 'BackOff',
    container: 'app',
    message: 'Back-off restarting failed container app',
  } as const;

  it('are taken from a node, counted, and found as a kubelet’s', async () => {
    for (let time = 0; time < 3; time++) {
      events.record(web, back);
      await untilAsync('the event', async () => events.stats.created + events.stats.counted > time);
    }
    expect(events.stats).toMatchObject({ created: 1, counted: 2, rejected: 0 });
    const selector = `involvedObject.uid=${web.uid},involvedObject.fieldPath=spec.containers{app},source=kubelet,reportingComponent=kubelet`;
    expect(await list(selector)).toMatchObject([
      { reason: 'BackOff', count: 3, source: { component: 'kubelet', host: 'lab-e' } },
    ]);
  });

  it('are shown by kubectl describe, of pods and of nodes', async () => {
    events.recordNode({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
    await untilAsync('the event', async () => (await list('reason=Starting')).length > 0);
    expect(await plane.kubectl('describe', 'pod', 'web')).toMatch(
      // Newer ones say which container it is about, too.
      /Warning\s+BackOff\s+.*\(x3 over .*\)\s+kubelet\s+(spec\.containers\{app\}: )?Back-off restarting failed container app/,
    );
    expect(await plane.kubectl('describe', 'node', 'lab-e')).toMatch(
      /Normal\s+Starting\s+.*kubelet\s+Starting kubelet\./,
    );
  });

  it('of static pods are shown with their mirror pods', async () => {
    const hash = '0123456789abcdef0123456789abcdef';
    const annotations = { 'kubernetes.io/config.mirror': hash, 'kubernetes.io/config.hash': hash };
    await clients.api.request({
      ...{ method: 'POST', path: '/api/v1/namespaces/default/pods' },
      body: {
        metadata: { name: 'proxy-lab-e', annotations, ownerReferences: [await ownNode()] },
        spec: {
          nodeName: 'lab-e',
          containers: [{ name: 'app', image: 'example.com/app' }],
          tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
        },
      },
    });
    const told = { type: 'Normal', reason: 'Pulled', message: 'Container image is there' } as const;
    events.record({ uid: hash, namespace: 'default', name: 'proxy-lab-e' }, told);
    await untilAsync('the event', async () => (await list('reason=Pulled')).length > 0);
    expect(await plane.kubectl('describe', 'pod', 'proxy-lab-e')).toContain('Container image is there');
  });

  it('are made anew after somebody has deleted them, and dropped where the namespace is gone', async () => {
    await plane.kubectl('delete', 'events', '--all');
    events.record(web, back);
    await untilAsync('the event', async () => (await list('reason=BackOff')).length > 0);
    expect((await list('reason=BackOff'))[0]!.count).toBe(4);
    events.record({ uid: 'u', namespace: 'nowhere', name: 'web' }, back);
    await untilAsync('its end', async () => events.stats.rejected === 1);
  });

  it('are one from the tenth of a kind on, and no more than twenty-five of a pod', async () => {
    const busy = { uid: 'busy-uid', namespace: 'default', name: 'busy' };
    const before = events.stats.filtered;
    for (let number = 1; number <= 40; number++) {
      const message = `Readiness probe failed: ${number}`;
      events.record(busy, { type: 'Warning', reason: 'Unhealthy', message });
    }
    const all = await untilAsync('the last of them', async () => {
      const those = await list('involvedObject.uid=busy-uid');
      return those.some(({ count }) => count === 16) && those;
    });
    expect(all).toHaveLength(10);
    const combined = '(combined from similar events): ';
    expect(all.filter(({ message }) => message?.startsWith(combined))).toMatchObject([
      { count: 16, message: `${combined}Readiness probe failed: 25` },
    ]);
    expect(events.stats.filtered - before).toBe(15);
  });

  it('come when an API server that was away is back', async () => {
    await plane.components.apiServer.kill();
    const told = { type: 'Normal', reason: 'Killing', message: 'Stopping container app' } as const;
    for (let time = 0; time < 4; time++) events.record(web, told);
    await untilAsync('a try', async () => events.stats.waiting === 0);
    await plane.components.apiServer.start();
    await untilAsync('the event', async () => {
      events.retryNow();
      return (await list('reason=Killing')).length > 0;
    });
    expect((await list('reason=Killing'))[0]!.count).toBe(4);
    expect(events.stats).toMatchObject({ abandoned: 0, waiting: 0 });
  });

  const ownNode = async (): Promise<object> => {
    const { metadata } = await plane.admin.request<Node>({ method: 'GET', path: '/api/v1/nodes/lab-e' });
    return { apiVersion: 'v1', kind: 'Node', name: 'lab-e', uid: metadata!.uid!, controller: true };
  };
});

it.runIf('missing' in found)('has no control plane to be tried on', () => {
  console.warn(`tests on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
