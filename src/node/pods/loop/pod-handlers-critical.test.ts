import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { ROOM, setUpHandlers } from '#support/harness/pod-handlers-harness.js';
import { admitPod, findShortages } from '../admission/admit-pod.js';

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
    const made = setUpHandlers({
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
    const { handlers } = setUpHandlers({
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

  it('waits no more, and does not restart, where its API server says that it has ended', async () => {
    const over = new Set<string>();
    const told: string[] = [];
    const { handlers, desired, asked } = setUpHandlers({
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
