import { describe, expect, it } from 'vitest';
import { LABELS } from '../../../watch/observed/labels.js';
import { ownedBy } from '../../../watch/observed/ownership.js';
import {
  emptyPodStatus,
  type ObservedState,
  type PodOwner,
  type PodStatus,
} from '../../../watch/observed/runtime.js';
import { aContainerStatus, aPod, aPodStatus, aSandboxStatus } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { workersHarness, type WorkersHarness } from '#support/harness/workers-harness.js';
import { DesiredPods } from './desired-pods.js';
import { type CleanupView, Housekeeping, type HousekeepingOptions, type PodCleaner } from './housekeeping.js';
import { toObservedPod } from './housekeeping-owner.js';

const NODE = 'node-1';
const web = aNodePod();

interface Harness extends WorkersHarness {
  readonly desired: DesiredPods;
  readonly housekeeping: Housekeeping;
  /** The runtime shows a pod. */
  readonly show: (pod: ShownPod) => void;
  /** Uids of pods that were looked at in parts. */
  readonly lookedAt: string[];
  /** Goes on until nothing is under way and nothing waits for a view. */
  readonly runOut: () => Promise<void>;
}

interface ShownPod {
  readonly name?: string;
  readonly state?: ObservedState;
  readonly owner?: PodOwner;
  /** The mark on its sandbox, and on its container. */
  readonly marks?: readonly [string, string];
  readonly error?: Error;
}

function setUp(
  cleaners: readonly PodCleaner[] = [],
  onStartAnew?: (uid: string) => void,
  readmit?: () => boolean,
  isBeingRemoved?: (uid: string) => boolean,
  remains: Pick<HousekeepingOptions, 'clearRemains' | 'onRemainsSeen'> = {},
): Harness {
  const harness = workersHarness();
  const { clock, logger, workers, cache } = harness;
  const desired = new DesiredPods();
  const lookedAt: string[] = [];
  /** As lists and looks at parts show them. */
  const shown = new Map<string, PodStatus>();
  const housekeeping = new Housekeeping({
    ...{ clock, logger, desired, workers, cache, cleaners, ...(onStartAnew && { onStartAnew }) },
    ...remains,
    ...{ ...(readmit && { readmit }), ...(isBeingRemoved && { isBeingRemoved }) },
    isOurs: ownedBy(NODE, (uid) => uid === 'uid-adopted'),
    listed: {
      find: (uid) => {
        const status = shown.get(uid);
        return status && toObservedPod(status);
      },
      lookAt: (uid) => {
        lookedAt.push(uid);
        return Promise.resolve(shown.get(uid)!);
      },
    },
  });
  return {
    ...{ ...harness, desired, housekeeping, lookedAt },
    show: ({ name = 'web', state = 'running', owner = 'podloop', marks = [NODE, NODE], error }) => {
      const pod = aPod({ name, owner, containers: [{ name: 'main', state }], sandboxes: [{ state }] });
      const [sandboxMark, containerMark] = marks;
      const status = aPodStatus(pod, {
        sandboxes: [aSandboxStatus(pod.sandboxes[0], { labels: labelsOf(pod.uid, sandboxMark) })],
        containers: [aContainerStatus(pod.containers[0], { labels: labelsOf(pod.uid, containerMark) })],
      });
      shown.set(pod.uid, status);
      cache.set(pod.uid, error === undefined ? status : emptyPodStatus(pod.uid), error, clock.stamp());
    },
    runOut: async () => {
      await harness.look();
      while (harness.syncer.underWay.length > 0) {
        await harness.succeed();
        await harness.look();
      }
    },
  };
}

function labelsOf(uid: string, mark: string): Record<string, string> {
  return { [LABELS.podUid]: uid, [LABELS.nodeInstance]: mark };
}

describe('housekeeping', () => {
  it('ends a pod of ours that only the runtime knows, as the runtime shows it', async () => {
    const { housekeeping, syncer, show, look } = setUp();
    show({});
    housekeeping.run();
    await look();
    expect(syncer.log).toEqual(['TerminatingRuntimePod uid-web']);
    expect(syncer.last().work).toMatchObject({
      runningPod: {
        ...{ uid: 'uid-web', name: 'web', owner: 'podloop' },
        containers: [
          { kind: 'container', id: 'uid-web-main-0', state: 'running', sandboxId: 'uid-web-sandbox-0' },
        ],
        sandboxes: [{ kind: 'sandbox', id: 'uid-web-sandbox-0', sandboxId: 'uid-web-sandbox-0' }],
      },
    });
    expect(syncer.last().work.gracePeriodSeconds).toBeUndefined();
  });

  it.each<[string, ShownPod]>([
    ["of a kubelet's", { owner: 'kubernetes', marks: ['', ''] }],
    ['of nobody', { owner: 'other', marks: ['', ''] }],
    ['of another node instance', { marks: ['node-2', 'node-2'] }],
    ['of which a part is not ours', { marks: [NODE, 'node-2'] }],
    ['of which a part carries no mark', { marks: [NODE, ''] }],
    ['that does not run', { state: 'exited' }],
    ['whose status cannot be had', { error: new Error('hung') }],
  ])('leaves a pod alone %s', async (_, pod) => {
    const { housekeeping, syncer, workers, show, look } = setUp();
    show(pod);
    housekeeping.run();
    await look();
    expect(syncer.log).toEqual([]);
    expect(workers.isKnown('uid-web')).toBe(false);
  });

  it('ends a pod of ours that nobody wants and whose inspections fail, by what is looked at of it', async () => {
    const { housekeeping, syncer, lookedAt, show, look } = setUp();
    const fail = async (): Promise<void> => {
      show({ error: new Error('no such record') });
      housekeeping.run();
      await look();
    };
    await fail();
    housekeeping.run();
    await look();
    expect(lookedAt).toEqual([]);
    await fail();
    expect(lookedAt).toEqual(['uid-web']);
    expect(syncer.last()).toMatchObject({
      kind: 'TerminatingRuntimePod',
      work: { runningPod: { uid: 'uid-web', owner: 'podloop', containers: [{ id: 'uid-web-main-0' }] } },
    });
  });

  it.each<[string, ShownPod, number]>([
    ['of another node instance', { marks: ['node-2', 'node-2'] }, 1],
    ["of a kubelet's, which is not asked for", { owner: 'kubernetes', marks: ['', ''] }, 0],
    ['that does not run, which is not asked for', { state: 'exited' }, 0],
  ])('leaves a pod alone whose inspections fail %s', async (_, pod, looks) => {
    const { housekeeping, syncer, lookedAt, show, look } = setUp();
    for (let failed = 0; failed < 2; failed++) {
      show({ ...pod, error: new Error('no such record') });
      housekeeping.run();
      await look();
    }
    expect(lookedAt).toHaveLength(looks);
    expect(syncer.log).toEqual([]);
  });

  it('ends a pod that a kubelet made and that was adopted, by what it bears itself', async () => {
    const { housekeeping, syncer, show, look } = setUp();
    show({ name: 'adopted', owner: 'kubernetes', marks: ['', NODE] });
    show({ name: 'left', owner: 'kubernetes', marks: ['', ''] });
    housekeeping.run();
    await look();
    expect(syncer.log).toEqual(['TerminatingRuntimePod uid-adopted']);
    expect(syncer.last().work.gracePeriodSeconds).toBeUndefined();
  });

  it('leaves a pod alone that is wanted, and one that is rejected', async () => {
    const { housekeeping, desired, syncer, workers, show, look } = setUp();
    show({});
    desired.set(web);
    workers.updatePod({ type: 'create', pod: web });
    show({ name: 'db' });
    desired.set(aNodePod({ name: 'db' }));
    desired.setRejection('uid-db', { reason: 'OutOfpods', message: '' });
    housekeeping.run();
    await look();
    expect(syncer.log).toEqual(['SyncPod uid-web']);
  });

  it('ends what is not wanted any more, and forgets it when it is finished', async () => {
    const { housekeeping, workers, syncer, runOut } = setUp();
    workers.updatePod({ type: 'create', pod: web });
    await runOut();
    housekeeping.run();
    await runOut();
    expect(syncer.log).toEqual(['SyncPod uid-web', 'TerminatingPod uid-web', 'TerminatedPod uid-web']);
    housekeeping.run();
    expect(workers.isKnown('uid-web')).toBe(false);
  });

  it('restarts a pod that is wanted again after its uid was torn down', async () => {
    const { housekeeping, desired, workers, syncer, runOut } = setUp();
    workers.updatePod({ type: 'create', pod: web });
    workers.updatePod({ type: 'kill', pod: web });
    workers.updatePod({ type: 'create', pod: web });
    desired.set(web);
    housekeeping.run();
    await runOut();
    expect(syncer.log.at(-1)).toBe('TerminatedPod uid-web');
    housekeeping.run();
    await runOut();
    expect(syncer.log.at(-1)).toBe('SyncPod uid-web');
  });

  it('counts a pod as torn down until it is cleared up after, wanted or not', async () => {
    const cleared = new Set<() => void>();
    const clear = async (): Promise<void> => new Promise((resolve) => cleared.add(resolve));
    const cleaner = { name: 'statuses', cleanUp: clear };
    const { housekeeping, workers, clock, cache, show, runOut } = setUp([cleaner]);
    const finishClearing = async (): Promise<void> => {
      for (const finish of cleared) finish();
      await clock.settle();
    };
    housekeeping.run();
    workers.updatePod({ type: 'create', pod: web });
    workers.updatePod({ type: 'kill', pod: web });
    await runOut();
    expect(housekeeping.isTornDown('uid-web')).toBe(false);
    housekeeping.run();
    expect([workers.isKnown('uid-web'), housekeeping.isTornDown('uid-web')]).toEqual([false, true]);
    // That clean-up had begun before the pod was forgotten, and may have looked before, too.
    await finishClearing();
    show({ state: 'exited' });
    housekeeping.run();
    await finishClearing();
    // This one began after, but the runtime still has something of the pod.
    housekeeping.run();
    expect(housekeeping.isTornDown('uid-web')).toBe(true);
    cache.delete('uid-web', clock.stamp());
    housekeeping.run();
    expect(housekeeping.isTornDown('uid-web')).toBe(false);
    await finishClearing();
  });

  it('starts a pod that comes again before it is cleared up after, and forgets its former life first', async () => {
    const forgotten: string[] = [];
    const { housekeeping, desired, workers, syncer, runOut } = setUp([], (uid) => forgotten.push(uid));
    workers.updatePod({ type: 'create', pod: web });
    workers.updatePod({ type: 'kill', pod: web });
    await runOut();
    housekeeping.run();
    desired.set(web);
    expect(housekeeping.isTornDown('uid-web')).toBe(true);
    expect(forgotten).toEqual([]);
    housekeeping.run();
    await runOut();
    expect(forgotten).toEqual(['uid-web']);
    expect(housekeeping.isTornDown('uid-web')).toBe(false);
    expect(syncer.log.at(-1)).toBe('SyncPod uid-web');
  });

  it.each([
    ['shows nothing of it', 0],
    ['shows remains once', 1],
    ['shows remains three times', 3],
  ])(
    'lists a pod that waits for its remains, and starts it when that list shows none: a list %s',
    async (_, timesThere) => {
      const [cleared, asked]: [string[], string[]] = [[], []];
      let seen = 0;
      const { housekeeping, desired, workers, syncer, cache, clock, show, runOut } = setUp(
        ...([[], undefined, undefined, undefined] as const),
        { clearRemains: (uid) => cleared.push(uid), onRemainsSeen: () => seen++ },
      );
      cache.onWait((uid) => asked.push(uid));
      workers.updatePod({ type: 'create', pod: web });
      workers.updatePod({ type: 'kill', pod: web });
      await runOut();
      asked.length = 0;
      housekeeping.run();
      desired.set(web);
      for (let time = 0; time < timesThere; time++) {
        housekeeping.run();
        show({ state: 'exited' });
        await clock.settle();
      }
      housekeeping.run();
      // One list at a time.
      housekeeping.run();
      expect(asked).toHaveLength(timesThere + 1);
      expect(syncer.log.at(-1)).toBe('TerminatedPod uid-web');
      if (timesThere === 0) cache.observe('uid-web', clock.stamp());
      else cache.delete('uid-web', clock.stamp());
      await clock.settle();
      expect([seen, new Set(cleared)]).toEqual([timesThere + 1, new Set(['uid-web'])]);
      housekeeping.run();
      await runOut();
      expect(syncer.log.at(-1)).toBe('SyncPod uid-web');
    },
  );

  it('does not start a pod while what is kept of it is being taken away', async () => {
    let going = 'uid-web';
    const { housekeeping, desired, syncer, runOut } = setUp([], undefined, undefined, (uid) => uid === going);
    desired.set(web);
    housekeeping.run();
    await runOut();
    expect([housekeeping.isTornDown('uid-web'), syncer.log.length]).toEqual([true, 0]);
    going = 'uid-other';
    housekeeping.run();
    await runOut();
    expect([housekeeping.isTornDown('uid-web'), syncer.log[0]]).toEqual([false, 'SyncPod uid-web']);
  });

  it('does not restart a pod that finds no room any more', async () => {
    const answers = [false, true];
    const { housekeeping, desired, workers, syncer, runOut } = setUp([], undefined, () => answers.shift()!);
    workers.updatePod({ type: 'create', pod: web });
    workers.updatePod({ type: 'kill', pod: web });
    await runOut();
    housekeeping.run();
    desired.set(web);
    const { length } = syncer.log;
    housekeeping.run();
    await runOut();
    expect(answers).toEqual([true]);
    expect(syncer.log).toHaveLength(length);
  });

  it('does not start a pod that was evicted', async () => {
    const { housekeeping, desired, workers, syncer, runOut } = setUp();
    desired.set(web);
    workers.updatePod({ type: 'create', pod: web });
    workers.updatePod({ type: 'kill', pod: web, kill: { evict: true } });
    await runOut();
    housekeeping.run();
    await runOut();
    expect(syncer.log.at(-1)).toBe('TerminatedPod uid-web');
  });

  it('does not end a second time what the cache still shows as it was', async () => {
    const { housekeeping, syncer, clock, cache, succeed, show, look } = setUp();
    show({});
    housekeeping.run();
    await clock.settle();
    await succeed();
    housekeeping.run();
    housekeeping.run();
    await clock.settle();
    expect(syncer.syncs).toHaveLength(1);
    // It is there after all, as a newer look shows.
    show({});
    housekeeping.run();
    await look();
    expect(syncer.syncs).toHaveLength(2);
    expect(cache.size).toBe(1);
  });
});

describe('clearing up', () => {
  it('goes by what is true at the time', async () => {
    let view: CleanupView | undefined;
    const { housekeeping, desired, workers, show, runOut } = setUp([
      { name: 'all', cleanUp: (given) => void (view = given) },
    ]);
    desired.set(web);
    workers.updatePod({ type: 'create', pod: web });
    housekeeping.run();
    await runOut();
    expect(view?.desiredUids).toEqual(new Set(['uid-web']));
    expect(view?.possiblyRunningUids).toEqual(new Set(['uid-web']));
    expect([view?.mayRemove('uid-web'), view?.mayRemove('uid-old')]).toEqual([false, true]);
    show({ name: 'old' });
    expect(view?.mayRemove('uid-old')).toBe(false);
    show({ name: 'old', state: 'exited', error: new Error('hung') });
    expect(view?.mayRemove('uid-old')).toBe(false);
    desired.remove('uid-web');
    housekeeping.run();
    expect([...view!.possiblyRunningUids]).toEqual(['uid-web']);
    expect(view?.mayRemove('uid-web')).toBe(false);
    await runOut();
    expect([...view!.possiblyRunningUids]).toEqual([]);
    expect(view?.mayRemove('uid-web')).toBe(true);
  });

  it('goes on with the next one when one fails', async () => {
    const order: string[] = [];
    const { housekeeping, clock, logger } = setUp([
      {
        name: 'broken',
        cleanUp: () => {
          throw new Error('no such folder');
        },
      },
      { name: 'good', cleanUp: () => void order.push('good') },
    ]);
    housekeeping.run();
    await clock.settle();
    expect(order).toEqual(['good']);
    expect(logger.complaints).toMatchObject([
      { message: 'Failed cleaning pods', fields: { cleaner: 'broken', err: { message: 'no such folder' } } },
    ]);
  });

  it('keeps nobody waiting: who hangs is named once, and everything else goes on', async () => {
    let letGo = (): void => undefined;
    let calls = 0;
    const { housekeeping, clock, logger, syncer, show, look } = setUp([
      {
        name: 'volumes',
        cleanUp: async () => {
          calls++;
          await new Promise<void>((resolve) => (letGo = resolve));
        },
      },
    ]);
    for (let round = 0; round < 3; round++) {
      housekeeping.run();
      await clock.advance(2_000);
    }
    expect(calls).toBe(1);
    expect(logger.complaints).toMatchObject([
      {
        message: 'Housekeeping took longer than expected',
        fields: { who: 'volumes', expected: '1s', actual: '2s' },
      },
    ]);
    show({});
    housekeeping.run();
    await look();
    expect(syncer.log).toEqual(['TerminatingRuntimePod uid-web']);
    letGo();
    await clock.settle();
    housekeeping.run();
    expect(calls).toBe(2);
  });

  it('is over when nobody has more to do, and nothing is torn down that may still be there', async () => {
    let result: 'more' | undefined = 'more';
    const h = setUp([{ name: 'one', cleanUp: async () => result }]);
    expect(h.housekeeping.isSettled).toBe(false);
    h.housekeeping.run();
    await h.clock.settle();
    expect(h.housekeeping.isSettled).toBe(false);
    result = undefined;
    h.housekeeping.run();
    expect(h.housekeeping.isSettled).toBe(false);
    await h.clock.settle();
    expect(h.housekeeping.isSettled).toBe(true);
    h.show({ name: 'orphan' });
    h.housekeeping.run();
    await h.runOut();
    h.housekeeping.run();
    await h.clock.settle();
    expect(h.housekeeping.isSettled).toBe(false);
  });

  it('stops when housekeeping is closed', async () => {
    const { housekeeping, clock } = setUp([
      {
        name: 'slow',
        cleanUp: async (_, signal) =>
          new Promise<void>((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(new Error('stopped'))),
          ),
      },
      { name: 'next', cleanUp: () => expect.unreachable() },
    ]);
    housekeeping.run();
    await clock.settle();
    await housekeeping.close();
    housekeeping.run();
    await housekeeping.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
