import { describe, expect, it } from 'vitest';
import { aPod, aPodStatus } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { ROOM, setUpHandlers } from '#support/harness/pod-handlers-harness.js';
import { type Stamp } from '#base/time/clock.js';
import { admitPod, findShortages } from '../admission/admit-pod.js';

const GATES = { schedulingGates: [{ name: 'example.org/ready' }] };
const resources = { requests: { cpu: '900m' } };
const spec = { containers: [{ name: 'main', image: 'i', resources }] };
const gated = aNodePod({ spec: { ...spec, ...GATES } });
const free = aNodePod({ spec });
const other = aNodePod({ name: 'other', spec });

function scene() {
  const shown: string[] = [];
  const made = setUpHandlers({
    admit: (pod, active) => admitPod(pod, active, ROOM),
    findShortages: (pod, active) => findShortages(pod, active, ROOM),
    onWaiting: ({ metadata }, { message, isGated }) =>
      shown.push(`${metadata.name} ${isGated === true ? 'gated: ' : ''}${message}`),
  });
  return { ...made, shown };
}

describe('a pod with scheduling gates', () => {
  it('waits until an edit takes them off, and is reported once', async () => {
    const { handlers, asked, shown, desired } = scene();
    handlers.handlePodAdditions([gated]);
    handlers.handlePodSyncs([gated]);
    handlers.judgeRejected();
    await Promise.resolve();
    expect(asked()).toEqual([]);
    expect(shown).toEqual(['web gated: Scheduling is blocked due to non-empty scheduling gates']);
    handlers.handlePodUpdates([free]);
    await Promise.resolve();
    expect(asked()).toEqual(['create uid-web']);
    expect(desired.isHeld('uid-web')).toBe(false);
  });

  it('claims nothing while it waits, and is judged when it comes', async () => {
    const { handlers, asked, rejected } = scene();
    handlers.handlePodAdditions([gated, other]);
    expect(asked()).toEqual(['create uid-other']);
    handlers.handlePodUpdates([free]);
    await Promise.resolve();
    expect(rejected).toEqual([['uid-web', expect.objectContaining({ reason: 'OutOfcpu' }) as unknown]]);
    expect(asked()).toEqual(['create uid-other']);
  });

  it('goes on where it has begun already, also with an agent that finds it so', () => {
    const { handlers, asked, cache, shown } = scene();
    const observed = aPodStatus(aPod({ uid: 'uid-web' }));
    cache.set('uid-web', observed, undefined, 1 as Stamp);
    handlers.handlePodAdditions([gated]);
    handlers.handlePodUpdates([{ ...gated }]);
    expect(asked()).toEqual(['create uid-web', 'update uid-web']);
    expect(shown).toEqual([]);
  });

  it('does not begin by what an edit adds while it runs', () => {
    const { handlers, asked, shown } = scene();
    handlers.handlePodAdditions([free]);
    handlers.handlePodUpdates([gated]);
    expect(asked()).toEqual(['create uid-web', 'update uid-web']);
    expect(shown).toEqual([]);
  });

  it('waits where it is wanted again after its former life, whatever is left of that', () => {
    const { handlers, cache, asked, tornDown } = scene();
    cache.set('uid-web', aPodStatus(aPod({ uid: 'uid-web' })), undefined, 1 as Stamp);
    tornDown.add('uid-web');
    handlers.handlePodAdditions([gated]);
    expect(asked()).toEqual([]);
  });

  it('ends when it is deleted', () => {
    const { handlers, asked } = scene();
    handlers.handlePodAdditions([gated]);
    const metadata = { ...gated.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' };
    handlers.handlePodUpdates([{ ...gated, metadata }]);
    expect(asked()).toEqual(['create uid-web']);
  });
});
