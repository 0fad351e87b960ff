import { describe, expect, it, vi } from 'vitest';
import { type NodePod } from '../model/node-pod.js';
import { POD_FORBIDDEN } from '../model/node-policy.js';
import { STATIC_POD_ANNOTATIONS } from '../model/static-pod.js';
import { PodCache } from '../pleg/pod-cache.js';
import { aPod, aPodStatus } from '../testing/builders.js';
import { aNodePod } from '../testing/node-pod-builder.js';
import { type Stamp } from '../util/clock.js';
import { type PodWorkRequest } from '../workers/work-request.js';
import { admitPod, findShortages } from './admit-pod.js';
import { toRunDefinition } from './asks-for-new-run.js';
import { DesiredPods, type Rejection } from './desired-pods.js';
import { toObservedPod } from './housekeeping-owner.js';
import { type PodHandlersOptions } from './pod-handlers-options.js';
import { PodHandlers } from './sync-loop-handlers.js';

/** Handlers with workers that only write down; `ended` are the uids of pods that are to end, or have. */
function setUp(options: Partial<PodHandlersOptions> = {}) {
  const requests: PodWorkRequest[] = [];
  const ended = new Set<string>();
  const tornDown = new Set<string>();
  const rejected: [string, Rejection][] = [];
  const state = { allSeen: true, housekeepings: 0 };
  const desired = new DesiredPods();
  const cache = new PodCache();
  const known = (): Set<string> =>
    new Set(
      requests.map((request) => ('pod' in request ? request.pod.metadata.uid : request.runningPod.uid)),
    );
  const handlers = new PodHandlers({
    desired,
    findObserved: (uid) => toObservedPod(cache.get(uid).status),
    workers: {
      updatePod: (request) => requests.push(request),
      isKnown: (uid) => known().has(uid),
      isTerminationRequested: (uid) => ended.has(uid),
      isKnownTerminated: (uid) => ended.has(uid),
    },
    housekeeping: { run: () => state.housekeepings++, isTornDown: (uid) => tornDown.has(uid) },
    seenAllSources: () => state.allSeen,
    onRejected: (pod, rejection) => rejected.push([pod.metadata.uid, rejection]),
    ...options,
  });
  const asked = (): string[] =>
    requests.map(
      (request) => `${request.type} ${'pod' in request ? request.pod.metadata.uid : 'runtime pod'}`,
    );
  return { handlers, desired, cache, requests, ended, tornDown, rejected, state, asked };
}

function edited(pod: NodePod, version: string): NodePod {
  const annotations = { ...pod.metadata.annotations, [STATIC_POD_ANNOTATIONS.manifestHash]: version };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

const ROOM = { pods: 10, cpuMilli: 1_000n, memoryBytes: 1_000n, others: new Map<string, bigint>() };
const web = aNodePod();
const db = aNodePod({ name: 'db' });

describe('a pod that is critical for the node, where there is too little left', () => {
  const ofCluster = (name: string, cpu: string, more: object = {}): NodePod =>
    aNodePod({
      ...{ name, source: 'api' },
      spec: { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu } } }], ...more },
    });
  const priority = 2_000_000_000;
  function scene() {
    const preempted: string[] = [];
    const told: string[] = [];
    const capacity = { ...ROOM };
    const made = setUp({
      admit: (pod, active) => admitPod(pod, active, capacity),
      findShortages: (pod, active) => findShortages(pod, active, capacity),
      onPreempted: ({ metadata }, { reason }) => preempted.push(`${metadata.name} ${reason}`),
      onWaiting: ({ metadata }, { message }, isNews) =>
        told.push(`${metadata.name} ${message}${isNews ? '' : ' (known)'}`),
      onWaitGivenUp: ({ metadata }) => told.push(`${metadata.name} waits no more`),
      onRejectionLifted: ({ metadata }) => told.push(`${metadata.name} is not rejected`),
    });
    const killed = (): string[] =>
      made.requests.flatMap((request) => {
        if (request.type !== 'kill' || !('pod' in request)) return [];
        made.ended.add(request.pod.metadata.uid);
        return [`${request.pod.metadata.name} ${request.kill?.statusOverride?.reason}`];
      });
    return { ...made, capacity, preempted, killed, told };
  }

  it('has others ended for it, and waits until they have', async () => {
    const { handlers, desired, preempted, killed, rejected, asked, ended } = scene();
    handlers.handlePodAdditions([ofCluster('low', '600m'), ofCluster('lower', '300m')]);
    handlers.handlePodAdditions([ofCluster('high', '500m', { priority })]);
    expect(preempted).toEqual(['low Preempting']);
    expect(killed()).toEqual(['low Preempting']);
    ended.delete('uid-low');
    expect(rejected).toEqual([]);
    expect(desired.isHeld('uid-high')).toBe(true);
    handlers.handlePodSyncs([desired.find('uid-high')!]);
    expect(asked()).not.toContain('create uid-high');
    expect(asked()).not.toContain('sync uid-high');
    ended.add('uid-low');
    handlers.podEndChanged('uid-low');
    await Promise.resolve();
    expect(asked().at(-1)).toBe('create uid-high');
    expect(desired.isHeld('uid-high')).toBe(false);
    expect(preempted).toHaveLength(1);
  });

  it('says for whom it waits, as long as it does, and of each of them once', async () => {
    const { handlers, ended, told, killed, rejected } = scene();
    handlers.handlePodAdditions([ofCluster('low', '500m'), ofCluster('lower', '400m')]);
    handlers.handlePodAdditions([ofCluster('high', '800m', { priority })]);
    expect(told).toEqual([
      'high Waiting for 2 pods to end: default/low still has cpu; default/lower still has cpu',
    ]);
    killed();
    ended.delete('uid-low');
    for (const uid of ['uid-another', 'uid-lower', 'uid-another']) {
      handlers.podEndChanged(uid);
      await Promise.resolve();
    }
    expect(told.slice(1)).toEqual(['high Waiting for default/low to end: it still has cpu (known)']);
    ended.add('uid-low');
    handlers.podEndChanged('uid-low');
    await Promise.resolve();
    expect(told).toHaveLength(2);
    expect(rejected).toEqual([]);
  });

  it('names nobody twice as news, whatever is short meanwhile', async () => {
    const { handlers, desired, told, ended, capacity } = scene();
    const both = { name: 'main', image: 'i', resources: { requests: { cpu: '500m', memory: '900' } } };
    const [big, small] = [ofCluster('big', '0', { containers: [both] }), ofCluster('small', '400m')];
    handlers.handlePodAdditions([big, small]);
    handlers.handlePodRemoves([big, small]);
    handlers.handlePodAdditions([ofCluster('new', '0', { containers: [both], priority })]);
    const judgeWith = async (cpuMilli: bigint): Promise<void> => {
      capacity.cpuMilli = cpuMilli;
      handlers.judgeRejected();
      await Promise.resolve();
    };
    await judgeWith(2_000n);
    await judgeWith(1_000n);
    expect(ended).toEqual(new Set());
    expect(told).toEqual([
      'new Waiting for 2 pods to end: default/big still has cpu, memory; default/small still has cpu',
      'new Waiting for default/big to end: it still has memory (known)',
      'new Waiting for 2 pods to end: default/big still has cpu, memory; default/small still has cpu (known)',
    ]);
    expect(desired.findWait('uid-new')?.uids).toEqual(['uid-big', 'uid-small']);
  });

  it('waits also for one that is taken away by force as it ends for it, and says so once', async () => {
    const { handlers, desired, told, asked, ended, rejected } = scene();
    const low = ofCluster('low', '900m');
    handlers.handlePodAdditions([low, ofCluster('high', '900m', { priority })]);
    handlers.handlePodRemoves([low]);
    await Promise.resolve();
    expect(desired.isHeld('uid-high')).toBe(true);
    ended.add('uid-low');
    handlers.podEndChanged('uid-low');
    await Promise.resolve();
    expect(asked()).toEqual(['create uid-low', 'kill uid-low', 'kill uid-low', 'create uid-high']);
    expect(told).toEqual(['high Waiting for default/low to end: it still has cpu']);
    expect([rejected, desired.held()]).toEqual([[], []]);
  });

  it('gives back what it has claimed as soon as it is gone, also before every source was seen', async () => {
    const { handlers, state, rejected, asked } = scene();
    const container = (cpu: string, ports: object[] = []) => ({
      containers: [{ name: 'main', image: 'i', ports: ports as [], resources: { requests: { cpu } } }],
    });
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const old = ofCluster('old', '0', container('100m', ports));
    const waits = ofCluster('waits', '0', { ...container('900m', ports), priority });
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    handlers.handlePodAdditions([waits, aNodePod({ name: 'late', spec: container('500m') })]);
    expect(rejected.map(([uid]) => uid)).toEqual(['uid-late']);
    state.allSeen = false;
    handlers.handlePodRemoves([waits]);
    await Promise.resolve();
    expect(asked().at(-1)).toBe('create uid-late');
  });

  it('says what it waits for of the containers that it has after an edit', () => {
    const seen: (readonly string[])[] = [];
    const { handlers } = setUp({
      admit: (pod, active) => admitPod(pod, active, ROOM),
      onWaiting: ({ spec }, _, isNews) =>
        seen.push([...spec.containers.map(({ name }) => name), isNews ? 'news' : 'known']),
    });
    const high = ofCluster('high', '900m', { priority });
    handlers.handlePodAdditions([ofCluster('low', '900m'), high]);
    const containers = [{ ...high.spec.containers[0]!, name: 'other' }];
    handlers.handlePodUpdates([{ ...high, spec: { ...high.spec, containers } }]);
    expect(seen).toEqual([
      ['main', 'news'],
      ['other', 'known'],
    ]);
  });

  it('waits no more, and is not begun anew, where its API server says that it has ended', async () => {
    const over = new Set<string>();
    const told: string[] = [];
    const { handlers, desired, asked } = setUp({
      admit: (pod, active) => admitPod(pod, active, ROOM),
      findEnd: (uid) => (over.has(uid) ? { isFinished: true } : undefined),
      onWaitGivenUp: ({ metadata }) => told.push(`${metadata.name} waits no more`),
    });
    handlers.handlePodAdditions([ofCluster('low', '900m'), ofCluster('high', '900m', { priority })]);
    over.add('uid-high');
    handlers.podEndChanged('uid-high');
    await Promise.resolve();
    expect(told).toEqual(['high waits no more']);
    expect(desired.held()).toEqual([]);
    // By what is kept of its end, which is of a pod like any other.
    expect(asked().at(-1)).toBe('create uid-high');
  });

  it('keeps the room that it waits for', () => {
    const { handlers, rejected } = scene();
    handlers.handlePodAdditions([ofCluster('low', '900m')]);
    handlers.handlePodAdditions([ofCluster('high', '900m', { priority })]);
    handlers.handlePodAdditions([ofCluster('late', '100m')]);
    expect(rejected.map(([uid]) => uid)).toEqual(['uid-late']);
  });

  it('goes before those of less worth that only wait for what others still hold', async () => {
    const { handlers, desired, preempted, killed, rejected, asked, ended, told } = scene();
    const old = ofCluster('old', '900m');
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    handlers.handlePodAdditions([ofCluster('waits', '900m')]);
    handlers.handlePodAdditions([ofCluster('high', '900m', { priority })]);
    expect(rejected).toEqual([]);
    expect(preempted).toEqual(['waits Preempting']);
    expect(told).toEqual([
      'waits Waiting for default/old to end: it still has cpu',
      'high Waiting for 2 pods to end: default/old still has cpu; default/waits still has cpu',
      'waits waits no more',
    ]);
    expect(desired.held().map(({ metadata }) => metadata.name)).toEqual(['high']);
    killed();
    ended.delete('uid-old');
    handlers.podEndChanged('uid-waits');
    await Promise.resolve();
    expect(desired.isHeld('uid-high')).toBe(true);
    ended.add('uid-old');
    handlers.podEndChanged('uid-old');
    await Promise.resolve();
    expect(asked().at(-1)).toBe('create uid-high');
    expect(rejected).toEqual([]);
  });

  it('is gone when it is deleted while it waits', () => {
    const { handlers, asked, desired } = scene();
    handlers.handlePodAdditions([ofCluster('low', '900m')]);
    const high = ofCluster('high', '900m', { priority });
    handlers.handlePodAdditions([high]);
    const deletionTimestamp = '2026-01-02T03:04:05Z';
    handlers.handlePodUpdates([{ ...high, metadata: { ...high.metadata, deletionTimestamp } }]);
    expect(desired.isHeld('uid-high')).toBe(false);
    expect(asked().at(-1)).toBe('create uid-high');
  });

  it('is rejected when ending others would not help, or nothing of less worth is there', () => {
    const { handlers, preempted, rejected } = scene();
    handlers.handlePodAdditions([ofCluster('low', '900m')]);
    handlers.handlePodAdditions([ofCluster('huge', '2', { priority })]);
    handlers.handlePodAdditions([ofCluster('usual', '500m', { priority: 1_000_000 })]);
    expect(preempted).toEqual([]);
    expect(rejected.map(([uid, { reason }]) => `${uid} ${reason}`)).toEqual([
      'uid-huge OutOfcpu',
      'uid-usual OutOfcpu',
    ]);
  });

  it('is a static pod, too, but manifests make no room for one another', () => {
    const { handlers, preempted, rejected } = scene();
    const asking = { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: '800m' } } }] };
    handlers.handlePodAdditions([ofCluster('low', '900m')]);
    handlers.handlePodAdditions([aNodePod({ name: 'static', spec: asking })]);
    expect(preempted).toEqual(['low Preempting']);
    handlers.handlePodAdditions([aNodePod({ name: 'second', spec: { ...asking, priority } })]);
    expect(rejected.map(([uid]) => uid)).toEqual(['uid-second']);
  });

  describe('and is a static pod that was rejected as there was no room to be made', () => {
    const asking = (cpu: string, more: object = {}): NodePod['spec'] => ({
      containers: [{ name: 'main', image: 'i', resources: { requests: { cpu } }, ...more }],
    });
    const late = aNodePod({ name: 'late', spec: asking('500m') });

    it('has others ended for it once that helps, as another manifest is gone', async () => {
      const { handlers, desired, ended, preempted, killed, rejected, told, asked } = scene();
      const first = aNodePod({ name: 'first', spec: asking('600m') });
      handlers.handlePodAdditions([first, ofCluster('low', '300m'), late]);
      expect(rejected.map(([uid]) => uid)).toEqual(['uid-late']);
      handlers.handlePodRemoves([first]);
      handlers.handlePodAdditions([ofCluster('usual', '100m')]);
      await Promise.resolve();
      // The first one has not ended.
      expect([preempted, told]).toEqual([[], []]);
      ended.add('uid-first');
      handlers.podEndChanged('uid-first');
      handlers.handlePodAdditions([ofCluster('eager', '500m')]);
      await Promise.resolve();
      expect(preempted).toEqual(['eager Preempting']);
      expect(told).toEqual([
        'late is not rejected',
        'late Waiting for default/eager to end: it still has cpu',
      ]);
      expect(desired.findRejection('uid-late')).toBeUndefined();
      killed();
      handlers.podEndChanged('uid-eager');
      await Promise.resolve();
      expect(asked().at(-1)).toBe('create uid-late');
      expect(rejected).toHaveLength(1);
    });

    it('has others ended for it once the node has got more', async () => {
      const { handlers, capacity, preempted, rejected } = scene();
      handlers.handlePodAdditions([
        aNodePod({ name: 'first', spec: asking('600m') }),
        ofCluster('low', '300m'),
      ]);
      handlers.handlePodAdditions([late]);
      expect(rejected.map(([uid]) => uid)).toEqual(['uid-late']);
      capacity.cpuMilli = 1_100n;
      handlers.judgeRejected();
      await Promise.resolve();
      expect(preempted).toEqual(['low Preempting']);
    });

    it('has nobody ended for a port, and then as many as will do', async () => {
      const { handlers, ended, preempted, rejected } = scene();
      const port = { ports: [{ containerPort: 80, hostPort: 80 }] };
      const first = aNodePod({ name: 'first', spec: asking('100m', port) });
      handlers.handlePodAdditions([first, ofCluster('low', '900m')]);
      handlers.handlePodAdditions([aNodePod({ name: 'late', spec: asking('500m', port) })]);
      expect([rejected.map(([uid]) => uid), preempted]).toEqual([['uid-late'], []]);
      handlers.handlePodRemoves([first]);
      ended.add('uid-first');
      handlers.podEndChanged('uid-first');
      await Promise.resolve();
      expect(preempted).toEqual(['low Preempting']);
    });
  });
});

describe('a pod of an API server that takes the place of one that was deleted by force', () => {
  const scene = (room = ROOM) => {
    const told: string[] = [];
    const made = setUp({
      admit: (pod, active) => admitPod(pod, active, room),
      findShortages: (pod, active) => findShortages(pod, active, room),
      onWaiting: ({ metadata }, { message }, isNews) =>
        told.push(`${metadata.uid} ${message}${isNews ? '' : ' (known)'}`),
      onWaitGivenUp: ({ metadata }) => told.push(`${metadata.uid} waits no more`),
    });
    return { ...made, told };
  };
  const ofCluster = (uid: string, container: object, more: object = {}): NodePod =>
    aNodePod({
      ...{ name: 'web', uid, source: 'api' },
      spec: { containers: [{ name: 'main', image: 'i', ...container }], ...more },
    });
  const port = { ports: [{ containerPort: 80, hostPort: 80 }] };
  const cpu = (amount: string): object => ({ resources: { requests: { cpu: amount } } });

  it.each([
    ['a port of the node', port, 'host port 80'],
    ['the node’s cpu', cpu('900m'), 'cpu'],
  ])('waits for %s until that one has ended, says so once, and runs then', async (_, container, what) => {
    const { handlers, desired, asked, ended, rejected, told } = scene();
    const old = ofCluster('old', container);
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    const fresh = ofCluster('new', container);
    handlers.handlePodAdditions([fresh]);
    handlers.handlePodSyncs([fresh]);
    handlers.handlePodUpdates([fresh]);
    handlers.podEndChanged('another');
    await Promise.resolve();
    expect(rejected).toEqual([]);
    expect(asked()).toEqual(['create old', 'kill old']);
    const message = `Waiting for the former default/web to end: it still has ${what}`;
    expect(desired.findWait('new')).toEqual({ message, uids: ['old'] });
    expect(told).toEqual([`new ${message}`]);
    ended.add('old');
    handlers.podEndChanged('old');
    await Promise.resolve();
    expect(asked().slice(2)).toEqual(['create new']);
    expect(desired.isHeld('new')).toBe(false);
    expect(desired.findWait('new')).toBeUndefined();
    expect(told).toHaveLength(1);
  });

  it('waits in its turn, whatever happens to others that wait', async () => {
    const { handlers, desired } = scene();
    const old = ofCluster('old', cpu('900m'));
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    handlers.handlePodAdditions([ofCluster('one', cpu('500m')), ofCluster('two', cpu('500m'))]);
    handlers.podEndChanged('another');
    await Promise.resolve();
    expect(desired.held().map(({ metadata }) => metadata.uid)).toEqual(['one', 'two']);
    handlers.admitAnew(desired.find('one')!);
    expect(desired.held().map(({ metadata }) => metadata.uid)).toEqual(['one', 'two']);
  });

  it('is rejected, and waits no more, where the node has less when that one has ended', async () => {
    const room = { ...ROOM };
    const { handlers, desired, ended, rejected, told } = scene(room);
    const old = ofCluster('old', cpu('900m'));
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    handlers.handlePodAdditions([ofCluster('new', cpu('900m'))]);
    room.cpuMilli = 500n;
    ended.add('old');
    handlers.podEndChanged('old');
    await Promise.resolve();
    expect(rejected.map(([uid, { reason }]) => `${uid} ${reason}`)).toEqual(['new OutOfcpu']);
    expect(told.slice(1)).toEqual(['new waits no more']);
    expect(desired.held()).toEqual([]);
  });

  it('keeps what it waits for, also from those that come later', () => {
    const { handlers, rejected } = scene();
    const old = ofCluster('old', cpu('900m'));
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    handlers.handlePodAdditions([ofCluster('new', cpu('900m')), ofCluster('late', cpu('200m'))]);
    expect(rejected.map(([uid, { reason }]) => `${uid} ${reason}`)).toEqual(['late OutOfcpu']);
  });

  it('is rejected where others stand in its way, too, in words that count only those', () => {
    const { handlers, rejected } = scene();
    const old = ofCluster('old', cpu('500m'));
    handlers.handlePodAdditions([old, ofCluster('stays', cpu('400m'))]);
    handlers.handlePodRemoves([old]);
    handlers.handlePodAdditions([ofCluster('new', cpu('700m'))]);
    const message =
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 700, used: 400, capacity: 1000";
    expect(rejected).toEqual([['new', { reason: 'OutOfcpu', message }]]);
  });

  it('has no others ended for what it gets anyway, although it is critical for the node', () => {
    const { handlers, asked } = scene();
    const old = ofCluster('old', cpu('500m'));
    handlers.handlePodAdditions([old, ofCluster('stays', cpu('400m'))]);
    handlers.handlePodRemoves([old]);
    handlers.handlePodAdditions([ofCluster('new', cpu('500m'), { priority: 2_000_000_000 })]);
    expect(asked()).toEqual(['create old', 'create stays', 'kill old']);
  });

  it('goes when it is deleted while it waits', () => {
    const { handlers, desired, asked } = scene();
    const old = ofCluster('old', port);
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    const fresh = ofCluster('new', port);
    handlers.handlePodAdditions([fresh]);
    handlers.handlePodRemoves([fresh]);
    expect(desired.held()).toEqual([]);
    expect(asked().slice(2)).toEqual(['kill new']);
  });
});

describe('the handlers of the sync loop', () => {
  it('keep what is desired, and ask the workers for it', () => {
    const { handlers, desired, asked } = setUp();
    handlers.handlePodAdditions([web, db]);
    expect([...desired.uids()]).toEqual(['uid-web', 'uid-db']);
    const changed = aNodePod({ labels: { version: '2' } });
    handlers.handlePodUpdates([changed]);
    expect(desired.find('uid-web')).toBe(changed);
    handlers.handlePodSyncs([changed]);
    handlers.handlePodRemoves([db]);
    expect(desired.has('uid-db')).toBe(false);
    expect(asked()).toEqual([
      'create uid-web',
      'create uid-db',
      'update uid-web',
      'sync uid-web',
      'kill uid-db',
    ]);
  });

  it('end a pod whose source wants it gone by an update', () => {
    const { handlers, requests } = setUp();
    handlers.handlePodAdditions([web]);
    const deleted = aNodePod({ deletionTimestamp: '2026-01-02T03:04:05Z' });
    handlers.handlePodUpdates([deleted]);
    expect(requests.at(-1)).toEqual({ type: 'update', pod: deleted });
  });

  it('end nothing before every source was seen', () => {
    const { handlers, desired, state, asked } = setUp();
    handlers.handlePodAdditions([web]);
    state.allSeen = false;
    handlers.handlePodRemoves([web]);
    expect(asked()).toEqual(['create uid-web']);
    expect(desired.has('uid-web')).toBe(false);
  });

  it('sync a pod whose status differs only when that needs it', () => {
    const { handlers, desired, asked } = setUp({ needsReconcile: ({ metadata }) => metadata.name === 'db' });
    handlers.handlePodReconcile([web, db]);
    expect(desired.size).toBe(2);
    expect(asked()).toEqual(['sync uid-db']);
  });

  it('leave it to housekeeping to start a pod of whose former life something is left', () => {
    const { handlers, desired, tornDown, asked } = setUp();
    tornDown.add('uid-web');
    handlers.handlePodAdditions([web]);
    handlers.handlePodUpdates([web]);
    handlers.handlePodSyncs([web, db]);
    expect(desired.has('uid-web')).toBe(true);
    expect(asked()).toEqual(['sync uid-db']);
  });

  it('leave cleaning up to housekeeping', () => {
    const { handlers, state } = setUp();
    handlers.handlePodCleanups();
    expect(state.housekeepings).toBe(1);
  });

  it('start a pod anew whose containers are edited after it has run to its end', () => {
    const { handlers, ended, requests } = setUp();
    handlers.handlePodAdditions([edited(web, '1')]);
    ended.add('uid-web');
    handlers.handlePodUpdates([edited(web, '1')]);
    expect(requests.at(-1)?.type).toBe('update');
    const [container] = web.spec.containers;
    const spec = { ...web.spec, containers: [{ ...container!, image: 'another:1' }] };
    handlers.handlePodUpdates([edited({ ...web, spec }, '2')]);
    expect(requests.at(-1)?.type).toBe('create');
  });

  it('run no pod a second time for an edit that restarts nothing', () => {
    const { handlers, ended, requests } = setUp();
    handlers.handlePodAdditions([edited(web, '1')]);
    ended.add('uid-web');
    const labels = { version: '2' };
    handlers.handlePodUpdates([edited({ ...web, metadata: { ...web.metadata, labels } }, '2')]);
    const spec = { ...web.spec, terminationGracePeriodSeconds: 7 };
    handlers.handlePodUpdates([edited({ ...web, spec }, '3')]);
    expect(requests.map(({ type }) => type)).toEqual(['create', 'update', 'update']);
  });
});

describe('admission', () => {
  const full = { admit: false, reason: 'OutOfpods', message: 'no room' } as const;

  it('keeps a rejected pod from being worked on, and says why', () => {
    const { handlers, desired, rejected, asked } = setUp({ admit: () => full });
    handlers.handlePodAdditions([web]);
    handlers.handlePodSyncs([web]);
    handlers.handlePodReconcile([web]);
    expect(desired.findRejection('uid-web')).toEqual({ reason: 'OutOfpods', message: 'no room' });
    expect(rejected).toEqual([['uid-web', { reason: 'OutOfpods', message: 'no room' }]]);
    handlers.handlePodRemoves([web]);
    expect(asked()).toEqual([]);
    expect(desired.findRejection('uid-web')).toBeUndefined();
  });

  it('is asked with the admitted pods that have not ended', () => {
    const seen: string[][] = [];
    const { handlers, ended } = setUp({
      admit: (pod, active) => {
        seen.push([...active.uids()]);
        return pod.metadata.name === 'bad' ? full : { admit: true };
      },
    });
    for (const name of ['a', 'bad', 'b']) handlers.handlePodAdditions([aNodePod({ name })]);
    ended.add('uid-a');
    handlers.podEndChanged('uid-a');
    handlers.handlePodAdditions([aNodePod({ name: 'c' })]);
    handlers.handlePodRemoves([aNodePod({ name: 'b' })]);
    handlers.handlePodAdditions([aNodePod({ name: 'd' })]);
    ended.add('uid-b');
    handlers.podEndChanged('uid-b');
    handlers.handlePodAdditions([aNodePod({ name: 'e' })]);
    // Nobody wants b any more, but it holds what it has until it has ended.
    const [before, after] = [
      ['uid-c', 'uid-b'],
      ['uid-c', 'uid-d'],
    ];
    expect(seen).toEqual([[], ['uid-a'], ['uid-a'], ['uid-b'], expect.arrayContaining(before), after]);
    expect(seen[4]).toHaveLength(2);
  });

  it('asks of each pod only when it has changed, however many there are', () => {
    const { handlers, desired } = setUp({ admit: () => ({ admit: true }) });
    const find = vi.spyOn(desired, 'find');
    const names = Array.from({ length: 500 }, (_, index) => `pod-${index}`);
    for (const name of names) handlers.handlePodAdditions([aNodePod({ name })]);
    expect(find).toHaveBeenCalledTimes(499);
  });

  it('is not asked about a pod that ended under an earlier agent, and counts it only until it is through', () => {
    const seen: string[][] = [];
    const ends = new Map([
      ['uid-done', { isFinished: true }],
      ['uid-ending', { isFinished: false }],
    ]);
    const { handlers, tornDown, asked } = setUp({
      findEnd: (uid) => ends.get(uid),
      admit: (_pod, active) => {
        seen.push([...active.uids()]);
        return full;
      },
    });
    for (const name of ['done', 'ending', 'new']) handlers.handlePodAdditions([aNodePod({ name })]);
    expect(asked()).toEqual(['create uid-done', 'create uid-ending']);
    expect(seen).toEqual([['uid-ending']]);
    // It was taken away, and comes again.
    tornDown.add('uid-done');
    handlers.handlePodAdditions([aNodePod({ name: 'done' })]);
    expect(seen).toEqual([['uid-ending'], ['uid-ending']]);
  });

  it.each([
    ['ForeignPod', []],
    ['NodePorts', ['create uid-web']],
  ])('lets nothing run in spite of %s, but what is ours and runs already', (reason, wanted) => {
    const { handlers, cache, desired, asked } = setUp({ findObstacle: () => ({ reason, message: 'no' }) });
    cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    handlers.handlePodAdditions([web, db]);
    expect(desired.findRejection('uid-db')).toEqual({ reason, message: 'no' });
    // What runs under a foreign uid is not ours.
    expect(asked()).toEqual(wanted);
  });

  it('is not asked about a pod that runs already', () => {
    const { handlers, cache, asked } = setUp({ admit: () => full });
    cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    handlers.handlePodAdditions([web]);
    expect(asked()).toEqual(['create uid-web']);
  });

  it('is not asked about a pod that is ending', () => {
    const { handlers, ended, asked } = setUp({ admit: () => full });
    ended.add('uid-web');
    handlers.handlePodAdditions([web]);
    expect(asked()).toEqual(['create uid-web']);
  });

  it('is asked again for rejected pods, in their order, when another pod has ended or asks for less', async () => {
    const lifted: string[] = [];
    const set = setUp({
      admit: (_pod, active) => ([...active.uids()].length < 2 ? { admit: true } : full),
      onRejectionLifted: ({ metadata }) => lifted.push(metadata.uid),
    });
    const { handlers, rejected, ended, asked } = set;
    for (const name of ['a', 'b', 'c', 'd']) handlers.handlePodAdditions([aNodePod({ name })]);
    expect(rejected.map(([uid]) => uid)).toEqual(['uid-c', 'uid-d']);
    handlers.handlePodRemoves([aNodePod({ name: 'a' })]);
    await Promise.resolve();
    // The one that is to go still holds what it has.
    handlers.handlePodUpdates([aNodePod({ name: 'b' })]);
    await Promise.resolve();
    expect(lifted).toEqual([]);
    ended.add('uid-a');
    handlers.podEndChanged('uid-a');
    await Promise.resolve();
    expect(lifted).toEqual(['uid-c']);
    ended.add('uid-b');
    handlers.handlePodUpdates([aNodePod({ name: 'c' })]);
    await Promise.resolve();
    expect(lifted).toEqual(['uid-c']);
    handlers.podEndChanged('uid-b');
    await Promise.resolve();
    expect(lifted).toEqual(['uid-c', 'uid-d']);
    // Nothing was said of those that stay rejected meanwhile.
    expect(rejected).toHaveLength(2);
    expect(asked()).toEqual([
      ...['create uid-a', 'create uid-b', 'kill uid-a', 'update uid-b'],
      ...['create uid-c', 'update uid-c', 'create uid-d'],
    ]);
  });

  it('leaves a pod the resources that it has until another one has ended', async () => {
    const isAlone = ({ uids }: { uids: string[] }): boolean => uids.length === 0;
    const heldFor: string[] = [];
    const { handlers, desired, ended, requests } = setUp({
      findResizeObstacle: (before, after, active) =>
        before.spec.containers[0]!.resources === after.spec.containers[0]!.resources ||
        isAlone({ uids: [...active.uids()] })
          ? undefined
          : { reason: 'OutOfcpu', message: 'too little' },
      onResizeHeld: (pod, { reason }) => heldFor.push(`${pod.metadata.uid} ${reason}`),
    });
    handlers.handlePodAdditions([web, db]);
    const [main] = web.spec.containers;
    const containers = [{ ...main!, image: 'other', resources: { requests: { cpu: '2' } } }];
    const wish = aNodePod({ spec: { containers } });
    handlers.handlePodUpdates([wish]);
    expect(heldFor).toEqual(['uid-web OutOfcpu']);
    expect(desired.find('uid-web')!.spec.containers).toEqual([{ ...main!, image: 'other' }]);
    // What is seen of it otherwise brings nothing on.
    handlers.handlePodReconcile([wish]);
    expect(desired.find('uid-web')!.spec.containers[0]!.resources).toBeUndefined();
    ended.add('uid-db');
    handlers.podEndChanged('uid-db');
    await Promise.resolve();
    expect(desired.find('uid-web')).toBe(wish);
    expect(requests.at(-1)).toEqual({ type: 'update', pod: wish });
    expect(heldFor).toHaveLength(1);
  });

  it('is asked again when a rejected pod is edited', () => {
    let isFull = true;
    const lifted: string[] = [];
    const { handlers, desired, asked } = setUp({
      admit: () => (isFull ? full : { admit: true }),
      onRejectionLifted: ({ metadata }) => lifted.push(metadata.uid),
    });
    handlers.handlePodAdditions([web]);
    handlers.handlePodUpdates([web]);
    expect(asked()).toEqual([]);
    isFull = false;
    expect(lifted).toEqual([]);
    handlers.handlePodUpdates([web]);
    handlers.handlePodUpdates([web]);
    expect(lifted).toEqual(['uid-web']);
    expect(asked()).toEqual(['create uid-web', 'update uid-web']);
    expect(desired.findRejection('uid-web')).toBeUndefined();
  });
});

describe('a pod of an API server', () => {
  const full = { admit: false, reason: 'OutOfpods', message: 'too many' } as const;

  it('that was rejected stays so, whatever is given back or edited', async () => {
    let isFull = true;
    const { handlers, desired, asked } = setUp({ admit: () => (isFull ? full : { admit: true }) });
    const pod = aNodePod({ source: 'api' });
    handlers.handlePodAdditions([pod]);
    isFull = false;
    handlers.podEndChanged('uid-other');
    await Promise.resolve();
    handlers.handlePodUpdates([{ ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } }]);
    expect(asked()).toEqual([]);
    expect(desired.findRejection('uid-web')?.reason).toBe('OutOfpods');
    // To be taken off the server it has to go through its end.
    handlers.handlePodUpdates([
      { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } },
    ]);
    expect(asked()).toEqual(['create uid-web']);
  });

  it('runs but once, whatever is edited after its end', () => {
    const { handlers, ended, asked } = setUp();
    const pod = aNodePod({ source: 'api' });
    handlers.handlePodAdditions([pod]);
    ended.add('uid-web');
    const containers = [{ ...pod.spec.containers[0]!, image: 'another' }];
    handlers.handlePodUpdates([{ ...pod, spec: { ...pod.spec, containers } }]);
    expect(asked()).toEqual(['create uid-web', 'update uid-web']);
  });
});

describe('what the node forbids', () => {
  const rejection = { reason: POD_FORBIDDEN, message: 'not here' };
  const isPrivileged = ({ spec }: NodePod): boolean =>
    spec.containers.some(({ securityContext }) => securityContext?.privileged === true);
  const findForbidden = (pod: NodePod): Rejection | undefined => (isPrivileged(pod) ? rejection : undefined);
  const privileged = aNodePod({
    spec: { containers: [{ ...web.spec.containers[0]!, securityContext: { privileged: true } }] },
  });
  const kill = { statusOverride: { phase: 'Failed', ...rejection } };

  it('does not begin, and says so', () => {
    const { handlers, desired, rejected, asked } = setUp({ findForbidden });
    handlers.handlePodAdditions([privileged, db]);
    handlers.handlePodSyncs([privileged]);
    expect(asked()).toEqual(['create uid-db']);
    expect(rejected).toEqual([['uid-web', rejection]]);
    expect(desired.findRejection('uid-web')).toEqual(rejection);
  });

  it('is ended where it runs, as after a start of the agent with other options, and syncs bring it to its end', () => {
    const onRejected = vi.fn();
    const { handlers, cache, requests } = setUp({ findForbidden, onRejected });
    cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    handlers.handlePodAdditions([privileged]);
    expect(requests).toEqual([{ type: 'kill', pod: privileged, kill }]);
    expect(onRejected).toHaveBeenCalledExactlyOnceWith(privileged, rejection, true);
    handlers.handlePodSyncs([privileged]);
    expect(requests.at(-1)).toEqual({ type: 'sync', pod: privileged });
  });

  it('is ended when an edit asks for it, and holds what it has until then', async () => {
    const seen: string[][] = [];
    const set = setUp({
      findForbidden,
      admit: (_, active) => {
        seen.push([...active.uids()]);
        return { admit: true };
      },
    });
    const { handlers, requests, ended } = set;
    handlers.handlePodAdditions([web]);
    handlers.handlePodUpdates([privileged]);
    expect(requests.at(-1)).toEqual({ type: 'kill', pod: privileged, kill });
    handlers.handlePodAdditions([db]);
    ended.add('uid-web');
    handlers.podEndChanged('uid-web');
    handlers.handlePodAdditions([aNodePod({ name: 'c' })]);
    expect(seen.slice(1)).toEqual([['uid-web'], ['uid-db']]);
  });

  it('runs anew once an edit does not ask for it any more', () => {
    const { handlers, desired, ended, asked } = setUp({ findForbidden });
    handlers.handlePodAdditions([web]);
    handlers.handlePodUpdates([privileged]);
    ended.add('uid-web');
    handlers.handlePodUpdates([web]);
    expect(asked()).toEqual(['create uid-web', 'kill uid-web', 'create uid-web']);
    expect(desired.findRejection('uid-web')).toBeUndefined();
  });

  it('does not come back in the place of a pod that is ending', () => {
    const { handlers, ended, asked } = setUp({ findForbidden });
    handlers.handlePodAdditions([web]);
    handlers.handlePodRemoves([web]);
    ended.add('uid-web');
    handlers.handlePodAdditions([privileged]);
    expect(asked()).toEqual(['create uid-web', 'kill uid-web']);
  });

  it('leaves a pod that has ended as it ended, unless an edit would have it run again', () => {
    const end = { isFinished: true, definition: toRunDefinition(privileged) };
    const { handlers, rejected } = setUp({ findForbidden, findEnd: () => end });
    handlers.handlePodAdditions([privileged]);
    expect(rejected).toEqual([]);
    const spec = { containers: [{ ...privileged.spec.containers[0]!, command: ['other'] }] };
    handlers.handlePodUpdates([aNodePod({ spec })]);
    expect(rejected).toEqual([['uid-web', rejection]]);
  });

  it('ends when it is deleted, as any other pod', () => {
    const { handlers, asked } = setUp({ findForbidden });
    handlers.handlePodAdditions([web]);
    const deleted = {
      ...privileged,
      metadata: { ...privileged.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    handlers.handlePodUpdates([deleted]);
    expect(asked()).toEqual(['create uid-web', 'update uid-web']);
  });
});
