import { describe, expect, it, vi } from 'vitest';
import { aPod, aPodStatus } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { setUpHandlers } from '#support/harness/pod-handlers-harness.js';
import { type Stamp } from '#base/time/clock.js';

const web = aNodePod();
const db = aNodePod({ name: 'db' });

describe('admission', () => {
  const full = { admit: false, reason: 'OutOfpods', message: 'no room' } as const;

  it('keeps a rejected pod from being worked on, and says why', () => {
    const { handlers, desired, rejected, asked } = setUpHandlers({ admit: () => full });
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
    const { handlers, ended } = setUpHandlers({
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
    const { handlers, desired } = setUpHandlers({ admit: () => ({ admit: true }) });
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
    const { handlers, tornDown, asked } = setUpHandlers({
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
    const { handlers, cache, desired, asked } = setUpHandlers({
      findObstacle: () => ({ reason, message: 'no' }),
    });
    cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    handlers.handlePodAdditions([web, db]);
    expect(desired.findRejection('uid-db')).toEqual({ reason, message: 'no' });
    // What runs under a foreign uid is not ours.
    expect(asked()).toEqual(wanted);
  });

  it('is not asked about a pod that runs already', () => {
    const { handlers, cache, asked } = setUpHandlers({ admit: () => full });
    cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    handlers.handlePodAdditions([web]);
    expect(asked()).toEqual(['create uid-web']);
  });

  it('is not asked about a pod that is ending', () => {
    const { handlers, ended, asked } = setUpHandlers({ admit: () => full });
    ended.add('uid-web');
    handlers.handlePodAdditions([web]);
    expect(asked()).toEqual(['create uid-web']);
  });

  it('is asked again for rejected pods, in their order, when another pod has ended or asks for less', async () => {
    const lifted: string[] = [];
    const set = setUpHandlers({
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
    const { handlers, desired, ended, requests } = setUpHandlers({
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
    const { handlers, desired, asked } = setUpHandlers({
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
