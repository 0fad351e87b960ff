import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { ROOM, setUpHandlers } from '#support/harness/pod-handlers-harness.js';
import { admitPod, findShortages } from '../admission/admit-pod.js';

describe('a pod of an API server that takes the place of one that was deleted by force', () => {
  const scene = (room = ROOM) => {
    const told: string[] = [];
    const made = setUpHandlers({
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

  it('waits no longer than it may be active, and is ended by those who would begin it', () => {
    let isPast = false;
    const { handlers, desired, asked, tornDown } = setUpHandlers({
      admit: (pod, active) => admitPod(pod, active, ROOM),
      isPastDeadline: () => isPast,
    });
    const old = ofCluster('old', cpu('900m'));
    handlers.handlePodAdditions([old]);
    handlers.handlePodRemoves([old]);
    const fresh = ofCluster('new', cpu('900m'), { activeDeadlineSeconds: 10 });
    handlers.handlePodAdditions([fresh]);
    handlers.handlePodSyncs([fresh]);
    isPast = true;
    tornDown.add('new');
    handlers.handlePodSyncs([fresh]);
    expect(desired.isHeld('new')).toBe(true);
    tornDown.clear();
    expect(asked()).toEqual(['create old', 'kill old']);
    handlers.handlePodSyncs([fresh]);
    expect(asked().slice(2)).toEqual(['sync new']);
    expect(desired.isHeld('new')).toBe(false);
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
    handlers.readmit(desired.find('one')!);
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
