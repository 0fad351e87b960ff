import { describe, expect, it } from 'vitest';
import { ApiError } from '../client/kube-client.js';
import { aRunningStatus } from '#support/builders/a-running-status.js';
import { ClusterPodsHarness, podPath } from '#support/harness/cluster-pods-harness.js';
import { laggingWatch } from '#support/fakes/lagging-watch.js';

describe('statuses', () => {
  it('are told once, and not again by the next agent', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    expect(scene.changesOf('web')).toHaveLength(1);
    await scene.clock.advance(60_000);
    await scene.stop();
    await scene.start();
    // The recomputed status differs in its times only.
    const { conditions, ...rest } = aRunningStatus();
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
    await using scene = new ClusterPodsHarness();
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
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    expect(scene.statusOf('web')['conditions']).toMatchObject([
      { type: 'PodScheduled', lastTransitionTime: '2026-01-02T02:59:59Z' },
      { type: 'example.com/gate' },
      { type: 'Ready', observedGeneration: 1 },
    ]);
    scene.agent.compute('uid-web', aRunningStatus(1));
    await scene.clock.settle();
    expect(scene.changesOf('web')[1]).toEqual({ containerStatuses: aRunningStatus(1).containerStatuses });
  });

  it('are not those of another pod that has the name by now', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    let isSwapped = false;
    scene.api.intercept = (request) => {
      if (!('method' in request) || request.method !== 'PATCH' || isSwapped) return;
      isSwapped = true;
      scene.api.drop(podPath('web'));
      scene.bind('web', { metadata: { uid: 'uid-other' } });
    };
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.advance(60_000);
    expect(isSwapped).toBe(true);
    expect(scene.statusOf('web')['phase']).toBe('Pending');
    expect(scene.pods.state.statuses.failures).toBe(1);
  });

  it('fold while the server is away, and come as soon as it is back', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    scene.api.stop();
    for (let count = 0; count < 50; count++) {
      scene.agent.compute('uid-web', aRunningStatus(count));
      await scene.clock.advance(7_000);
    }
    expect(scene.pods.state.statuses.pending).toBe(1);
    scene.api.start();
    await scene.clock.advance(30_000);
    expect(scene.statusOf('web')).toMatchObject({ containerStatuses: [{ restartCount: 49 }] });
    expect(scene.pods.state.statuses).toMatchObject({ patches: 1, pending: 0 });
  });

  it('of one pod go one after the other, of others beside it', async () => {
    await using scene = new ClusterPodsHarness();
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
    scene.agent.compute('uid-slow', aRunningStatus(1));
    await scene.clock.settle();
    scene.agent.compute('uid-slow', aRunningStatus(2));
    scene.agent.compute('uid-web', aRunningStatus(3));
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
    await using scene = new ClusterPodsHarness();
    scene.bind('web', { status: { phase: 'Running' } });
    scene.bind('job', { status: { phase: 'Failed', reason: 'Evicted', message: 'by somebody' } });
    await scene.start();
    scene.agent.compute('uid-web', { phase: 'Pending' });
    scene.agent.compute('uid-job', aRunningStatus());
    await scene.clock.settle();
    expect(scene.statusOf('web')['phase']).toBe('Running');
    expect(scene.statusOf('job')).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'by somebody',
    });
  });

  it('do not call a pod ended while a container may run', async () => {
    await using scene = new ClusterPodsHarness();
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
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    scene.api.change(podPath('web'), (each) => ({ ...each, status: { ...each.status, podIP: '6.6.6.6' } }));
    await scene.clock.settle();
    expect(scene.statusOf('web')['podIP']).toBe('10.1.0.7');
  });

  describe('are told again when somebody has changed them', () => {
    /** The first status was written. */
    async function told(scene: ClusterPodsHarness): Promise<void> {
      scene.bind('web');
      await scene.start();
      scene.agent.compute('uid-web', aRunningStatus());
      await scene.clock.settle();
    }
    const spoil = ({ api }: ClusterPodsHarness): void =>
      void api.change(podPath('web'), (each) => ({ ...each, status: { ...each.status, podIP: '6.6.6.6' } }));

    it('before they were written, and that was not seen yet', async () => {
      await using scene = new ClusterPodsHarness();
      const watch = laggingWatch(scene);
      await told(scene);
      watch.hold();
      spoil(scene);
      scene.agent.compute('uid-web', aRunningStatus(1));
      await scene.clock.settle();
      watch.letGo();
      await scene.clock.advance(20_000);
      expect(scene.statusOf('web')).toMatchObject({
        podIP: '10.1.0.7',
        containerStatuses: [{ restartCount: 1 }],
      });
      expect(scene.changesOf('web')).toHaveLength(3);
    });

    it('after they were written, and that was seen before the answer', async () => {
      await using scene = new ClusterPodsHarness();
      await told(scene);
      const real = scene.api.request.bind(scene.api);
      let isSpoilt = false;
      scene.api.request = async <T>(request: Parameters<typeof real>[0]): Promise<T> => {
        const answer = await real<T>(request);
        if (request.method !== 'PATCH' || isSpoilt) return answer;
        isSpoilt = true;
        spoil(scene);
        await scene.clock.settle();
        return answer;
      };
      const moved = { podIP: '10.1.0.8', podIPs: [{ ip: '10.1.0.8' }] };
      scene.agent.compute('uid-web', { ...aRunningStatus(), ...moved });
      await scene.clock.advance(20_000);
      expect(scene.statusOf('web')).toMatchObject(moved);
      expect(scene.changesOf('web')).toHaveLength(3);
    });
  });

  it('are told once a container has ended while they were written', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web', { status: { phase: 'Running' } });
    await scene.start();
    scene.agent.running.add('uid-web');
    scene.api.intercept = (request) => {
      if ('method' in request && request.method === 'PATCH') scene.agent.running.delete('uid-web');
    };
    scene.agent.compute('uid-web', { ...aRunningStatus(), phase: 'Failed' });
    await scene.clock.advance(20_000);
    expect(scene.statusOf('web')['phase']).toBe('Failed');
  });

  it('are not told again and again to a server that does not know a field', async () => {
    await using scene = new ClusterPodsHarness();
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
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.advance(120_000);
    expect(scene.changesOf('web')).toHaveLength(1);
    scene.agent.compute('uid-web', aRunningStatus(1));
    await scene.clock.advance(120_000);
    expect(scene.changesOf('web')).toHaveLength(2);
  });

  it('have the addresses of now alone', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    scene.agent.compute('uid-web', { ...aRunningStatus(), podIP: '10.1.0.8', podIPs: [{ ip: '10.1.0.8' }] });
    await scene.clock.settle();
    expect(scene.statusOf('web')).toMatchObject({ podIP: '10.1.0.8', podIPs: [{ ip: '10.1.0.8' }] });
    expect(scene.statusOf('web')['podIPs']).toHaveLength(1);
  });

  it('wait for readiness gates', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web', { spec: { readinessGates: [{ conditionType: 'example.com/gate' }] } });
    await scene.start();
    scene.agent.compute('uid-web', aRunningStatus());
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

  it('are told whole as soon as an answer shows that the server was restored from a backup', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    const backup = scene.api.backUp();
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    scene.agent.compute('uid-web', aRunningStatus(1));
    await scene.clock.advance(60_000);
    scene.api.restore(backup);
    await scene.clock.advance(2_000);
    scene.agent.compute('uid-web', aRunningStatus(2));
    await scene.clock.settle();
    expect(scene.statusOf('web')).toMatchObject({
      ...{ phase: 'Running', podIP: '10.1.0.7' },
      containerStatuses: [{ restartCount: 2 }],
    });
    expect(scene.pods.state.watch.stats).toMatchObject({ lists: 2 });
  });

  it('of a pod that the server has lost with a backup end in a list without it, whatever its watch does not tell', async () => {
    await using scene = new ClusterPodsHarness();
    await scene.start();
    const backup = scene.api.backUp();
    scene.bind('web');
    await scene.clock.advance(30_000);
    scene.api.restore(backup);
    // It has come as far as it was by the time that it is watched again.
    scene.api.passVersions(50);
    await scene.clock.advance(2_000);
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.settle();
    expect([...scene.agent.delivered!.keys()]).toEqual(['uid-web']);
    await scene.clock.advance(20_000);
    expect([...scene.agent.delivered!.keys()]).toEqual([]);
    expect(scene.pods.state.watch.stats).toMatchObject({ lists: 2 });
  });

  it('that the server refuses are tried again, more and more seldom', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web');
    await scene.start();
    scene.api.intercept = (request) => {
      if ('method' in request && request.method === 'PATCH') throw new ApiError(422, 'Invalid', 'no');
    };
    scene.agent.compute('uid-web', aRunningStatus());
    await scene.clock.advance(600_000);
    expect(scene.pods.state.statuses.failures).toBeGreaterThan(20);
    expect(scene.pods.state.statuses.failures).toBeLessThan(40);
  });
});
