import { describe, expect, it } from 'vitest';
import { ApiError } from '../client/kube-client.js';
import { aRunningStatus } from '#support/builders/a-running-status.js';
import { ClusterPodsHarness, podPath, SCENE_NODE } from '#support/harness/cluster-pods-harness.js';
import { laggingWatch } from '#support/fakes/lagging-watch.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';

describe('mirror pods', () => {
  const staticPod = (version = 'v1') =>
    aNodePod({
      name: 'etcd-here',
      uid: 'static-uid',
      annotations: {
        [STATIC_POD_ANNOTATIONS.uid]: 'static-uid',
        [STATIC_POD_ANNOTATIONS.manifestHash]: version,
      },
    });

  it('stand for static pods, belong to the node, and have their status', async () => {
    await using scene = new ClusterPodsHarness();
    scene.agent.statics = [staticPod()];
    await scene.start();
    const mirror = scene.api.find(podPath('etcd-here'))!;
    expect(mirror).toMatchObject({
      metadata: {
        annotations: {
          'kubernetes.io/config.mirror': 'static-uid',
          'kubernetes.io/config.hash': 'static-uid',
          'kubernetes.io/config.source': 'file',
        },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Node', name: SCENE_NODE, uid: 'node-uid', controller: true },
        ],
      },
      spec: { tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] },
    });
    expect(mirror.metadata.uid).not.toBe('static-uid');
    scene.api.change(podPath('etcd-here'), (each) => ({
      ...each,
      spec: { ...each.spec, nodeName: SCENE_NODE },
    }));
    scene.agent.compute('static-uid', aRunningStatus());
    await scene.clock.settle();
    expect(scene.statusOf('etcd-here')['phase']).toBe('Running');
    expect(scene.agent.delivered!.size).toBe(0);
  });

  it('come back when they are deleted, and are made anew when the manifest changes', async () => {
    await using scene = new ClusterPodsHarness();
    scene.agent.statics = [{ ...staticPod(), spec: { ...staticPod().spec, nodeName: SCENE_NODE } }];
    await scene.start();
    const uid = (): string | undefined => scene.api.find(podPath('etcd-here'))?.metadata.uid;
    const first = uid();
    await scene.api.request({ method: 'DELETE', path: podPath('etcd-here') });
    await scene.clock.settle();
    const second = uid();
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
    scene.agent.statics = [{ ...staticPod('v2'), spec: { ...staticPod().spec, nodeName: SCENE_NODE } }];
    await scene.clock.advance(6_000);
    expect(uid()).not.toBe(second);
    expect(scene.api.find(podPath('etcd-here'))!.metadata.annotations).toMatchObject({
      [STATIC_POD_ANNOTATIONS.manifestHash]: 'v2',
    });
  });

  it('are not lost when the watch tells late of those that were before them', async () => {
    await using scene = new ClusterPodsHarness();
    const watch = laggingWatch(scene);
    const version = (hash: string): NodePod => {
      const pod = staticPod(hash);
      return { ...pod, spec: { ...pod.spec, nodeName: SCENE_NODE } };
    };
    scene.agent.statics = [version('v1')];
    await scene.start();
    watch.hold();
    scene.api.change(podPath('etcd-here'), (each) => ({
      ...each,
      metadata: { ...each.metadata, labels: { seen: 'by-somebody' } },
    }));
    scene.agent.statics = [version('v2')];
    await scene.clock.advance(6_000);
    const made = scene.api.find(podPath('etcd-here'))!.metadata;
    expect(made.annotations).toMatchObject({ [STATIC_POD_ANNOTATIONS.manifestHash]: 'v2' });
    watch.letGo();
    await scene.clock.settle();
    scene.agent.compute('static-uid', aRunningStatus());
    await scene.clock.advance(60_000);
    expect(scene.statusOf('etcd-here')['phase']).toBe('Running');
    expect(scene.api.find(podPath('etcd-here'))!.metadata.uid).toBe(made.uid);
    expect(scene.pods.state.mirrors).toBe(1);
    scene.agent.statics = [];
    scene.agent.finished.add('static-uid');
    await scene.clock.advance(6_000);
    expect(scene.api.find(podPath('etcd-here'))).toBeUndefined();
  });

  it('that are there and were not shown yet are taken up', async () => {
    await using scene = new ClusterPodsHarness();
    const watch = laggingWatch(scene);
    await scene.start();
    watch.hold();
    const annotations = {
      ...staticPod().metadata.annotations,
      'kubernetes.io/config.mirror': 'static-uid',
    };
    const { uid } = scene.bind('etcd-here', { metadata: { annotations } }).metadata;
    scene.agent.statics = [staticPod()];
    await scene.clock.advance(6_000);
    scene.agent.compute('static-uid', aRunningStatus());
    await scene.clock.advance(60_000);
    expect(scene.statusOf('etcd-here')['phase']).toBe('Running');
    expect(scene.api.find(podPath('etcd-here'))!.metadata.uid).toBe(uid);
    expect(scene.api.changes.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(scene.events).toEqual([]);
  });

  it('whose name another pod has are told of, and made as soon as that is gone', async () => {
    await using scene = new ClusterPodsHarness();
    const { uid } = scene.bind('etcd-here').metadata;
    scene.agent.statics = [{ ...staticPod(), spec: { ...staticPod().spec, nodeName: SCENE_NODE } }];
    await scene.start();
    await scene.clock.advance(600_000);
    expect(scene.events).toEqual([
      `etcd-here FailedMirrorPod The API server does not take the mirror pod: pod default/etcd-here is there already and is no mirror pod of this node (uid ${uid})`,
    ]);
    expect(scene.api.find(podPath('etcd-here'))!.metadata.uid).toBe(uid);
    scene.api.drop(podPath('etcd-here'));
    await scene.clock.settle();
    expect(scene.api.find(podPath('etcd-here'))!.metadata.annotations).toMatchObject({
      'kubernetes.io/config.mirror': 'static-uid',
    });
  });

  it('whose name a pod elsewhere has are told of, too: a node is not shown that', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('etcd-here', { spec: { nodeName: 'there' } });
    scene.api.intercept = (request) => {
      if (!('method' in request) || request.method !== 'GET' || request.path !== podPath('etcd-here')) return;
      throw new ApiError(403, 'Forbidden', 'can only get its own pods');
    };
    scene.agent.statics = [{ ...staticPod(), spec: { ...staticPod().spec, nodeName: SCENE_NODE } }];
    await scene.start();
    await scene.clock.advance(600_000);
    expect(scene.events).toEqual([
      'etcd-here FailedMirrorPod The API server does not take the mirror pod: pod default/etcd-here is there already and is no mirror pod of this node',
    ]);
  });

  it('on which somebody has a finalizer are waited for, and made anew then', async () => {
    await using scene = new ClusterPodsHarness();
    const nodeName = SCENE_NODE;
    scene.agent.statics = [{ ...staticPod(), spec: { ...staticPod().spec, nodeName } }];
    await scene.start();
    const { uid } = scene.api.change(podPath('etcd-here'), (each) => ({
      ...each,
      metadata: { ...each.metadata, finalizers: ['example.com/keep'] },
    })).metadata;
    scene.agent.statics = [{ ...staticPod('v2'), spec: { ...staticPod().spec, nodeName } }];
    await scene.clock.advance(60_000);
    expect(scene.changesOf('etcd-here')).toEqual(['DELETE']);
    expect(scene.api.find(podPath('etcd-here'))!.metadata.uid).toBe(uid);
    scene.api.drop(podPath('etcd-here'));
    await scene.clock.settle();
    expect(scene.api.find(podPath('etcd-here'))!.metadata.annotations).toMatchObject({
      [STATIC_POD_ANNOTATIONS.manifestHash]: 'v2',
    });
    expect(scene.events).toEqual([]);
  });

  it('that a kubelet left stay with static pods that were adopted, and are made anew when these are edited', async () => {
    await using scene = new ClusterPodsHarness();
    const version = (hash: string, image = 'app'): NodePod => {
      const pod = staticPod(hash);
      return { ...pod, spec: { ...pod.spec, containers: [{ name: 'main', image }], nodeName: SCENE_NODE } };
    };
    scene.agent.statics = [version('v1')];
    const annotations = {
      [STATIC_POD_ANNOTATIONS.source]: 'file',
      [STATIC_POD_ANNOTATIONS.uid]: 'static-uid',
      'kubernetes.io/config.mirror': 'static-uid',
      'kubernetes.io/config.seen': '2026-01-02T03:00:00Z',
    };
    const spec = { tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] };
    const kubelets = scene.bind('etcd-here', { metadata: { annotations }, spec }).metadata.uid;
    const uid = (): string | undefined => scene.api.find(podPath('etcd-here'))?.metadata.uid;
    await scene.start();
    scene.agent.compute('static-uid', aRunningStatus());
    await scene.clock.settle();
    expect(scene.statusOf('etcd-here')['phase']).toBe('Running');
    await scene.stop();
    await scene.start();
    scene.agent.compute('static-uid', aRunningStatus(1));
    await scene.clock.settle();
    expect(scene.statusOf('etcd-here')).toMatchObject({ containerStatuses: [{ restartCount: 1 }] });
    scene.api.change(podPath('etcd-here'), (each) => ({
      ...each,
      metadata: { ...each.metadata, labels: { seen: 'by-somebody' } },
    }));
    await scene.clock.advance(60_000);
    expect([uid(), scene.changesOf('etcd-here').includes('DELETE')]).toEqual([kubelets, false]);
    scene.agent.statics = [version('v2', 'newer')];
    await scene.clock.advance(6_000);
    expect(uid()).not.toBe(kubelets);
    expect(scene.api.find(podPath('etcd-here'))).toMatchObject({
      metadata: { annotations: { [STATIC_POD_ANNOTATIONS.manifestHash]: 'v2' } },
      spec: { containers: [{ image: 'newer' }] },
    });
  });

  it('that a kubelet left of another version are made anew', async () => {
    await using scene = new ClusterPodsHarness();
    scene.agent.statics = [{ ...staticPod(), spec: { ...staticPod().spec, nodeName: SCENE_NODE } }];
    const annotations = {
      [STATIC_POD_ANNOTATIONS.source]: 'file',
      [STATIC_POD_ANNOTATIONS.uid]: 'static-uid',
      'kubernetes.io/config.mirror': 'static-uid',
    };
    scene.bind('etcd-here', { metadata: { annotations } });
    await scene.start();
    expect(scene.api.find(podPath('etcd-here'))!.metadata.annotations).toMatchObject({
      [STATIC_POD_ANNOTATIONS.manifestHash]: 'v1',
    });
  });

  it('go with their static pods, once these have ended; and not before all manifests were read', async () => {
    await using scene = new ClusterPodsHarness();
    const pod = { ...staticPod(), spec: { ...staticPod().spec, nodeName: SCENE_NODE } };
    scene.agent.statics = [pod];
    await scene.start();
    scene.agent.compute('static-uid', aRunningStatus());
    await scene.clock.settle();
    scene.agent.statics = undefined;
    await scene.clock.advance(60_000);
    expect(scene.api.find(podPath('etcd-here'))).toBeDefined();
    scene.agent.statics = [];
    await scene.clock.advance(60_000);
    expect(scene.api.find(podPath('etcd-here'))).toBeDefined();
    scene.agent.finished.add('static-uid');
    scene.pods.podEndChanged('static-uid');
    await scene.clock.settle();
    expect(scene.api.find(podPath('etcd-here'))).toBeUndefined();
  });

  it('are not gone by an answer that says nothing: their deletion is asked for again', async () => {
    await using scene = new ClusterPodsHarness();
    scene.agent.statics = [{ ...staticPod(), spec: { ...staticPod().spec, nodeName: SCENE_NODE } }];
    await scene.start();
    const real = scene.api.request.bind(scene.api);
    scene.api.request = async <T>(request: Parameters<typeof real>[0]): Promise<T> =>
      request.method === 'DELETE' ? (undefined as T) : real<T>(request);
    scene.agent.statics = [];
    await scene.clock.advance(30_000);
    expect(scene.pods.state.mirrors).toBe(1);
    scene.api.request = real;
    await scene.clock.advance(60_000);
    expect(scene.api.find(podPath('etcd-here'))).toBeUndefined();
    expect(scene.pods.state.mirrors).toBe(0);
  });

  it('wait for the node, and what is refused keeps nobody else from his', async () => {
    await using scene = new ClusterPodsHarness();
    scene.api.drop(`/api/v1/nodes/${SCENE_NODE}`);
    const other = aNodePod({ name: 'good-here', uid: 'good', spec: { nodeName: SCENE_NODE } });
    scene.agent.statics = [staticPod(), other];
    scene.api.intercept = (request) => {
      const body = 'method' in request ? (request.body as { metadata?: { name?: string } }) : undefined;
      if (body?.metadata?.name === 'etcd-here') throw new ApiError(403, 'Forbidden', 'no secrets');
    };
    await scene.start();
    await scene.clock.advance(30_000);
    expect(scene.api.changes).toEqual([]);
    scene.api.put(`/api/v1/nodes/${SCENE_NODE}`, { metadata: {} });
    await scene.clock.advance(1_000);
    expect(scene.api.find(podPath('good-here'))).toBeDefined();
    await scene.clock.advance(600_000);
    expect(scene.events).toEqual([
      'etcd-here FailedMirrorPod The API server does not take the mirror pod: no secrets',
    ]);
    const tries = scene.api.changes.filter(({ method }) => method === 'POST').length;
    expect(tries).toBeLessThan(20);
  });
});
