import { describe, expect, it } from 'vitest';
import { aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { aResult, anEvent } from '#support/builders/sync-loop-inputs.js';
import { syncLoopHarness } from '#support/harness/sync-loop-harness.js';
import { type Stamp } from '#base/time/clock.js';

const web = aNodePod();

describe('the sync loop hands updates of sources on', () => {
  it.each([
    ['ADD', 'handlePodAdditions'],
    ['UPDATE', 'handlePodUpdates'],
    ['DELETE', 'handlePodUpdates'],
    ['REMOVE', 'handlePodRemoves'],
    ['RECONCILE', 'handlePodReconcile'],
  ] as const)('%s to %s', async (type, handler) => {
    await using h = syncLoopHarness();
    h.updates.push({ type, source: 'file', pods: [web, aNodePod({ name: 'db' })] });
    await h.clock.settle();
    expect(h.calls).toEqual([`${handler} uid-web`, `${handler} uid-db`]);
    const line = h.logger.lines.find(({ message }) => message === `SyncLoop ${type}`);
    expect(line?.fields).toMatchObject({ source: 'file', pods: [{ name: 'web' }, { name: 'db' }] });
  });

  it('with the pods first that run already, as they have their place on the node', async () => {
    await using h = syncLoopHarness();
    h.cache.set('uid-web', aPodStatus(aPod()), undefined, h.clock.stamp());
    const [late, db] = [aNodePod({ name: 'late' }), aNodePod({ name: 'db' })];
    h.updates.push({ type: 'ADD', source: 'file', pods: [late, db, web] });
    await h.clock.settle();
    expect(h.calls).toEqual(['web', 'late', 'db'].map((name) => `handlePodAdditions uid-${name}`));
  });

  it('and asks for the next one only when one is dealt with', async () => {
    await using h = syncLoopHarness();
    h.errors.push('not ready');
    h.updates.push(
      { type: 'ADD', source: 'file', pods: [web] },
      { type: 'REMOVE', source: 'file', pods: [web] },
    );
    await h.clock.advance(1_000);
    expect(h.updates.waiting).toBe(2 - 1);
    h.errors.length = 0;
    await h.clock.advance(10_000);
    expect(h.calls).toEqual(['handlePodAdditions uid-web', 'handlePodRemoves uid-web']);
  });
});

describe('pods whose objects have changed', () => {
  it('are synced soon and once, however often that is said, and only if they are wanted', async () => {
    await using h = syncLoopHarness();
    h.errors.push('not ready');
    h.want(web, aNodePod({ name: 'db' }));
    for (let again = 0; again < 3; again++) h.loop.syncSoon(['uid-web', 'uid-gone']);
    h.loop.syncSoon(['uid-db']);
    await h.clock.advance(100);
    expect(h.calls).toEqual([]);
    h.errors.length = 0;
    await h.clock.advance(400);
    expect(h.calls).toEqual(['handlePodSyncs uid-web', 'handlePodSyncs uid-db']);
    h.loop.syncSoon(['uid-web']);
    await h.clock.settle();
    expect(h.calls.slice(2)).toEqual(['handlePodSyncs uid-web']);
  });
});

describe('with time', () => {
  it('pods that are due are synced once a second, and those that end are worked on again', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.due.push('uid-web', 'uid-ending');
    await h.clock.advance(999);
    expect(h.calls).toEqual([]);
    await h.clock.advance(1);
    expect(h.calls).toEqual(['handlePodSyncs uid-web', 'retry uid-ending']);
    await h.clock.advance(5_000);
    expect(h.calls).toHaveLength(2);
  });

  it('a pod that waits for room is looked at once a second when it has a deadline', async () => {
    await using h = syncLoopHarness();
    h.want(aNodePod({ name: 'hurried', spec: { activeDeadlineSeconds: 60 } }), web);
    for (const uid of ['uid-hurried', 'uid-web']) h.desired.hold(uid, { message: 'Waiting', uids: [] });
    await h.clock.advance(1_000);
    expect(h.calls).toEqual(['handlePodSyncs uid-hurried']);
    h.desired.release('uid-hurried');
    await h.clock.advance(5_000);
    expect(h.calls).toHaveLength(1);
  });

  it('a pod that is due before the second is over is synced then', async () => {
    const clock = new FakeClock();
    const dueAtMs = clock.monotonicMs() + 1_300;
    let isTaken = false;
    const isDue = (): boolean => !isTaken && clock.monotonicMs() >= dueAtMs;
    await using h = syncLoopHarness({
      clock,
      workers: {
        takeDue: () => {
          if (!isDue()) return [];
          isTaken = true;
          return ['uid-web'];
        },
        get nextDueInMs() {
          return isTaken ? undefined : Math.max(0, dueAtMs - clock.monotonicMs());
        },
        ...{ retry: () => undefined, isKnown: () => false, shouldPodContentBeRemoved: () => false },
      },
    });
    h.want(web);
    await clock.advance(1_299);
    expect(h.calls).toEqual([]);
    await clock.advance(1);
    expect(h.calls).toEqual(['handlePodSyncs uid-web']);
  });

  it('housekeeping comes every 2 s, once every source was seen', async () => {
    await using h = syncLoopHarness({ housekeepingPeriodMs: 2_000 });
    h.isSeen.all = false;
    await h.clock.advance(7_000);
    expect(h.calls).toEqual([]);
    h.isSeen.all = true;
    await h.clock.advance(4_000);
    expect(h.calls).toEqual(['handlePodCleanups', 'handlePodCleanups']);
  });

  it('housekeeping comes seldom when nothing happens and nothing is left to do, and again as something happens', async () => {
    const calls: number[] = [];
    const clock = new FakeClock();
    const state = { isCleanedUp: false };
    const none = (): void => undefined;
    await using h = syncLoopHarness({
      clock,
      housekeepingPeriodMs: 2_000,
      handlers: {
        ...{ handlePodAdditions: none, handlePodUpdates: none, handlePodRemoves: none, handlePodSyncs: none },
        handlePodReconcile: none,
        handlePodCleanups: () => calls.push(clock.monotonicMs()),
        get isCleanedUp() {
          return state.isCleanedUp;
        },
      },
    });
    await clock.advance(20_000);
    expect(calls).toHaveLength(10);
    state.isCleanedUp = true;
    calls.length = 0;
    await clock.advance(62_000);
    expect(calls).toHaveLength(3);
    calls.length = 0;
    h.updates.push({ type: 'ADD', source: 'file', pods: [web] });
    await clock.advance(10_000);
    expect(calls).toHaveLength(5);
    await clock.advance(30_000);
    expect(calls).toHaveLength(6);
  });

  it('housekeeping comes at once when somebody waits for it, and not all the time', async () => {
    await using h = syncLoopHarness();
    h.loop.housekeepSoon();
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodCleanups']);
    for (let i = 0; i < 10; i++) {
      h.loop.housekeepSoon();
      await h.clock.advance(50);
    }
    expect(h.calls).toHaveLength(1 + 5);
  });
});

describe('while the runtime or a health check is not well', () => {
  it('nothing is handed on, and the loop says so after 100 ms doubling to 5 s', async () => {
    await using h = syncLoopHarness({ housekeepingPeriodMs: 2_000 });
    h.want(web);
    h.errors.push('container runtime is down', 'PLEG is not healthy: no');
    h.due.push('uid-web');
    const startMs = h.clock.monotonicMs();
    const saidAtMs: number[] = [];
    // The loop sleeps already: it looks at the errors when it wakes.
    h.events.push(anEvent('ContainerDied'));
    h.probeResults.push(aResult('liveness', 'failure'));
    await h.clock.settle();
    for (let passedMs = 0; passedMs < 21_000; passedMs += 100) {
      if (h.logger.complaints.length > saidAtMs.length) saidAtMs.push(h.clock.monotonicMs() - startMs);
      await h.clock.advance(100);
    }
    expect(saidAtMs).toEqual([0, 100, 300, 700, 1_500, 3_100, 6_300, 11_300, 16_300]);
    expect(h.logger.complaints[0]).toMatchObject({
      message: 'Skipping pod synchronization',
      fields: { err: '[container runtime is down, PLEG is not healthy: no]' },
    });
    expect(h.calls).toEqual([]);
    expect(h.loop.state().errors).toHaveLength(2);
  });

  it('the loop says nothing while the first answers are on their way, for three seconds', async () => {
    await using h = syncLoopHarness();
    h.isPending.now = true;
    h.errors.push('container runtime status check may not have completed yet', 'PLEG is not healthy: first');
    h.events.push(anEvent('ContainerDied'));
    await h.clock.advance(2_900);
    expect(h.logger.complaints).toEqual([]);
    await h.clock.advance(2_000);
    expect(h.logger.complaints.length).toBeGreaterThan(0);
  });

  it('the loop says so at once when the first answer is a failure', async () => {
    await using h = syncLoopHarness();
    h.isPending.now = true;
    h.errors.push('container runtime status check may not have completed yet');
    h.events.push(anEvent('ContainerDied'));
    await h.clock.advance(200);
    expect(h.logger.complaints).toEqual([]);
    h.isPending.now = false;
    await h.clock.advance(400);
    expect(h.logger.complaints[0]).toMatchObject({ message: 'Skipping pod synchronization' });
  });

  it('it continues as soon as it is notified that all is well, and not while that is not so', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.errors.push('not ready');
    h.updates.push({ type: 'ADD', source: 'file', pods: [web] });
    await h.clock.advance(1_600);
    const complaints = h.logger.complaints.length;
    h.loop.recoverSoon();
    await h.clock.settle();
    expect(h.logger.complaints).toHaveLength(complaints);
    expect(h.calls).toEqual([]);
    h.errors.length = 0;
    h.loop.recoverSoon();
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodAdditions uid-web']);
    // The next time it is held up for as long as ever.
    h.loop.recoverSoon();
    h.errors.push('not ready');
    h.updates.push({ type: 'UPDATE', source: 'file', pods: [web] });
    await h.clock.advance(1);
    h.errors.length = 0;
    await h.clock.advance(98);
    expect(h.calls).toHaveLength(1);
    await h.clock.advance(2);
    expect(h.calls).toHaveLength(2);
  });

  it('events are read and folded, and are acted on afterwards', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    h.errors.push('not ready');
    for (let i = 0; i < 5_000; i++) h.events.push(anEvent('ContainerDied', { containerId: `c${i}` }));
    for (let rounds = 0; rounds < 100 && h.events.waiting > 0; rounds++) await h.clock.settle();
    expect(h.events.waiting).toBe(0);
    expect(h.loop.state()).toMatchObject({ podsWithEvents: 1, foldedEvents: 5_000 - 64 });
    h.errors.length = 0;
    await h.clock.advance(5_000);
    expect(h.calls).toHaveLength(1 + 64);
    expect(h.calls[0]).toBe('handlePodSyncs uid-web');
    expect(h.calls.at(-1)).toBe('dead c4999');
  });

  it('events of more pods than it keeps become one look at all', async () => {
    await using h = syncLoopHarness({ podCapacity: 2 });
    const pods = ['a', 'b', 'c', 'd'].map((name) => aNodePod({ name }));
    h.want(...pods);
    h.errors.push('not ready');
    for (const { metadata } of pods) h.events.push(anEvent('ContainerStarted', { name: metadata.name }));
    await h.clock.advance(100);
    h.errors.length = 0;
    await h.clock.advance(5_000);
    expect(new Set(h.calls)).toEqual(new Set(pods.map(({ metadata }) => `handlePodSyncs ${metadata.uid}`)));
  });

  it('the back-off starts over after a time in which all was well', async () => {
    await using h = syncLoopHarness();
    h.errors.push('not ready');
    await h.clock.advance(2_000);
    h.errors.length = 0;
    await h.clock.advance(5_000);
    const before = h.logger.complaints.length;
    h.errors.push('not ready');
    await h.clock.advance(1_350);
    expect(h.logger.complaints.length - before).toBeGreaterThanOrEqual(3);
  });
});

describe('the work of the loop', () => {
  it('comes in slices of 10 ms, in which everything gets its turn', async () => {
    const turns: (() => void)[] = [];
    const slices: string[][] = [];
    await using h = syncLoopHarness({
      yieldToLoop: async () => {
        slices.push(h.calls.splice(0));
        await new Promise<void>((resolve) => turns.push(resolve));
      },
      handlers: {
        ...{ handlePodUpdates: () => undefined, handlePodRemoves: () => undefined },
        ...{ handlePodReconcile: () => undefined, handlePodCleanups: () => undefined },
        handlePodAdditions: ([pod]) => {
          h.calls.push(`add ${pod!.metadata.name}`);
          h.clock.stall(3);
        },
        handlePodSyncs: ([pod]) => {
          h.calls.push(`sync ${pod!.metadata.name}`);
          h.clock.stall(3);
        },
      },
    });
    const names = ['a', 'b', 'c', 'd'];
    h.want(...names.map((name) => aNodePod({ name })));
    h.errors.push('not ready');
    await h.clock.advance(1_000);
    h.updates.push({ type: 'ADD', source: 'file', pods: ['x', 'y', 'z'].map((name) => aNodePod({ name })) });
    for (const name of names) h.events.push(anEvent('ContainerStarted', { name }));
    await h.clock.settle();
    h.errors.length = 0;
    await h.clock.advance(2_000);
    expect(slices).toEqual([['add x', 'sync a', 'add y', 'sync b']]);
    turns.shift()!();
    await h.clock.settle();
    expect(h.calls).toEqual(['add z', 'sync c', 'sync d']);
    expect(h.loop.state().longestSliceMs).toBe(12);
  });

  it('goes on when the handling of one thing fails', async () => {
    let syncs = 0;
    const none = (): void => undefined;
    await using h = syncLoopHarness({
      handlers: {
        ...{ handlePodAdditions: none, handlePodUpdates: none, handlePodRemoves: none },
        ...{ handlePodReconcile: none, handlePodCleanups: none },
        handlePodSyncs: () => {
          if (++syncs === 1) throw new Error('a mistake');
        },
      },
    });
    h.want(web, aNodePod({ name: 'db' }));
    h.events.push(anEvent('ContainerStarted'), anEvent('ContainerStarted', { name: 'db' }));
    await h.clock.settle();
    expect(syncs).toBe(2);
    expect(h.logger.complaints).toMatchObject([{ fields: { err: { message: 'a mistake' } } }]);
  });

  it('ends with the signal, and leaves neither timer nor reader behind', async () => {
    const h = syncLoopHarness();
    h.updates.push({ type: 'ADD', source: 'file', pods: [web] });
    await h.clock.settle();
    await h.stop();
    expect(h.clock.pendingTimers).toBe(0);
    h.updates.push({ type: 'REMOVE', source: 'file', pods: [web] });
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodAdditions uid-web']);
  });

  it('ends with an error when one of its readers does', async () => {
    const h = syncLoopHarness();
    await h.clock.settle();
    h.events.break(new Error('two readers'));
    await h.clock.settle();
    await expect(h.stop()).rejects.toThrow('two readers');
  });
});
