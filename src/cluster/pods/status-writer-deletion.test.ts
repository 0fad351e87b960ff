import { describe, expect, it } from 'vitest';
import { ApiError } from '../client/kube-client.js';
import { aRunningStatus } from '#support/builders/a-running-status.js';
import { ClusterPodsHarness, podPath } from '#support/harness/cluster-pods-harness.js';
import { laggingWatch } from '#support/fakes/lagging-watch.js';

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
