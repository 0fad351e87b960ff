import { describe, expect, it } from 'vitest';
import { aRunningStatus } from '#support/builders/a-running-status.js';
import { ClusterPodsHarness, podPath, SCENE_NODE } from '#support/harness/cluster-pods-harness.js';
import { type StoredObject } from '#testing/in-memory-api/stored-object.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { podStatusReported } from '#base/channels/cluster-pod-channels.js';
import { type NodePod } from '#kube/pod/node-pod.js';

describe('pods of an API server', () => {
  it('are delivered once all were listed and the node was seen, and not before', async () => {
    await using scene = new ClusterPodsHarness();
    scene.api.drop(`/api/v1/nodes/${SCENE_NODE}`);
    scene.bind('web');
    scene.bind('elsewhere', { spec: { nodeName: 'there' } });
    scene.bind('copy', { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } });
    await scene.start();
    expect(scene.agent.delivered).toBeUndefined();
    expect(scene.pods.state.hasSynced).toBe(false);
    scene.api.put(`/api/v1/nodes/${SCENE_NODE}`, { metadata: {} });
    await scene.clock.settle();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web']);
    expect(scene.pods.state).toMatchObject({ hasSynced: true, problem: undefined });
  });

  it('are those that there are now: a server that lags behind is not believed', async () => {
    await using scene = new ClusterPodsHarness();
    await scene.start();
    const first = scene.api.reads.find(({ path }) => path === '/api/v1/pods');
    expect(first).toMatchObject({ query: { limit: '500' }, isUrgent: true });
    expect(first!.query).not.toHaveProperty('resourceVersion');
  });

  it('come and go one by one, and stay while the server is away', async () => {
    await using scene = new ClusterPodsHarness();
    await scene.start();
    expect([...scene.agent.delivered!.keys()]).toEqual([]);
    scene.bind('one');
    scene.bind('two');
    await scene.clock.settle();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-one', 'uid-two']);
    scene.api.stop();
    await scene.clock.advance(600_000);
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-one', 'uid-two']);
    scene.api.drop(podPath('one'));
    scene.api.compact();
    scene.bind('three');
    scene.api.start();
    await scene.clock.advance(31_000);
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-two', 'uid-three']);
  });

  it('stay when what answers a list gives none: that nothing is in it says of nobody that he is gone', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    scene.api.answer = ({ path }) => (path === '/api/v1/pods' ? { status: 'ok' } : undefined);
    scene.api.compact({ isBreaking: true });
    await scene.clock.advance(120_000);
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web']);
    expect(scene.pods.state.problem?.message).toBe('/api/v1/pods: the answer is no list');
    scene.api.answer = undefined;
    await scene.clock.advance(31_000);
    expect(scene.pods.state.problem).toBeUndefined();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web']);
  });

  it('are those of a backup that was restored: who is in it goes on, and how he is is told again', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    const backup = scene.api.backUp();
    scene.agent.compute('uid-web', aRunningStatus());
    scene.bind('late');
    await scene.clock.settle();
    scene.api.restore(backup);
    await scene.clock.advance(140_000);
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web', 'uid-late']);
    await scene.clock.advance(20_000);
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web']);
    expect(scene.agent.ended).toEqual([]);
    expect(scene.statusOf('web')).toMatchObject({ phase: 'Running', podIP: '10.1.0.7' });
    expect(scene.pods.state).toMatchObject({ problem: undefined, hasSynced: true });
    scene.bind('next');
    await scene.clock.settle();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web', 'uid-next']);
  });

  it('are listed and told of at once when something else has got through to the server', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    const told: number[] = [];
    const unfollow = podStatusReported.subscribe(({ durationMs }) => told.push(durationMs));
    scene.api.stop();
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.advance(300_000);
    scene.bind('new');
    scene.api.start();
    await scene.clock.settle();
    expect(scene.statusOf('web')['phase']).toBe('Pending');
    scene.pods.retryNow();
    await scene.clock.settle();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web', 'uid-new']);
    expect(scene.statusOf('web')['phase']).toBe('Running');
    unfollow();
    expect(told).toEqual([300_000]);
  });

  it('are not delivered again for what the node itself has told', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    const { deliveries } = scene.agent;
    const pod = scene.agent.delivered!.get('uid-web');
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    expect(scene.statusOf('web')['phase']).toBe('Running');
    expect(scene.agent.deliveries).toBe(deliveries);
    scene.api.change(podPath('web'), (each) => ({
      ...each,
      metadata: { ...each.metadata, labels: { a: 'b' } },
    }));
    await scene.clock.settle();
    expect(scene.agent.delivered!.get('uid-web')).not.toBe(pod);
    expect(scene.agent.delivered!.get('uid-web')!.metadata.labels).toEqual({ a: 'b' });
  });

  it('are to end with the time that they were given', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    const body = { gracePeriodSeconds: 7 };
    await scene.api.request({ method: 'DELETE', path: podPath('web'), body });
    await scene.clock.settle();
    expect(scene.agent.delivered!.get('uid-web')!.metadata).toMatchObject({ deletionGracePeriodSeconds: 7 });
  });

  it('that have ended by what the server says do not run here', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('job', { status: { phase: 'Succeeded' } });
    scene.bind('web');
    await scene.start();
    expect(scene.agent.ended).toEqual(['job Succeeded']);
    // What the server knows from here is nothing new.
    scene.agent.compute('uid-web', { phase: 'Failed' });
    await scene.clock.settle();
    expect(scene.statusOf('web')['phase']).toBe('Failed');
    expect(scene.agent.ended).toEqual(['job Succeeded']);
  });

  it('that ask for what the node has not are refused, and said to be', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web', { spec: { resourceClaims: [{ name: 'gpu' }] } });
    await scene.start();
    const rejection = scene.pods.admit(scene.agent.delivered!.get('uid-web')!);
    expect(rejection).toMatchObject({ reason: 'PodFeatureNotSupported' });
    expect(rejection!.message).toContain('spec.resourceClaims');
  });

  it('that have asked for nothing are refused while the node is short of memory', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    const pod = scene.agent.delivered!.get('uid-web')!;
    expect(scene.pods.admit(pod)).toBeUndefined();
    scene.pressure = { ...scene.pressure, memory: true };
    expect(scene.pods.admit(pod)).toEqual({
      reason: 'Evicted',
      message: 'The node had condition: [MemoryPressure]. ',
    });
  });

  it('that are for another operating system are refused in the kubelet’s words', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web', { spec: { os: { name: 'windows' } } });
    await scene.start();
    expect(scene.pods.admit(scene.agent.delivered!.get('uid-web')!)).toEqual({
      reason: 'PodOSNotSupported',
      message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    });
  });

  it('that do not fit by the labels that were seen last are judged by the node as it is now', async () => {
    await using scene = new ClusterPodsHarness();
    await scene.start();
    const node = { name: SCENE_NODE, uid: 'node-uid' };
    scene.pods.seeNode({ metadata: { ...node, labels: {} } });
    scene.bind('web', { spec: { nodeSelector: { disk: 'ssd' } } });
    scene.bind('lost', { spec: { nodeSelector: { disk: 'tape' } } });
    await scene.clock.settle();
    const { delivered } = scene.agent;
    expect([...delivered!.keys()]).toEqual(['uid-web', 'uid-lost']);
    expect(scene.pods.admit(delivered!.get('uid-web')!)).toBeUndefined();
    expect(scene.pods.admit(delivered!.get('uid-lost')!)).toMatchObject({ reason: 'NodeAffinity' });
  });

  it('that do not fit are judged by the newest node that was seen, where that was asked for before', async () => {
    await using scene = new ClusterPodsHarness();
    const label = (disk: string): StoredObject =>
      scene.api.change(`/api/v1/nodes/${SCENE_NODE}`, (node) => ({
        ...node,
        metadata: { ...node.metadata, labels: { disk } },
      }));
    const old = label('tape');
    await scene.start();
    label('ssd');
    await scene.clock.settle();
    scene.api.answer = ({ path }) => (path.endsWith(`/nodes/${SCENE_NODE}`) ? old : undefined);
    scene.bind('web', { spec: { nodeSelector: { disk: 'tape' } } });
    await scene.clock.settle();
    const { delivered } = scene.agent;
    expect(scene.pods.admit(delivered!.get('uid-web')!)).toMatchObject({ reason: 'NodeAffinity' });
  });

  it('that do not fit do not make the node one that is gone, where what answers says nothing of it', async () => {
    await using scene = new ClusterPodsHarness();
    await scene.start();
    const real = scene.api.request.bind(scene.api);
    scene.api.request = async <T>(request: Parameters<typeof real>[0]): Promise<T> =>
      request.path.endsWith(`/nodes/${SCENE_NODE}`) ? (undefined as T) : real<T>(request);
    scene.bind('lost', { spec: { nodeSelector: { disk: 'tape' } } });
    await scene.clock.settle();
    expect(scene.pods.admit(scene.agent.delivered!.get('uid-lost')!)).toMatchObject({
      reason: 'NodeAffinity',
    });
    // Only a Node that is there can have mirror pods.
    scene.agent.statics = [aNodePod({ name: 'etcd-here', uid: 'static', spec: { nodeName: SCENE_NODE } })];
    await scene.clock.advance(6_000);
    expect(scene.api.find(podPath('etcd-here'))).toBeDefined();
  });

  it('that do not fit wait no longer than the node can be asked for, and keep nobody else waiting', async () => {
    await using scene = new ClusterPodsHarness();
    await scene.start();
    scene.pods.seeNode({ metadata: { name: SCENE_NODE, labels: {} } });
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    scene.api.intercept = async (request) => {
      if (request.path.endsWith(`/nodes/${SCENE_NODE}`)) await asked;
    };
    scene.bind('doubted', { spec: { nodeSelector: { disk: 'ssd' } } });
    scene.bind('web');
    await scene.clock.settle();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web']);
    answer();
    await scene.clock.settle();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-doubted', 'uid-web']);
  });

  it('of manifests are held against the labels of the node, and judged again when these are others', async () => {
    await using scene = new ClusterPodsHarness();
    const selecting = (nodeSelector: Readonly<Record<string, string>>): NodePod =>
      aNodePod({ uid: 'static', spec: { ...aNodePod().spec, nodeSelector } });
    scene.api.intercept = () => Promise.reject(new Error('away'));
    await scene.start();
    expect(scene.pods.admit(selecting({ zone: 'a' }))).toBeUndefined();
    expect(scene.pods.admit(selecting({ disk: 'ssd' }))).toMatchObject({ reason: 'NodeAffinity' });
    const node = { name: SCENE_NODE, uid: 'node-uid' };
    const before = scene.agent.judgements;
    scene.pods.seeNode({ metadata: { ...node, labels: { disk: 'ssd' } } });
    expect(scene.agent.judgements).toBe(before + 1);
    expect(scene.pods.admit(selecting({ disk: 'ssd' }))).toBeUndefined();
    expect(scene.pods.admit(selecting({ zone: 'a' }))).toMatchObject({ reason: 'NodeAffinity' });
    scene.pods.seeNode({ metadata: { ...node, labels: { disk: 'ssd' }, resourceVersion: '7' } });
    expect(scene.agent.judgements).toBe(before + 1);
  });

  it('that nobody can read fail with the reason, and go when they are deleted', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('odd', { spec: { containers: 'none' } });
    await scene.start();
    expect(scene.agent.delivered!.size).toBe(0);
    expect(scene.statusOf('odd')).toMatchObject({ phase: 'Failed', reason: 'PodFeatureNotSupported' });
    expect(scene.events[0]).toMatch(/^odd PodFeatureNotSupported The pod cannot be read: spec.containers/);
    scene.api.change(podPath('odd'), (each) => ({
      ...each,
      metadata: {
        ...each.metadata,
        deletionTimestamp: '2026-01-02T03:04:05Z',
        deletionGracePeriodSeconds: 30,
      },
    }));
    await scene.clock.settle();
    expect(scene.api.find(podPath('odd'))).toBeUndefined();
  });

  it('that nobody can read and that an agent before this one has started are told of once they have ended', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('odd', { spec: { containers: 'none' }, status: { phase: 'Running' } });
    scene.agent.running.add('uid-odd');
    await scene.start();
    await scene.api.request({ method: 'DELETE', path: podPath('odd') });
    await scene.clock.advance(60_000);
    expect(scene.changesOf('odd')).toEqual(['DELETE']);
    expect(scene.statusOf('odd')).toEqual({ phase: 'Running' });
    scene.agent.running.delete('uid-odd');
    scene.pods.podEndChanged('uid-odd');
    await scene.clock.settle();
    expect(scene.changesOf('odd').slice(0, 3)).toMatchObject([
      'DELETE',
      { phase: 'Failed', reason: 'PodFeatureNotSupported' },
      'DELETE',
    ]);
    expect(scene.api.find(podPath('odd'))).toBeUndefined();
  });

  it('whose name a static pod has wait with the reason, and begin when that is gone', async () => {
    await using scene = new ClusterPodsHarness();
    scene.agent.refusals.set('uid-web', 'the source file (web.yaml:1) has the pod default/web already');
    scene.bind('web', { status: { phase: 'Pending', qosClass: 'Burstable' } });
    await scene.start();
    const message = 'The pod is not started: the source file (web.yaml:1) has the pod default/web already';
    expect(scene.statusOf('web')).toMatchObject({
      ...{ phase: 'Pending', reason: 'PodNameInUse', message, qosClass: 'Burstable' },
    });
    scene.bind('other');
    await scene.clock.advance(60_000);
    expect(scene.events).toEqual([`web PodNameInUse ${message}`]);
    expect(scene.changesOf('web')).toHaveLength(1);
    scene.agent.refusals.clear();
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    expect(scene.statusOf('web')['phase']).toBe('Running');
    expect(scene.statusOf('web')).not.toHaveProperty('reason');
  });

  it('whose name a static pod has go when they are deleted', async () => {
    await using scene = new ClusterPodsHarness();
    scene.agent.refusals.set('uid-web', 'the source file has the pod default/web already');
    scene.bind('web');
    await scene.start();
    await scene.api.request({ method: 'DELETE', path: podPath('web') });
    await scene.clock.settle();
    expect(scene.changesOf('web').slice(2, 4)).toMatchObject([{ phase: 'Failed' }, 'DELETE']);
    expect(scene.api.find(podPath('web'))).toBeUndefined();
  });

  it('that become unreadable go on as they are, and end when they are to', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    const before = scene.agent.delivered!.get('uid-web');
    scene.api.change(podPath('web'), (each) => ({ ...each, spec: { ...each.spec, containers: 1 } }));
    await scene.clock.settle();
    expect(scene.agent.delivered!.get('uid-web')).toBe(before);
    await scene.api.request({ method: 'DELETE', path: podPath('web') });
    await scene.clock.settle();
    const { metadata, spec } = scene.agent.delivered!.get('uid-web')!;
    expect(metadata.deletionTimestamp).toBeDefined();
    expect(spec).toBe(before!.spec);
  });
});
