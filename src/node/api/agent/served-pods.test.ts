import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { aServedStatus } from '#support/harness/served-pods-harness.js';
import { StatusManager } from '../../status/status-manager.js';
import { DesiredPods } from '../../pods/loop/desired-pods.js';
import { type CreationTimes } from './creation-times.js';
import { followPods, ServedPods } from './served-pods.js';

function setUp() {
  const desired = new DesiredPods();
  const known = new Map<string, { readonly pod: NodePod; readonly status: V1PodStatus }>();
  const worked = new Map<string, 'at work' | 'finished'>();
  const stops = new Map<string, { readonly gracePeriodSeconds: number; readonly isOver: boolean }>();
  const forgotten: string[] = [];
  const manager = {
    list: () => [...known.keys()].map((uid) => ({ pod: { uid } })),
    find: (uid: string) => known.get(uid),
    findPod: (uid: string) => known.get(uid)?.pod,
  };
  const served = new ServedPods({
    ...{ clock: new FakeClock(), desired, manager: manager as never },
    workers: {
      revision: 0,
      isKnown: (uid) => worked.has(uid),
      isFinished: (uid) => worked.get(uid) === 'finished',
    },
    creations: {
      getMs: () => 1,
      forget: (uid: string) => forgotten.push(uid),
      keepOnly: (isThere: (uid: string) => boolean) => {
        forgotten.push(...['uid-web', 'uid-old'].filter((uid) => !isThere(uid)));
      },
    } as unknown as CreationTimes,
    stopped: {
      revision: 0,
      find: ({ metadata }) => {
        const stop = stops.get(metadata.uid);
        return stop === undefined ? undefined : ({ deletionTimestamp: 'then', ...stop } as never);
      },
    },
  });
  return { desired, known, worked, stops, served, forgotten };
}
const web = aNodePod();

describe('the pods that the API shows', () => {
  it('are those that are wanted, looked at or not', () => {
    const { desired, known, served } = setUp();
    desired.set(web);
    expect([...served.uids()]).toEqual(['uid-web']);
    const pending = served.find('uid-web');
    expect(pending).toMatchObject({ pod: web, status: { phase: 'Pending' }, deletion: undefined });
    expect(served.find('uid-web')?.status).toBe(pending?.status);
    known.set('uid-web', { pod: web, status: aServedStatus() });
    expect(served.find('uid-web')).toMatchObject({ status: { phase: 'Running' }, createdAtMs: 1 });
  });

  it('are those, too, whose manifest is gone, until they have ended', () => {
    const { known, worked, served, forgotten } = setUp();
    known.set('uid-web', { pod: web, status: aServedStatus() });
    worked.set('uid-web', 'at work');
    const ending = served.find('uid-web');
    expect(ending?.deletion?.deletionGracePeriodSeconds).toBe(30);
    expect(ending?.deletion?.deletionTimestamp).toMatch(/^\d{4}-.*Z$/);
    expect(served.find('uid-web')?.deletion).toBe(ending?.deletion);
    worked.set('uid-web', 'finished');
    expect(served.find('uid-web')).toBeUndefined();
    expect(forgotten).toEqual(['uid-web']);
  });

  it('are not those that were stopped and have ended, or that nobody waits for', () => {
    const { desired, stops, served } = setUp();
    desired.set(web);
    stops.set('uid-web', { gracePeriodSeconds: 5, isOver: false });
    expect(served.find('uid-web')?.deletion).toEqual({
      deletionTimestamp: 'then',
      deletionGracePeriodSeconds: 5,
    });
    stops.set('uid-web', { gracePeriodSeconds: 5, isOver: true });
    expect(served.find('uid-web')).toBeUndefined();
    stops.set('uid-web', { gracePeriodSeconds: 0, isOver: false });
    expect(served.find('uid-web')).toBeUndefined();
  });

  it('are new when they disappeared while no agent ran, once nothing is left of them', () => {
    const { desired, worked, served, forgotten } = setUp();
    desired.set(web);
    served.forgetAbsent((uid) => uid === 'uid-old');
    worked.set('uid-old', 'at work');
    served.forgetAbsent(() => false);
    expect(forgotten).toEqual([]);
    worked.clear();
    served.forgetAbsent(() => false);
    expect(forgotten).toEqual(['uid-old']);
  });
});

describe('following pods', () => {
  it('refreshes all of them when something changed that no status shows, and now and then', async () => {
    const { desired, served } = setUp();
    const clock = new FakeClock();
    const stopping = new AbortController();
    let looks = 0;
    const following = followPods({
      ...{ clock, table: { refreshAll: () => looks++, refresh: () => undefined } as never },
      manager: new StatusManager({ clock }),
      revision: () => served.revision,
      signal: stopping.signal,
    });
    await clock.advance(5_000);
    expect(looks).toBe(1);
    desired.set(web);
    await clock.advance(1_000);
    expect(looks).toBe(2);
    await clock.advance(29_000);
    expect(looks).toBe(2);
    await clock.advance(2_000);
    expect(looks).toBe(3);
    stopping.abort();
    await following;
  });
});
