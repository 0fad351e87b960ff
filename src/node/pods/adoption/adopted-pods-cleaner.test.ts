import { describe, expect, it } from 'vitest';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { aPod, aPodStatus } from '#testing/builders.js';
import { OLDEST_STAMP } from '#base/time/clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { AdoptedPodsCleaner, type AdoptedPodsCleanerOptions } from './adopted-pods-cleaner.js';

const ofApi = aNodePod({ uid: 'wanted', annotations: { [STATIC_POD_ANNOTATIONS.source]: 'api' } });
const nobody = { mayRemove: () => false };

/** Pods `wanted`, `worked-on` and `left` are in the runtime. */
function setUp(more: Partial<AdoptedPodsCleanerOptions> = {}) {
  const taken: string[] = [];
  const logger = new LogRecorder();
  const cleaner = new AdoptedPodsCleaner({
    adoption: {
      forgetGone: async () => Promise.resolve(),
      findLeft: (observed) => [...observed],
      takeUnwanted: async (left) => {
        taken.push(...left.map(({ uid }) => uid));
        return Promise.resolve();
      },
    },
    adopted: { all: () => [] },
    cache: {
      uids: () => ['wanted', 'worked-on', 'left'].values(),
      get: (uid) => ({ status: aPodStatus(aPod({ uid })), error: undefined, stamp: OLDEST_STAMP }),
    },
    desired: {
      has: (uid) => uid === 'wanted',
      find: (uid) => (uid === 'wanted' ? ofApi : undefined),
    },
    workers: { isKnown: (uid) => uid === 'worked-on' },
    ...{ isNodeOfKubeletHere: () => true, seenAllSources: () => true, isNothingWanted: () => false },
    logger,
    ...more,
  });
  return { cleaner, taken, logger };
}

describe('clearing up after a kubelet', () => {
  it('takes what nobody wants and nobody works on, and is called again for it', async () => {
    const { cleaner, taken } = setUp();
    expect(await cleaner.cleanUp(nobody)).toBe('more');
    expect(taken).toEqual(['left']);
  });

  it.each<[string, Partial<AdoptedPodsCleanerOptions>]>([
    ['before the Node is known, and without an API server', { isNodeOfKubeletHere: () => undefined }],
    ['before all sources have been seen', { seenAllSources: () => false }],
    ['when the agent ends its pods, which counts as all seen', { isNothingWanted: () => true }],
  ])('takes nothing %s', async (_, more) => {
    const { cleaner, taken } = setUp(more);
    expect(await cleaner.cleanUp(nobody)).toBeUndefined();
    expect(taken).toEqual([]);
  });

  it("takes nothing on a Node that was not that of this machine's kubelet, and says once what it leaves", async () => {
    const { cleaner, taken, logger } = setUp({ isNodeOfKubeletHere: () => false });
    expect(await cleaner.cleanUp(nobody)).toBeUndefined();
    await cleaner.cleanUp(nobody);
    expect(taken).toEqual([]);
    expect(logger.complaints.map(({ fields }) => fields)).toEqual([{ pods: ['default/web'] }]);
  });

  it('takes what nobody wants on a Node that has a pod which the kubelet ran here', async () => {
    const of = (uid: string) => [{ namespace: 'default', name: 'web', uid, parts: [] }];
    const isNodeOfKubeletHere = (): boolean => false;
    const unwanted = setUp({ isNodeOfKubeletHere, adopted: { all: () => of('gone') } });
    await unwanted.cleaner.cleanUp(nobody);
    expect(unwanted.taken).toEqual([]);
    const wanted = setUp({ isNodeOfKubeletHere, adopted: { all: () => of('wanted') } });
    await wanted.cleaner.cleanUp(nobody);
    expect(wanted.taken).toEqual(['left']);
  });
});
