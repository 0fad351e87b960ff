import { describe, expect, it } from 'vitest';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { workersHarness, type WorkersHarness } from '#support/harness/workers-harness.js';

const pod = aNodePod();
const uid = 'uid-web';

/** Goes on until nothing is under way and nothing waits for a view. */
async function runOut({ look, succeed, syncer }: WorkersHarness): Promise<void> {
  await look();
  while (syncer.underWay.length > 0) {
    await succeed();
    await look();
  }
}

async function finish(harness: WorkersHarness): Promise<void> {
  harness.workers.updatePod({ type: 'create', pod });
  await runOut(harness);
  harness.workers.updatePod({ type: 'kill', pod });
  await runOut(harness);
}

describe('syncKnownPods', () => {
  it('says what each known uid is', async () => {
    const harness = workersHarness();
    const { workers } = harness;
    const others = ['syncing', 'ending', 'finished'].map((name) => aNodePod({ name }));
    for (const other of others) workers.updatePod({ type: 'create', pod: other });
    await runOut(harness);
    workers.updatePod({ type: 'kill', pod: others[2]! });
    await runOut(harness);
    workers.updatePod({ type: 'kill', pod: others[1]! });
    const common = { isOrphan: false, hasConfig: true, isStatic: true };
    expect(workers.syncKnownPods(others)).toEqual(
      new Map([
        ['uid-syncing', { ...common, state: 'SyncPod' }],
        ['uid-ending', { ...common, state: 'TerminatingPod' }],
        ['uid-finished', { ...common, state: 'TerminatedPod' }],
      ]),
    );
  });

  it('keeps a finished pod as long as it is desired, and forgets it afterwards', async () => {
    const harness = workersHarness();
    await finish(harness);
    expect(harness.workers.syncKnownPods([pod]).has(uid)).toBe(true);
    harness.workers.updatePod({ type: 'update', pod });
    await runOut(harness);
    expect(harness.syncer.log.filter((line) => line.startsWith('SyncPod'))).toHaveLength(1);
    expect(harness.workers.syncKnownPods([]).has(uid)).toBe(false);
    expect(harness.workers.isKnown(uid)).toBe(false);
  });

  it('ends a pod that is not desired any more', async () => {
    const harness = workersHarness();
    const { workers, syncer } = harness;
    workers.updatePod({ type: 'create', pod });
    await harness.look();
    expect(workers.syncKnownPods([]).get(uid)).toMatchObject({ state: 'TerminatingPod', isOrphan: true });
    expect(syncer.last().signal.aborted).toBe(true);
    await runOut(harness);
    expect(syncer.syncs[1]).toMatchObject({ kind: 'TerminatingPod', work: { gracePeriodSeconds: 30 } });
    expect(workers.shouldPodContentBeRemoved(uid)).toBe(true);
    expect(workers.syncKnownPods([]).size).toBe(0);
  });

  it('does not ask again for the end of an orphan that is ending', async () => {
    const harness = workersHarness();
    harness.workers.updatePod({ type: 'create', pod });
    await runOut(harness);
    harness.workers.syncKnownPods([]);
    await harness.look();
    harness.workers.syncKnownPods([]);
    harness.workers.syncKnownPods([]);
    expect(harness.workers.stats.folded).toBe(0);
  });
});

describe('a pod that comes again under the same uid', () => {
  it('waits until it has ended and is then restarted', async () => {
    const harness = workersHarness();
    const { workers, syncer } = harness;
    workers.updatePod({ type: 'create', pod });
    await runOut(harness);
    workers.updatePod({ type: 'kill', pod });
    await harness.look();
    expect(workers.isWantedAgain(uid)).toBe(false);
    workers.updatePod({ type: 'create', pod });
    expect(workers.isWantedAgain(uid)).toBe(true);
    workers.updatePod({ type: 'update', pod: aNodePod({ labels: { version: '2' } }) });
    expect(workers.syncKnownPods([pod]).get(uid)?.state).toBe('TerminatingPod');
    await runOut(harness);
    expect(workers.isFinished(uid)).toBe(true);
    expect(harness.restartable).toEqual([uid]);
    expect(workers.syncKnownPods([pod]).has(uid)).toBe(false);
    expect(workers.isWantedAgain(uid)).toBe(false);
    workers.updatePod({ type: 'create', pod });
    await harness.clock.settle();
    // What is seen so far may be of its life before.
    expect(syncer.last().kind).toBe('TerminatedPod');
    await harness.look();
    expect(syncer.last()).toMatchObject({ kind: 'SyncPod', work: { reason: 'create' } });
  });
});

describe('a pod that comes again after it has ended', () => {
  it('is said to wait for the next call of syncKnownPods', async () => {
    const harness = workersHarness();
    await finish(harness);
    expect(harness.restartable).toEqual([]);
    harness.workers.updatePod({ type: 'create', pod });
    expect(harness.restartable).toEqual([uid]);
    expect(harness.workers.syncKnownPods([pod]).has(uid)).toBe(false);
  });
});

describe('what others may do with a pod', () => {
  it('follows its life', async () => {
    const harness = workersHarness();
    const { workers, look, succeed } = harness;
    const answers = (): boolean[] => [
      workers.couldHaveRunningContainers(uid),
      workers.isTerminationRequested(uid),
      workers.shouldPodContainersBeTerminating(uid),
      workers.isKnownTerminated(uid),
      workers.shouldPodRuntimeBeRemoved(uid),
      workers.shouldPodContentBeRemoved(uid),
      workers.isFinished(uid),
    ];
    const [yes, no] = [true, false];
    expect(answers()).toEqual([yes, no, no, no, no, no, no]);
    workers.updatePod({ type: 'create', pod });
    await look();
    expect(answers()).toEqual([yes, no, no, no, no, no, no]);
    workers.syncKnownPods([]);
    expect(answers()).toEqual([yes, yes, no, no, no, no, no]);
    await succeed();
    await look();
    expect(answers()).toEqual([yes, yes, yes, no, no, no, no]);
    await succeed();
    expect(answers()).toEqual([no, yes, yes, yes, yes, yes, no]);
    await look();
    await succeed();
    expect(answers()).toEqual([no, yes, yes, yes, yes, yes, yes]);
    workers.syncKnownPods([]);
    expect(answers()).toEqual([no, no, yes, no, yes, yes, no]);
  });
});

describe('static pods of one name', () => {
  const [first, second, third] = ['1', '2', '3'].map((version) => aNodePod({ uid: `uid-${version}` }));

  it('live one after the other, in the order in which they came', async () => {
    const harness = workersHarness();
    const { workers, syncer } = harness;
    for (const next of [first!, second!, third!]) workers.updatePod({ type: 'create', pod: next });
    await runOut(harness);
    expect(syncer.log).toEqual(['SyncPod uid-1']);
    workers.updatePod({ type: 'update', pod: second! });
    await runOut(harness);
    expect(syncer.syncs).toHaveLength(1);
    workers.updatePod({ type: 'kill', pod: first! });
    await runOut(harness);
    expect(syncer.log).toEqual([
      ...['SyncPod uid-1', 'TerminatingPod uid-1', 'TerminatedPod uid-1', 'SyncPod uid-2'],
    ]);
  });

  it('leave the queue when they are killed before their turn', async () => {
    const harness = workersHarness();
    const { workers, syncer } = harness;
    for (const next of [first!, second!, third!]) workers.updatePod({ type: 'create', pod: next });
    await runOut(harness);
    workers.updatePod({ type: 'kill', pod: second! });
    await runOut(harness);
    workers.updatePod({ type: 'kill', pod: first! });
    await runOut(harness);
    expect(syncer.log.filter((line) => line.startsWith('SyncPod'))).toEqual([
      'SyncPod uid-1',
      'SyncPod uid-3',
    ]);
  });

  it('wait for nobody when they come from the API', async () => {
    const harness = workersHarness();
    for (const version of ['1', '2']) {
      harness.workers.updatePod({ type: 'create', pod: aNodePod({ uid: `uid-${version}`, source: 'api' }) });
    }
    await runOut(harness);
    expect(harness.syncer.log).toEqual(['SyncPod uid-1', 'SyncPod uid-2']);
  });
});
