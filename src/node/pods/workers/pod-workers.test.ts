import { describe, expect, it } from 'vitest';
import { aPod } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { workersHarness } from '#support/harness/workers-harness.js';
import { PodloopError } from '#base/errors/errors.js';
import { podSyncEnded, type PodSyncEnd } from '#base/channels/worker-channels.js';
import { type SyncPodResult } from './pod-syncer.js';

describe('pod workers', () => {
  it('sync a pod once the cache has a view of it', async () => {
    const { workers, syncer, clock, look } = workersHarness();
    const pod = aNodePod();
    workers.updatePod({ type: 'create', pod });
    await clock.settle();
    expect(syncer.log).toEqual([]);
    await look();
    expect(syncer.log).toEqual(['SyncPod uid-web']);
    expect(syncer.last().work).toMatchObject({ reason: 'create', pod, observed: { uid: 'uid-web' } });
  });

  it('sync one pod at a time per uid, and several pods at once', async () => {
    const { workers, syncer, look } = workersHarness();
    for (const name of ['a', 'b', 'c']) workers.updatePod({ type: 'create', pod: aNodePod({ name }) });
    await look();
    workers.updatePod({ type: 'update', pod: aNodePod({ name: 'b' }) });
    await look();
    expect(syncer.underWay.map(({ uid }) => uid)).toEqual(['uid-a', 'uid-b', 'uid-c']);
  });

  it('let the newest update win and count the others as folded', async () => {
    const { workers, syncer, look, succeed } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    const versions = ['1', '2', '3'].map((version) => aNodePod({ labels: { version } }));
    for (const pod of versions) workers.updatePod({ type: 'update', pod });
    workers.updatePod({ type: 'sync', pod: versions[2]! });
    await succeed();
    await look();
    expect(syncer.syncs).toHaveLength(2);
    expect(syncer.last().work).toMatchObject({
      reason: 'update',
      pod: { metadata: { labels: { version: '3' } } },
    });
    expect(workers.stats.folded).toBe(3);
  });

  it('take up an update that came while they waited for a view', async () => {
    const { workers, syncer, clock, look } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await clock.settle();
    workers.updatePod({ type: 'update', pod: aNodePod({ labels: { version: '2' } }) });
    await look();
    expect(syncer.syncs).toHaveLength(1);
    expect(syncer.last().work).toMatchObject({
      reason: 'create',
      pod: { metadata: { labels: { version: '2' } } },
    });
  });

  it('never sync on a view that is older than the end of the last sync', async () => {
    const { workers, syncer, look, succeed } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    await look();
    workers.updatePod({ type: 'update', pod: aNodePod() });
    await succeed();
    expect(syncer.syncs).toHaveLength(1);
    await look();
    expect(syncer.syncs).toHaveLength(2);
  });

  it('ask for a look at the pod after a sync, except after one that changed nothing', async () => {
    const { workers, relists, syncer, look, succeed } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    await succeed();
    expect(relists).toEqual(['uid-web']);
    workers.updatePod({ type: 'sync', pod: aNodePod() });
    await look();
    await succeed({ unchanged: true });
    expect(relists).toEqual(['uid-web']);
    workers.updatePod({ type: 'sync', pod: aNodePod() });
    await succeed();
    expect(syncer.syncs).toHaveLength(3);
  });

  it('retry later when the status of the pod cannot be had', async () => {
    const { workers, syncer, cache, clock, logger, look } = workersHarness();
    cache.set(
      'uid-web',
      { ...aPod(), ips: [], sandboxes: [], containers: [] },
      new Error('hung'),
      clock.stamp(),
    );
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    expect(syncer.log).toEqual([]);
    expect(logger.complaints).toMatchObject([
      { message: 'Error syncing pod, skipping', fields: { err: { message: 'hung' }, podUID: 'uid-web' } },
    ]);
    expect(workers.takeDue()).toEqual([]);
    await clock.advance(10_000);
    expect(workers.takeDue()).toEqual(['uid-web']);
  });

  it('begin a few syncs per turn of the event loop, those of ending pods first', async () => {
    const turns: (() => void)[] = [];
    const { workers, syncer, clock, look } = workersHarness({
      syncsPerTurn: 2,
      yieldToLoop: async () => new Promise<void>((resolve) => turns.push(resolve)),
    });
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) workers.updatePod({ type: 'create', pod: aNodePod({ name }) });
    workers.updatePod({ type: 'kill', pod: aNodePod({ name: 'e' }) });
    await look();
    expect(syncer.log).toEqual(['TerminatingPod uid-e', 'SyncPod uid-a']);
    turns.shift()!();
    await clock.settle();
    expect(syncer.log.slice(2)).toEqual(['SyncPod uid-b', 'SyncPod uid-c']);
  });

  it('report for each piece of work how long it waited and took', async () => {
    const ends: PodSyncEnd[] = [];
    const stop = podSyncEnded.subscribe((end) => ends.push(end));
    const { workers, syncer, clock, look, succeed } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await clock.advance(300);
    await look();
    await clock.advance(50);
    syncer.last().fail(new Error('no'));
    await clock.settle();
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    await look();
    await succeed();
    stop();
    expect(ends).toEqual([
      {
        ...{ uid: 'uid-web', workType: 'SyncPod', reason: 'create' },
        ...{ waitedMs: 300, durationMs: 350, error: new Error('no') },
      },
      {
        ...{ uid: 'uid-web', workType: 'TerminatingPod', reason: 'kill' },
        ...{ waitedMs: 0, durationMs: 0, error: undefined },
      },
    ]);
  });

  it('count the pods by their phase', async () => {
    const { workers, clock, look } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod({ name: 'a' }) });
    workers.updatePod({ type: 'kill', pod: aNodePod({ name: 'b' }) });
    expect([...workers.phases()]).toEqual([
      ['uid-a', 'waiting'],
      ['uid-b', 'stopping'],
    ]);
    await clock.settle();
    expect(workers.stats).toMatchObject({ awaitingView: 2, syncing: 0 });
    await look();
    expect(workers.stats).toMatchObject({ byPhase: { syncing: 1, terminating: 1, waiting: 0 }, syncing: 2 });
  });

  it('settle what is under way and begin nothing when they are closed', async () => {
    const { workers, syncer, clock, look } = workersHarness();
    let completed = 0;
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    workers.updatePod({ type: 'kill', pod: aNodePod(), kill: { onCompleted: () => completed++ } });
    workers.updatePod({ type: 'create', pod: aNodePod({ name: 'other' }) });
    let closed = false;
    const closing = workers.close().then(() => (closed = true));
    await look();
    expect(syncer.last().signal.aborted).toBe(true);
    expect(closed).toBe(false);
    syncer.last().fail(syncer.last().signal.reason);
    await closing;
    await clock.settle();
    expect(syncer.log).toEqual(['SyncPod uid-web']);
    expect(completed).toBe(1);
    workers.updatePod({ type: 'kill', pod: aNodePod(), kill: { onCompleted: () => completed++ } });
    expect(completed).toBe(2);
  });

  it('name what does not settle in time when they are closed, and leave it to itself', async () => {
    const { workers, syncer, clock, look, logger } = workersHarness();
    let completed = 0;
    for (const name of ['hung', 'idle', 'slow'])
      workers.updatePod({ type: 'create', pod: aNodePod({ name }) });
    await look();
    workers.updatePod({
      ...{ type: 'kill', pod: aNodePod({ name: 'hung' }) },
      kill: { onCompleted: () => completed++ },
    });
    syncer.last('uid-idle').succeed({ unchanged: true });
    await clock.settle();
    const closing = workers.close(5_000);
    await clock.advance(4_999);
    syncer.last('uid-slow').succeed();
    await clock.advance(1);
    const pod = { uid: 'uid-hung', namespace: 'default', name: 'hung' };
    expect(await closing).toEqual([{ pod, syncing: 'SyncPod' }]);
    expect(logger.complaints).toMatchObject([
      { level: 'error', fields: { pod, podUID: 'uid-hung', updateType: 'SyncPod' } },
    ]);
    expect(completed).toBe(1);
    const again = workers.close(0);
    await clock.advance(0);
    expect(await again).toHaveLength(1);
    syncer.last('uid-hung').fail(new Error('after all'));
    await clock.settle();
    expect(await workers.close(0)).toEqual([]);
    expect(syncer.log).toHaveLength(3);
  });

  it('say when it changes whether a pod is known to have no containers', async () => {
    const told: string[] = [];
    const { workers, look, succeed } = workersHarness({
      onTerminatedChanged: (uid) => told.push(`${uid} ${workers.isKnownTerminated(uid)}`),
    });
    workers.updatePod({ type: 'create', pod: aNodePod() });
    workers.updatePod({ type: 'kill', runningPod: aPod({ uid: 'uid-orphan' }) });
    await look();
    await succeed();
    workers.updatePod({ type: 'kill', pod: aNodePod() });
    await look();
    expect(told).toEqual(['uid-orphan true']);
    await succeed();
    await look();
    await succeed();
    workers.syncKnownPods([]);
    expect(told).toEqual(['uid-orphan true', 'uid-web true', 'uid-web false', 'uid-orphan false']);
  });
});

it('pod workers end the waits of hundreds of pods at once when they are closed, without a warning', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  const { workers, cache, clock, syncer } = workersHarness();
  for (let i = 0; i < 300; i++) workers.updatePod({ type: 'create', pod: aNodePod({ name: `p${i}` }) });
  await clock.settle();
  expect(cache.waiting).toBe(300);
  await workers.close();
  await clock.settle();
  process.off('warning', note);
  expect(cache.waiting).toBe(0);
  expect(syncer.syncs).toEqual([]);
  expect(warnings).toEqual([]);
});

describe('the next sync of a pod to which nothing happens', () => {
  it.each<[string, { result?: Partial<SyncPodResult>; error?: Error; afterMs: number }]>([
    ['a minute after one that went well', { result: {}, afterMs: 60_000 }],
    ['when the sync said so', { result: { requeueAfterMs: 2_500 }, afterMs: 2_500 }],
    ['a minute later when the sync said later', { result: { requeueAfterMs: 600_000 }, afterMs: 60_000 }],
    ['ten seconds after one that failed', { error: new Error('no'), afterMs: 10_000 }],
    [
      'a second after one that had no network',
      { error: new PodloopError('NETWORK_NOT_READY', 'network is not ready: …'), afterMs: 1_000 },
    ],
  ])('is due %s', async (_, { result, error, afterMs }) => {
    const { workers, syncer, clock, look } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    if (error === undefined) syncer.last().succeed(result);
    else syncer.last().fail(error);
    await clock.advance(afterMs - 1);
    expect(workers.takeDue()).toEqual([]);
    expect(workers.nextDueInMs).toBe(1);
    await clock.advance(1);
    expect(workers.takeDue()).toEqual(['uid-web']);
    expect(workers.takeDue()).toEqual([]);
  });

  it.each([
    ['with its deadline, though the last one failed', 3_000, 3_000],
    ['after the back-off when its deadline is later', 30_000, 10_000],
    ['after the back-off when its deadline has passed', 0, 10_000],
  ])('is due %s', async (_, deadlineMs, afterMs) => {
    const { workers, syncer, clock, look } = workersHarness({ findDeadlineMs: () => deadlineMs });
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    syncer.last().fail(new Error('no'));
    await clock.advance(afterMs - 1);
    expect(workers.takeDue()).toEqual([]);
    await clock.advance(1);
    expect(workers.takeDue()).toEqual(['uid-web']);
  });

  it('is up to half as late again by chance', async () => {
    const { workers, clock, look, succeed } = workersHarness({ random: () => 0.5 });
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    await succeed();
    await clock.advance(74_999);
    expect(workers.takeDue()).toEqual([]);
    await clock.advance(1);
    expect(workers.takeDue()).toEqual(['uid-web']);
  });

  it('is not synced but due again later while its syncer would find nothing new', async () => {
    const { workers, syncer, clock, look, succeed } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod() });
    await look();
    await succeed();
    syncer.settled.add('uid-web');
    await clock.advance(60_000);
    expect(workers.takeDue()).toEqual([]);
    expect(workers.nextDueInMs).toBe(60_000);
    syncer.settled.clear();
    await clock.advance(60_000);
    expect(workers.takeDue()).toEqual(['uid-web']);
  });

  it('is synced whatever its syncer would find when its status cannot be had, or it is to end', async () => {
    const { workers, syncer, clock, cache, look, succeed } = workersHarness();
    for (const name of ['web', 'db']) workers.updatePod({ type: 'create', pod: aNodePod({ name }) });
    await look();
    await succeed();
    syncer.settled.add('uid-web').add('uid-db');
    cache.set('uid-web', cache.get('uid-web').status, new Error('hung'), clock.stamp());
    workers.updatePod({ type: 'kill', pod: aNodePod({ name: 'db' }) });
    await look();
    syncer.last('uid-db').fail(new Error('no'));
    await clock.advance(60_000);
    expect(workers.takeDue().sort()).toEqual(['uid-db', 'uid-web']);
  });

  it('works on the pod as it was last wanted when it is retried', async () => {
    const { workers, syncer, look, succeed } = workersHarness();
    workers.updatePod({ type: 'create', pod: aNodePod({ labels: { version: '7' } }) });
    await look();
    await succeed();
    workers.retry('uid-web');
    workers.retry('uid-unknown');
    await look();
    expect(syncer.syncs).toHaveLength(2);
    expect(syncer.last().work.pod?.metadata.labels).toEqual({ version: '7' });
  });
});
