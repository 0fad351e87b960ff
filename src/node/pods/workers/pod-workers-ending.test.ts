import { describe, expect, it } from 'vitest';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { aPod, aPodStatus } from '#testing/builders.js';
import { aNodePod, type NodePodBlueprint } from '#support/builders/node-pod-builder.js';
import { workersHarness, type WorkersHarness } from '#support/harness/workers-harness.js';
import { PodloopError } from '#base/errors/errors.js';
import { type PodSyncEnd, podSyncEnded } from '#base/channels/worker-channels.js';
import { type PodWorkRequest } from './work-request.js';

/** A harness whose pod `web` is synced at the moment. */
async function withSyncUnderWay(blueprint?: NodePodBlueprint): Promise<WorkersHarness> {
  const harness = workersHarness();
  harness.workers.updatePod({ type: 'create', pod: aNodePod(blueprint) });
  await harness.look();
  return harness;
}

/** A harness whose pod `web` is being ended at the moment, with 30 s of grace. */
async function withEndUnderWay(): Promise<WorkersHarness> {
  const harness = await withSyncUnderWay();
  harness.workers.updatePod({ type: 'kill', pod: aNodePod() });
  harness.syncer.last().fail(harness.syncer.last().signal.reason);
  await harness.look();
  return harness;
}

describe('a pod that is killed', () => {
  it('goes through all phases and is then finished', async () => {
    const { workers, syncer, finished, look, succeed } = await withSyncUnderWay();
    await succeed();
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    for (let step = 0; step < 3; step++) {
      await look();
      await succeed();
    }
    expect(syncer.log).toEqual(['SyncPod uid-web', 'TerminatingPod uid-web', 'TerminatedPod uid-web']);
    expect(finished).toEqual(['uid-web']);
    expect(workers.isFinished('uid-web')).toBe(true);
    expect(workers.takeDue()).toEqual([]);
  });

  it('has its sync start nothing more, and is ended only once that has settled', async () => {
    const { workers, syncer, look } = await withSyncUnderWay();
    const [sync] = syncer.syncs;
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    expect(sync!.signal.aborted).toBe(true);
    await look();
    expect(syncer.syncs).toHaveLength(1);
    expect(workers.isTerminationRequested('uid-web')).toBe(true);
    expect(workers.shouldPodContainersBeTerminating('uid-web')).toBe(false);
    sync!.fail(sync!.signal.reason);
    await look();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatingPod', work: { gracePeriodSeconds: 30 } });
    expect(workers.shouldPodContainersBeTerminating('uid-web')).toBe(true);
  });

  it('is not complained about because its sync was overtaken', async () => {
    const ends: PodSyncEnd[] = [];
    const stop = podSyncEnded.subscribe((end) => ends.push(end));
    const { logger } = await withEndUnderWay();
    stop();
    expect(logger.complaints).toEqual([]);
    expect(ends).toMatchObject([{ workType: 'SyncPod', isOvertaken: true }]);
  });

  it('is ended on a view newer than its last sync', async () => {
    const { workers, syncer, clock, look, succeed } = await withSyncUnderWay();
    await succeed();
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    await clock.settle();
    expect(syncer.syncs).toHaveLength(1);
    await look();
    expect(syncer.syncs).toHaveLength(2);
  });

  it('is ended although no sync of it ever began', async () => {
    const { workers, syncer, look, succeed } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    for (let step = 0; step < 2; step++) {
      await look();
      await succeed();
    }
    expect(syncer.log).toEqual(['TerminatingPod uid-web', 'TerminatedPod uid-web']);
  });

  it('is retried until no container runs', async () => {
    const { workers, syncer, clock, look } = await withEndUnderWay();
    syncer.last().fail(new Error('still running'));
    await clock.advance(10_000);
    expect(workers.takeDue()).toEqual(['uid-web']);
    workers.retry('uid-web');
    await look();
    expect(syncer.log.slice(1)).toEqual(['TerminatingPod uid-web', 'TerminatingPod uid-web']);
    expect(workers.couldHaveRunningContainers('uid-web')).toBe(true);
  });

  it('notifies those who wait for it as soon as no container runs', async () => {
    const { workers, look, succeed } = await withSyncUnderWay();
    const completed: string[] = [];
    const kill = (name: string): PodWorkRequest => ({
      ...{ type: 'kill', pod: aNodePod() },
      kill: { onCompleted: () => completed.push(name) },
    });
    workers.updatePod(kill('first'));
    workers.updatePod(kill('second'));
    await succeed();
    await look();
    expect(completed).toEqual([]);
    await succeed();
    expect(completed).toEqual(['first', 'second']);
    workers.updatePod(kill('third'));
    expect(completed).toHaveLength(3);
    await look();
    await succeed();
    workers.updatePod(kill('fourth'));
    expect(completed).toHaveLength(4);
  });

  it('carries what its status is to say to the end', async () => {
    const { workers, syncer, look, succeed } = await withSyncUnderWay();
    const statusOverride = { phase: 'Failed', reason: 'Evicted', message: 'short of memory' } as const;
    workers.updatePod({ type: 'kill', pod: aNodePod(), kill: { evict: true, statusOverride } });
    await succeed();
    await look();
    expect(syncer.last().work.statusOverride).toEqual(statusOverride);
    await succeed();
    await look();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatedPod', work: { statusOverride } });
    expect(workers.shouldPodContentBeRemoved('uid-web')).toBe(true);
  });
});

describe('a pod whose containers have all ended for good', () => {
  it('is terminated, and finished, without a kill', async () => {
    const { workers, syncer, look, succeed } = await withSyncUnderWay();
    await succeed({ isTerminal: true });
    expect(workers.shouldPodContainersBeTerminating('uid-web')).toBe(true);
    await look();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatingPod', work: { gracePeriodSeconds: 30 } });
    await succeed();
    await look();
    await succeed();
    expect(workers.isFinished('uid-web')).toBe(true);
    workers.updatePod({ type: 'update', pod: aNodePod() });
    await look();
    expect(syncer.syncs).toHaveLength(3);
  });

  it('is ended by the kill that came meanwhile, and by nothing else', async () => {
    const { workers, syncer, look } = await withSyncUnderWay();
    workers.updatePod({ type: 'kill', pod: aNodePod(), kill: { gracePeriodSeconds: 5 } });
    syncer.last().succeed({ isTerminal: true });
    await look();
    expect(syncer.last().work.gracePeriodSeconds).toBe(5);
    expect(syncer.syncs).toHaveLength(2);
  });
});

describe('a pod that was deleted where it comes from', () => {
  it('is ended by an update, with the grace period of the deletion', async () => {
    const { workers, syncer, look, succeed } = await withSyncUnderWay();
    const pod = aNodePod({ deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds: 7 });
    workers.updatePod({ type: 'update', pod });
    await succeed();
    await look();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatingPod', work: { gracePeriodSeconds: 7 } });
    expect(workers.shouldPodContentBeRemoved('uid-web')).toBe(false);
    await succeed();
    expect(workers.shouldPodContentBeRemoved('uid-web')).toBe(true);
  });
});

describe('the grace period of a pod that ends', () => {
  it('shrinks when a kill asks for less, which overtakes the one under way', async () => {
    const { workers, syncer, look } = await withEndUnderWay();
    const first = syncer.last();
    workers.updatePod({ type: 'kill', pod: aNodePod(), kill: { gracePeriodSeconds: 2 } });
    expect(first.signal.aborted).toBe(true);
    first.fail(first.signal.reason);
    await look();
    expect(syncer.last().work.gracePeriodSeconds).toBe(2);
    expect(syncer.last().signal.aborted).toBe(false);
  });

  it('never grows', async () => {
    const { workers, syncer, look } = await withEndUnderWay();
    const first = syncer.last();
    workers.updatePod({ type: 'kill', pod: aNodePod(), kill: { gracePeriodSeconds: 300 } });
    workers.updatePod({ type: 'update', pod: aNodePod({ spec: { terminationGracePeriodSeconds: 300 } }) });
    expect(first.signal.aborted).toBe(false);
    first.fail(new Error('still running'));
    await look();
    expect(syncer.last().work.gracePeriodSeconds).toBe(30);
  });
});

describe('a pod that is to end and whose status cannot be had', () => {
  const partial = aPodStatus(aPod());

  function aHarness() {
    const asked: string[] = [];
    const harness = workersHarness({
      readPodParts: (uid) => {
        asked.push(uid);
        return Promise.resolve(partial);
      },
    });
    const { cache, clock, workers } = harness;
    return {
      ...{ ...harness, asked },
      /** The next inspection fails, or shows everything again. */
      inspect: async (error?: Error) => {
        const status = error === undefined ? aPodStatus(aPod()) : emptyPodStatus('uid-web');
        cache.set('uid-web', status, error, clock.stamp());
        await clock.settle();
      },
      /** Until the pod is tried again. */
      retry: async () => {
        await clock.advance(10_000);
        for (const uid of workers.takeDue()) workers.retry(uid);
        await clock.settle();
      },
    };
  }
  const broken = (): Error => new PodloopError('CRI_UNKNOWN', 'no such record');

  it('is ended by what a list shows of it when two views in a row had no status', async () => {
    const { workers, syncer, asked, inspect, retry, succeed } = aHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await inspect();
    await succeed();
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    await inspect(broken());
    expect(asked).toEqual([]);
    await retry();
    await inspect(broken());
    expect(syncer.last()).toMatchObject({
      kind: 'TerminatingPod',
      work: { observed: partial, isPartial: true, gracePeriodSeconds: 30 },
    });
    await succeed();
    // Nothing newer is waited for.
    expect(syncer.last()).toMatchObject({ kind: 'TerminatedPod', work: { observed: partial } });
    await succeed();
    expect(workers.isFinished('uid-web')).toBe(true);
    expect(asked).toEqual(['uid-web', 'uid-web']);
  });

  it('is ended at once when that has lasted', async () => {
    const { workers, syncer, clock, inspect, retry } = aHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await inspect(broken());
    await retry();
    await inspect(broken());
    await retry();
    expect(workers.stats.awaitingView).toBe(1);
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    await clock.settle();
    expect(syncer.log).toEqual(['TerminatingPod uid-web']);
    expect(syncer.last().work.isPartial).toBe(true);
  });

  it('is ended so when no view comes for a minute', async () => {
    const { workers, syncer, clock, succeed } = aHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    await clock.advance(59_000);
    expect(syncer.log).toEqual([]);
    await clock.advance(1_000);
    expect(syncer.last()).toMatchObject({ kind: 'TerminatingPod', work: { isPartial: true } });
    await succeed();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatedPod', work: { observed: partial } });
  });

  it('waits as long as it takes for a view when it is not to end', async () => {
    const { workers, syncer, clock, asked } = aHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await clock.advance(300_000);
    expect(syncer.log).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('is ended by its status when that can be had again', async () => {
    const { workers, syncer, asked, inspect, retry } = aHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    await inspect(broken());
    await retry();
    await inspect();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatingPod', work: { isPartial: false } });
    syncer.last().fail(new Error('still running'));
    await inspect(broken());
    await retry();
    await inspect(broken());
    expect(syncer.syncs).toHaveLength(1);
    expect(asked).toEqual([]);
  });

  it.each(['CRI_UNAVAILABLE', 'INSPECTION_DISPLACED'] as const)(
    'waits for it when that is no fault of the pod: %s',
    async (code) => {
      const { workers, syncer, asked, inspect, retry } = aHarness();
      workers.updatePod({ type: 'create', pod: aNodePod() });
      workers.updatePod({ type: 'kill', pod: aNodePod() });
      for (let failed = 0; failed < 4; failed++) {
        await inspect(new PodloopError(code, 'not now'));
        await retry();
      }
      expect(syncer.syncs).toEqual([]);
      expect(asked).toEqual([]);
    },
  );

  it('is brought no nearer to its manifest without it', async () => {
    const { workers, syncer, asked, inspect, retry } = aHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    for (let failed = 0; failed < 4; failed++) {
      await inspect(broken());
      await retry();
    }
    expect(syncer.syncs).toEqual([]);
    expect(asked).toEqual([]);
  });
});

describe('a pod that only the runtime knows', () => {
  const runningPod = aPod({ name: 'lost', owner: 'podloop' });

  it('is ended with what its annotations say, and needs no view', async () => {
    const { workers, syncer, clock, succeed } = workersHarness();
    workers.updatePod({ type: 'kill', runningPod });
    await clock.settle();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatingRuntimePod', work: { runningPod } });
    expect(syncer.last().work.gracePeriodSeconds).toBeUndefined();
    await succeed();
    expect(workers.isFinished('uid-lost')).toBe(true);
    expect(workers.syncKnownPods([])).toEqual(new Map());
  });

  it('is ended by what a list shows of it while its inspections fail', async () => {
    const { workers, syncer, cache, clock } = workersHarness({
      readPodParts: () => Promise.resolve(aPodStatus(runningPod)),
    });
    const error = new PodloopError('CRI_UNKNOWN', 'no such record');
    cache.set('uid-lost', emptyPodStatus('uid-lost'), error, clock.stamp());
    workers.updatePod({ type: 'kill', runningPod });
    await clock.settle();
    expect(syncer.last().work).toMatchObject({ runningPod, isPartial: true });
  });

  it('gets the manifest that comes before it has ended', async () => {
    const { workers, syncer, look, succeed } = workersHarness();
    workers.updatePod({ type: 'kill', runningPod });
    workers.updatePod({ type: 'update', pod: aNodePod({ name: 'lost' }) });
    await look();
    expect(syncer.log).toEqual(['TerminatingPod uid-lost']);
    await succeed();
    await look();
    expect(syncer.log[1]).toBe('TerminatedPod uid-lost');
  });

  it('is ended as its manifest says when that is known', async () => {
    const { workers, syncer, look, succeed } = await withSyncUnderWay({ name: 'lost' });
    workers.updatePod({ type: 'kill', runningPod });
    await succeed();
    await look();
    expect(syncer.last()).toMatchObject({ kind: 'TerminatingPod', work: { gracePeriodSeconds: 30 } });
  });

  it('is ignored when an older list shows a pod that has ended', async () => {
    const { workers, syncer, succeed, look } = await withEndUnderWay();
    await succeed();
    workers.updatePod({ type: 'kill', runningPod: aPod() });
    await look();
    expect(syncer.last().kind).toBe('TerminatedPod');
  });
});
