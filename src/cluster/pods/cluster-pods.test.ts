import { describe, expect, it } from 'vitest';
import { ApiError, type WatchEvent, type WatchRequest } from '../client/kube-client.js';
import { ClusterPodsScene, podPath, SCENE_NODE } from '../../testing/cluster-pods-scene.js';
import { aNodePod } from '../../testing/node-pod-builder.js';
import { podStatusTold } from '../../util/cluster-pod-channels.js';
import { type NodePod } from '../../model/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '../../model/static-pod.js';

const running = (restartCount = 0) =>
  ({
    phase: 'Running',
    startTime: '2026-01-02T03:00:00Z',
    hostIP: '10.0.0.1',
    podIP: '10.1.0.7',
    podIPs: [{ ip: '10.1.0.7' }],
    conditions: [
      { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-02T03:00:02Z' },
      {
        type: 'PodScheduled',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2026-01-02T03:04:05Z',
      },
    ],
    containerStatuses: [
      {
        ...{ name: 'main', ready: true, started: true, restartCount, image: 'app', imageID: 'id' },
        ...{ state: { running: { startedAt: '2026-01-02T03:00:01Z' } }, lastState: {} },
      },
    ],
  }) as const;

describe('pods of an API server', () => {
  it('are delivered once all were listed and the node was seen, and not before', async () => {
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
    await scene.start();
    const first = scene.api.reads.find(({ path }) => path === '/api/v1/pods');
    expect(first).toMatchObject({ query: { limit: '500' }, isUrgent: true });
    expect(first!.query).not.toHaveProperty('resourceVersion');
  });

  it('come and go one by one, and stay while the server is away', async () => {
    await using scene = new ClusterPodsScene();
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

  it('are listed and told of at once when something else has got through to the server', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    const told: number[] = [];
    const unfollow = podStatusTold.subscribe(({ durationMs }) => told.push(durationMs));
    scene.api.stop();
    scene.agent.compute('uid-web', running());
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
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    const { deliveries } = scene.agent;
    const pod = scene.agent.delivered!.get('uid-web');
    scene.agent.compute('uid-web', running());
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
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    const body = { gracePeriodSeconds: 7 };
    await scene.api.request({ method: 'DELETE', path: podPath('web'), body });
    await scene.clock.settle();
    expect(scene.agent.delivered!.get('uid-web')!.metadata).toMatchObject({ deletionGracePeriodSeconds: 7 });
  });

  it('that have ended by what the server says do not run here', async () => {
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
    scene.bind('web', { spec: { hostUsers: false } });
    await scene.start();
    const rejection = scene.pods.admit(scene.agent.delivered!.get('uid-web')!);
    expect(rejection).toMatchObject({ reason: 'PodFeatureNotSupported' });
    expect(rejection!.message).toContain('spec.hostUsers');
  });

  it('that have asked for nothing are refused while the node is short of memory', async () => {
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
    scene.bind('web', { spec: { os: { name: 'windows' } } });
    await scene.start();
    expect(scene.pods.admit(scene.agent.delivered!.get('uid-web')!)).toEqual({
      reason: 'PodOSNotSupported',
      message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    });
  });

  it('that do not fit by the labels that were seen last are judged by the node as it is now', async () => {
    await using scene = new ClusterPodsScene();
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

  it('that do not fit wait no longer than the node can be asked for, and keep nobody else waiting', async () => {
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    scene.agent.compute('uid-web', running());
    await scene.clock.settle();
    expect(scene.statusOf('web')['phase']).toBe('Running');
    expect(scene.statusOf('web')).not.toHaveProperty('reason');
  });

  it('whose name a static pod has go when they are deleted', async () => {
    await using scene = new ClusterPodsScene();
    scene.agent.refusals.set('uid-web', 'the source file has the pod default/web already');
    scene.bind('web');
    await scene.start();
    await scene.api.request({ method: 'DELETE', path: podPath('web') });
    await scene.clock.settle();
    expect(scene.changesOf('web').slice(2, 4)).toMatchObject([{ phase: 'Failed' }, 'DELETE']);
    expect(scene.api.find(podPath('web'))).toBeUndefined();
  });

  it('that become unreadable go on as they are, and end when they are to', async () => {
    await using scene = new ClusterPodsScene();
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

describe('statuses', () => {
  it('are told once, and not again by the next agent', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    scene.agent.compute('uid-web', running());
    await scene.clock.settle();
    expect(scene.changesOf('web')).toHaveLength(1);
    await scene.clock.advance(60_000);
    await scene.stop();
    await scene.start();
    // Only times differ of what was computed anew.
    const { conditions, ...rest } = running();
    scene.agent.compute('uid-web', {
      ...rest,
      startTime: '2026-01-02T03:05:05Z',
      conditions: conditions.map((each) => ({ ...each, lastTransitionTime: '2026-01-02T03:05:05Z' })),
    });
    await scene.clock.advance(60_000);
    expect(scene.changesOf('web')).toHaveLength(1);
    expect(scene.statusOf('web')).toMatchObject({ startTime: '2026-01-02T03:00:00Z', observedGeneration: 1 });
  });

  it('say only what has changed, and leave conditions of others alone', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web', {
      status: {
        phase: 'Pending',
        conditions: [
          { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-02T02:59:59Z' },
          { type: 'example.com/gate', status: 'True' },
        ],
      },
    });
    await scene.start();
    scene.agent.compute('uid-web', running());
    await scene.clock.settle();
    expect(scene.statusOf('web')['conditions']).toMatchObject([
      { type: 'PodScheduled', lastTransitionTime: '2026-01-02T02:59:59Z' },
      { type: 'example.com/gate' },
      { type: 'Ready', observedGeneration: 1 },
    ]);
    scene.agent.compute('uid-web', running(1));
    await scene.clock.settle();
    expect(scene.changesOf('web')[1]).toEqual({ containerStatuses: running(1).containerStatuses });
  });

  it('are not those of another pod that has the name by now', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    let isSwapped = false;
    scene.api.intercept = (request) => {
      if (!('method' in request) || request.method !== 'PATCH' || isSwapped) return;
      isSwapped = true;
      scene.api.drop(podPath('web'));
      scene.bind('web', { metadata: { uid: 'uid-other' } });
    };
    scene.agent.compute('uid-web', running());
    await scene.clock.advance(60_000);
    expect(isSwapped).toBe(true);
    expect(scene.statusOf('web')['phase']).toBe('Pending');
    expect(scene.pods.state.statuses.failures).toBe(1);
  });

  it('fold while the server is away, and come as soon as it is back', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    scene.api.stop();
    for (let count = 0; count < 50; count++) {
      scene.agent.compute('uid-web', running(count));
      await scene.clock.advance(7_000);
    }
    expect(scene.pods.state.statuses.pending).toBe(1);
    scene.api.start();
    await scene.clock.advance(30_000);
    expect(scene.statusOf('web')).toMatchObject({ containerStatuses: [{ restartCount: 49 }] });
    expect(scene.pods.state.statuses).toMatchObject({ patches: 1, pending: 0 });
  });

  it('of one pod go one after the other, of others beside it', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('slow');
    scene.bind('web');
    await scene.start();
    let release = (): void => undefined;
    let atOnce = 0;
    let most = 0;
    scene.api.intercept = async (request) => {
      if (!('method' in request) || request.method !== 'PATCH' || !request.path.includes('slow')) return;
      most = Math.max(most, ++atOnce);
      await new Promise<void>((resolve) => (release = resolve));
      atOnce--;
    };
    scene.agent.compute('uid-slow', running(1));
    await scene.clock.settle();
    scene.agent.compute('uid-slow', running(2));
    scene.agent.compute('uid-web', running(3));
    await scene.clock.settle();
    expect(scene.statusOf('web')).toMatchObject({ containerStatuses: [{ restartCount: 3 }] });
    release();
    await scene.clock.settle();
    release();
    await scene.clock.settle();
    expect(most).toBe(1);
    expect(scene.statusOf('slow')).toMatchObject({ containerStatuses: [{ restartCount: 2 }] });
  });

  it('never go back: not from the end, nor from Running', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web', { status: { phase: 'Running' } });
    scene.bind('job', { status: { phase: 'Failed', reason: 'Evicted', message: 'by somebody' } });
    await scene.start();
    scene.agent.compute('uid-web', { phase: 'Pending' });
    scene.agent.compute('uid-job', running());
    await scene.clock.settle();
    expect(scene.statusOf('web')['phase']).toBe('Running');
    expect(scene.statusOf('job')).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'by somebody',
    });
  });

  it('do not call a pod ended while a container may run', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web', { status: { phase: 'Running' } });
    await scene.start();
    scene.agent.running.add('uid-web');
    scene.agent.compute('uid-web', { phase: 'Failed', reason: 'DeadlineExceeded' });
    await scene.clock.settle();
    expect(scene.statusOf('web')).toMatchObject({ phase: 'Running' });
    expect(scene.statusOf('web')['reason']).toBeUndefined();
    scene.agent.running.delete('uid-web');
    scene.pods.podEndChanged('uid-web');
    await scene.clock.settle();
    expect(scene.statusOf('web')).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  });

  it('are told again when somebody has changed them', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    scene.agent.compute('uid-web', running());
    await scene.clock.settle();
    scene.api.change(podPath('web'), (each) => ({ ...each, status: { ...each.status, podIP: '6.6.6.6' } }));
    await scene.clock.settle();
    expect(scene.statusOf('web')['podIP']).toBe('10.1.0.7');
  });

  it('are not told again and again to a server that does not know a field', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    const forget = (): void => {
      scene.api.change(podPath('web'), ({ status, ...each }) => {
        const { observedGeneration: _generation, ...known } = status ?? {};
        return { ...each, status: known };
      });
    };
    const real = scene.api.request.bind(scene.api);
    scene.api.request = async <T>(request: Parameters<typeof real>[0]): Promise<T> => {
      await real(request);
      if (request.method === 'PATCH') forget();
      return scene.api.find(podPath('web')) as T;
    };
    scene.agent.compute('uid-web', running());
    await scene.clock.advance(120_000);
    expect(scene.changesOf('web')).toHaveLength(1);
    scene.agent.compute('uid-web', running(1));
    await scene.clock.advance(120_000);
    expect(scene.changesOf('web')).toHaveLength(2);
  });

  it('have the addresses of now alone', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    scene.agent.compute('uid-web', running());
    await scene.clock.settle();
    scene.agent.compute('uid-web', { ...running(), podIP: '10.1.0.8', podIPs: [{ ip: '10.1.0.8' }] });
    await scene.clock.settle();
    expect(scene.statusOf('web')).toMatchObject({ podIP: '10.1.0.8', podIPs: [{ ip: '10.1.0.8' }] });
    expect(scene.statusOf('web')['podIPs']).toHaveLength(1);
  });

  it('wait for readiness gates', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web', { spec: { readinessGates: [{ conditionType: 'example.com/gate' }] } });
    await scene.start();
    scene.agent.compute('uid-web', running());
    await scene.clock.settle();
    const ready = (): unknown =>
      (scene.statusOf('web')['conditions'] as { type: string }[]).find(({ type }) => type === 'Ready');
    expect(ready()).toMatchObject({
      ...{ status: 'False', reason: 'ReadinessGatesNotReady' },
      message: 'corresponding condition of pod readiness gate "example.com/gate" does not exist.',
    });
    scene.api.change(podPath('web'), (each) => ({
      ...each,
      status: {
        ...each.status,
        conditions: [
          ...(each.status!['conditions'] as object[]),
          { type: 'example.com/gate', status: 'True' },
        ],
      },
    }));
    await scene.clock.settle();
    expect(ready()).toMatchObject({ status: 'True' });
    expect(ready()).not.toHaveProperty('reason');
  });

  it('that the server refuses are tried again, more and more seldom', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web');
    await scene.start();
    scene.api.intercept = (request) => {
      if ('method' in request && request.method === 'PATCH') throw new ApiError(422, 'Invalid', 'no');
    };
    scene.agent.compute('uid-web', running());
    await scene.clock.advance(600_000);
    expect(scene.pods.state.statuses.failures).toBeGreaterThan(20);
    expect(scene.pods.state.statuses.failures).toBeLessThan(40);
  });
});

describe('a pod that is deleted', () => {
  it('is taken off the server once its end was told and nothing of it is left, and only then', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web', { status: { phase: 'Running' } });
    await scene.start();
    scene.agent.running.add('uid-web');
    scene.agent.compute('uid-web', running());
    await scene.api.request({ method: 'DELETE', path: podPath('web') });
    await scene.clock.advance(60_000);
    expect(scene.changesOf('web').filter((each) => each === 'DELETE')).toHaveLength(1);
    scene.agent.running.delete('uid-web');
    scene.agent.compute('uid-web', { phase: 'Failed' });
    await scene.clock.advance(60_000);
    expect(scene.statusOf('web')['phase']).toBe('Failed');
    scene.agent.finished.add('uid-web');
    scene.pods.podEndChanged('uid-web');
    await scene.clock.settle();
    expect(scene.api.find(podPath('web'))).toBeUndefined();
    const last = scene.api.changes.at(-1)!;
    expect(last).toMatchObject({
      method: 'DELETE',
      body: { gracePeriodSeconds: 0, preconditions: { uid: 'uid-web' } },
    });
    expect(scene.agent.delivered!.size).toBe(0);
  });

  describe('and has ended', () => {
    /** Its containers have ended, and the server knows; `deletions`: how often it was asked to take the pod off. */
    async function ended(scene: ClusterPodsScene) {
      scene.bind('web', { status: { phase: 'Running' } });
      await scene.start();
      await scene.api.request({ method: 'DELETE', path: podPath('web') });
      scene.agent.compute('uid-web', { phase: 'Failed' });
      await scene.clock.settle();
      return {
        // Without a body it is what somebody else has asked for.
        deletions: () =>
          scene.api.changes.filter(({ method, body }) => method === 'DELETE' && body !== undefined).length,
        end: async () => {
          scene.agent.finished.add('uid-web');
          scene.pods.podEndChanged('uid-web');
          await scene.clock.settle();
        },
      };
    }

    it('is taken off once, however late the watch tells that it is gone', async () => {
      await using scene = new ClusterPodsScene();
      const watch = laggingWatch(scene);
      const { deletions, end } = await ended(scene);
      watch.hold();
      await end();
      expect(scene.api.find(podPath('web'))).toBeUndefined();
      await scene.clock.advance(60_000);
      expect(deletions()).toBe(1);
      expect(scene.pods.state.statuses).toMatchObject({ deletions: 1, failures: 0 });
      watch.letGo();
      await scene.clock.settle();
      expect(scene.agent.delivered!.size).toBe(0);
    });

    it('is taken off once while somebody else keeps it there', async () => {
      await using scene = new ClusterPodsScene();
      const { deletions, end } = await ended(scene);
      scene.api.change(podPath('web'), (each) => ({
        ...each,
        metadata: { ...each.metadata, finalizers: ['example.com/keep'] },
      }));
      await end();
      await scene.clock.advance(60_000);
      expect(scene.api.find(podPath('web'))).toBeDefined();
      expect(deletions()).toBe(1);
    });

    it('is not asked for again where the server has answered that it is not there', async () => {
      await using scene = new ClusterPodsScene();
      const { deletions, end } = await ended(scene);
      scene.api.intercept = (request) => {
        if ('method' in request && request.method === 'DELETE') throw new ApiError(404, 'NotFound', 'gone');
      };
      await end();
      await scene.clock.advance(60_000);
      expect(deletions()).toBe(1);
    });

    it('is taken off by another try where one has failed', async () => {
      await using scene = new ClusterPodsScene();
      const { deletions, end } = await ended(scene);
      let failures = 2;
      scene.api.intercept = (request) => {
        if (!('method' in request) || request.method !== 'DELETE' || failures === 0) return;
        failures--;
        throw new ApiError(500, 'InternalError', 'no');
      };
      await end();
      await scene.clock.advance(60_000);
      expect(deletions()).toBe(3);
      expect(scene.api.find(podPath('web'))).toBeUndefined();
    });

    it('is asked for again after a conflict, which somebody else may have caused', async () => {
      await using scene = new ClusterPodsScene();
      const { deletions, end } = await ended(scene);
      let conflicts = 1;
      scene.api.intercept = (request) => {
        if (!('method' in request) || request.method !== 'DELETE' || conflicts === 0) return;
        conflicts--;
        throw new ApiError(409, 'Conflict', 'try again');
      };
      await end();
      expect([deletions(), scene.api.find(podPath('web')) === undefined]).toEqual([1, false]);
      await scene.clock.advance(60_000);
      expect([deletions(), scene.api.find(podPath('web')) === undefined]).toEqual([2, true]);
    });

    it('is taken off again where a list still has it, as that of a server that was restored', async () => {
      await using scene = new ClusterPodsScene();
      const { deletions, end } = await ended(scene);
      const there = scene.api.find(podPath('web'))!;
      const watch = laggingWatch(scene);
      watch.hold();
      await end();
      expect(deletions()).toBe(1);
      const { uid, deletionTimestamp, deletionGracePeriodSeconds } = there.metadata;
      scene.bind('web', {
        metadata: { uid, deletionTimestamp, deletionGracePeriodSeconds },
        status: { phase: 'Failed' },
      });
      scene.api.stop();
      scene.api.compact();
      scene.api.start();
      watch.letGo();
      await scene.clock.advance(60_000);
      expect(deletions()).toBe(2);
      expect(scene.api.find(podPath('web'))).toBeUndefined();
    });
  });

  it('is taken off by the next agent, too', async () => {
    await using scene = new ClusterPodsScene();
    scene.bind('web', { status: { phase: 'Failed' } });
    scene.api.change(podPath('web'), (each) => ({
      ...each,
      metadata: {
        ...each.metadata,
        deletionTimestamp: '2026-01-02T03:04:05Z',
        deletionGracePeriodSeconds: 30,
      },
    }));
    await scene.start();
    expect(scene.agent.ended).toEqual([]);
    scene.agent.finished.add('uid-web');
    await scene.clock.advance(11_000);
    expect(scene.api.find(podPath('web'))).toBeUndefined();
  });
});

/** Lets somebody hold back what the watch of pods tells. */
function laggingWatch({ api }: ClusterPodsScene) {
  const real = api.watch.bind(api);
  const waiting: (() => void)[] = [];
  let isHeld = false;
  api.watch = async function* <T>(request: WatchRequest): AsyncGenerator<WatchEvent<T>, void> {
    for await (const event of real<T>(request)) {
      while (isHeld && request.path === '/api/v1/pods') {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      yield event;
    }
  };
  return {
    hold: () => void (isHeld = true),
    letGo: () => {
      isHeld = false;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

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
    await using scene = new ClusterPodsScene();
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
    scene.agent.compute('static-uid', running());
    await scene.clock.settle();
    expect(scene.statusOf('etcd-here')['phase']).toBe('Running');
    expect(scene.agent.delivered!.size).toBe(0);
  });

  it('come back when they are deleted, and are made anew when the manifest changes', async () => {
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    scene.agent.compute('static-uid', running());
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
    await using scene = new ClusterPodsScene();
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
    scene.agent.compute('static-uid', running());
    await scene.clock.advance(60_000);
    expect(scene.statusOf('etcd-here')['phase']).toBe('Running');
    expect(scene.api.find(podPath('etcd-here'))!.metadata.uid).toBe(uid);
    expect(scene.api.changes.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(scene.events).toEqual([]);
  });

  it('whose name another pod has are told of, and made as soon as that is gone', async () => {
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
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
    scene.agent.compute('static-uid', running());
    await scene.clock.settle();
    expect(scene.statusOf('etcd-here')['phase']).toBe('Running');
    await scene.stop();
    await scene.start();
    scene.agent.compute('static-uid', running(1));
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
    await using scene = new ClusterPodsScene();
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
    await using scene = new ClusterPodsScene();
    const pod = { ...staticPod(), spec: { ...staticPod().spec, nodeName: SCENE_NODE } };
    scene.agent.statics = [pod];
    await scene.start();
    scene.agent.compute('static-uid', running());
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

  it('wait for the node, and what is refused keeps nobody else from his', async () => {
    await using scene = new ClusterPodsScene();
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
