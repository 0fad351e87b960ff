import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { type StopRequest } from './desired/stopped-pods.js';
import { type PodWorkRequest } from './pods/workers/work-request.js';
import { restartOnePod, stopOnePod } from './stop-one-pod.js';

function setUp(isWanted = true) {
  const stopped: string[] = [];
  const requests: PodWorkRequest[] = [];
  const ports = {
    clock: new FakeClock(),
    desired: { has: () => isWanted },
    workers: { updatePod: (request: PodWorkRequest) => requests.push(request) },
    stopped: {
      stop: async ({ metadata }: NodePod, request: StopRequest) => {
        const { gracePeriodSeconds, comesBack = false, keepsClaims = false } = request;
        const words = `${comesBack ? ', back' : ''}${keepsClaims ? ', with its claims' : ''}`;
        stopped.push(`${metadata.name} in ${gracePeriodSeconds} s${words}`);
        return Promise.resolve();
      },
    },
    isEnding: () => false,
  } as unknown as Parameters<typeof stopOnePod>[0];
  const stop = async (pod: NodePod, asked?: number, keepsClaims?: boolean) =>
    stopOnePod(ports, { pod } as Parameters<typeof stopOnePod>[1], asked, keepsClaims);
  const restart = async (pod: NodePod, asked?: number) =>
    restartOnePod(ports, { pod } as Parameters<typeof restartOnePod>[1], asked);
  return { stop, restart, stopped, requests };
}

const clusterPod = (): NodePod => {
  const pod = aNodePod({ name: 'web' });
  const annotations = { [STATIC_POD_ANNOTATIONS.source]: 'api' };
  return { ...pod, metadata: { ...pod.metadata, namespace: 'shop', annotations } };
};

describe('a pod that somebody deletes at the agent', () => {
  it('is stopped until its manifest changes', async () => {
    const { stop, stopped } = setUp();
    await stop(aNodePod({ name: 'web' }), 7);
    await stop(aNodePod({ name: 'db' }), 7, true);
    expect(stopped).toEqual(['web in 7 s', 'db in 7 s, with its claims']);
  });

  it('is left as it is when it is of a cluster, whose API server is named as the place for that', async () => {
    const { stop, stopped, requests } = setUp();
    await expect(stop(clusterPod())).rejects.toMatchObject({
      reason: 'Forbidden',
      message:
        'pods "web" is forbidden: it belongs to the cluster that this node is part of; delete it there: kubectl delete pod web -n shop',
    });
    expect([stopped, requests]).toEqual([[], []]);
  });

  it('can be given less time when nobody wants it any more, wherever it is from', async () => {
    const { stop, requests } = setUp(false);
    await stop(clusterPod(), 1);
    expect(requests).toMatchObject([{ type: 'kill', kill: { gracePeriodSeconds: 1 } }]);
  });
});

describe('a pod that somebody restarts', () => {
  it('ends in its own time, or in the one that was asked for, and comes back', async () => {
    const { restart, stopped } = setUp();
    await restart(aNodePod({ name: 'web' }));
    await restart(aNodePod({ name: 'web' }), 3);
    expect(stopped).toEqual(['web in 30 s, back', 'web in 3 s, back']);
  });

  it.each([
    ['one that nobody wants any more', aNodePod({ name: 'web' }), false, 'Conflict', 'its manifest is gone'],
    ['one of a cluster', clusterPod(), true, 'Forbidden', 'kubectl delete pod web -n shop'],
  ])('is left as it is when it is %s', async (_, pod, isWanted, reason, words) => {
    const { restart, stopped, requests } = setUp(isWanted);
    await expect(restart(pod)).rejects.toMatchObject({ reason });
    await expect(restart(pod)).rejects.toThrow(words);
    expect([stopped, requests]).toEqual([[], []]);
  });
});
