import { describe, expect, it } from 'vitest';
import { aNodePod } from '../testing/node-pod-builder.js';
import { workersHarness } from '../testing/workers-harness.js';
import { watchPromise } from '../testing/watch-promise.js';
import { endPods } from './end-pods.js';

const never = new AbortController().signal;
const pods = ['web', 'db'].map((name) => aNodePod({ name }));

describe('ending pods without a sync loop', () => {
  it('resolves when no container of them runs', async () => {
    const { workers, clock, syncer, look } = workersHarness();
    for (const pod of pods) workers.updatePod({ type: 'create', pod });
    await look();
    for (const sync of syncer.underWay) sync.succeed();
    await clock.settle();
    const ending = endPods({ clock, workers, pods, kill: { gracePeriodSeconds: 5 } }, never);
    let isOver = false;
    void ending.then(() => (isOver = true));
    await look();
    expect(syncer.underWay.map(({ kind, work }) => [kind, work.gracePeriodSeconds])).toEqual([
      ['TerminatingPod', 5],
      ['TerminatingPod', 5],
    ]);
    syncer.underWay[0]!.succeed();
    await clock.settle();
    expect(isOver).toBe(false);
    syncer.last('uid-db').succeed();
    await ending;
    expect(clock.pendingTimers).toBe(0);
  });

  it('tries again what fails', async () => {
    const { workers, clock, syncer, look } = workersHarness();
    const ending = endPods({ clock, workers, pods: pods.slice(0, 1) }, never);
    await look();
    syncer.last().fail(new Error('still running'));
    await clock.advance(11_000);
    await look();
    expect(syncer.log).toEqual(['TerminatingPod uid-web', 'TerminatingPod uid-web']);
    syncer.last().succeed();
    await ending;
  });

  it('is over at once when there is nothing to end', async () => {
    const { workers, clock } = workersHarness();
    await endPods({ clock, workers, pods: [] }, never);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is given up with the signal', async () => {
    const { workers, clock, look } = workersHarness();
    const stopping = new AbortController();
    const ending = watchPromise(endPods({ clock, workers, pods }, stopping.signal));
    await look();
    stopping.abort(new Error('enough'));
    await clock.settle();
    expect(ending.error).toEqual(new Error('enough'));
  });
});
