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

describe('a pod that is deleted', () => {
  it('is taken off the server once its end was told and nothing of it is left, and only then', async () => {
    await using scene = new ClusterPodsHarness();
    scene.bind('web', { status: { phase: 'Running' } });
    await scene.start();
    scene.agent.running.add('uid-web');
    scene.agent.compute('uid-web', aRunningStatus());
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
    async function ended(scene: ClusterPodsHarness) {
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
      await using scene = new ClusterPodsHarness();
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
      await using scene = new ClusterPodsHarness();
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
      await using scene = new ClusterPodsHarness();
      const { deletions, end } = await ended(scene);
      failDeletions(scene, Infinity, new ApiError(404, 'NotFound', 'gone'));
      await end();
      await scene.clock.advance(60_000);
      expect(deletions()).toBe(1);
    });

    it('is taken off by another try where one has failed', async () => {
      await using scene = new ClusterPodsHarness();
      const { deletions, end } = await ended(scene);
      failDeletions(scene, 2, new ApiError(500, 'InternalError', 'no'));
      await end();
      await scene.clock.advance(60_000);
      expect(deletions()).toBe(3);
      expect(scene.api.find(podPath('web'))).toBeUndefined();
    });

    it('is asked for again after a conflict, which somebody else may have caused', async () => {
      await using scene = new ClusterPodsHarness();
      const { deletions, end } = await ended(scene);
      failDeletions(scene, 1, new ApiError(409, 'Conflict', 'try again'));
      await end();
      expect([deletions(), scene.api.find(podPath('web')) === undefined]).toEqual([1, false]);
      await scene.clock.advance(60_000);
      expect([deletions(), scene.api.find(podPath('web')) === undefined]).toEqual([2, true]);
    });

    it('is taken off again where a list still has it, as that of a server that was restored', async () => {
      await using scene = new ClusterPodsHarness();
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
    await using scene = new ClusterPodsHarness();
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

/** So many requests to take a pod off are answered with that. */
function failDeletions({ api }: ClusterPodsHarness, times: number, answer: ApiError): void {
  let left = times;
  api.intercept = (request) => {
    if (!('method' in request) || request.method !== 'DELETE' || left === 0) return;
    left--;
    throw answer;
  };
}
