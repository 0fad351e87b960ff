import { describe, expect, it } from 'vitest';
import { type PodLifecycleEvent } from '../../../watch/pleg/pod-lifecycle-event.js';
import { EarlyEvents } from './early-events.js';
import { type PodEvents } from './sync-loop-events.js';

const happened = (uid: string, ...ids: string[]): PodEvents => ({
  uid,
  events: ids.map((containerId) => ({ type: 'ContainerDied', containerId }) as PodLifecycleEvent),
  diedContainerIds: ids,
});

describe('early events', () => {
  it('are given back once, in the order in which they came', () => {
    const early = new EarlyEvents({ podCapacity: 10 });
    for (const each of [happened('a', '1'), happened('b', '2'), happened('a', '3')]) early.keep(each);
    expect(early.take('a')).toEqual(happened('a', '1', '3'));
    expect(early.take('a')).toBeUndefined();
    expect(early.takeAny()).toEqual(happened('b', '2'));
    expect(early.takeAny()).toBeUndefined();
  });

  it('are bounded in pods, and per pod, where the newest stay', () => {
    const early = new EarlyEvents({ podCapacity: 1 });
    for (let at = 0; at < 100; at++) expect(early.keep(happened('a', String(at)))).toBe(true);
    expect(early.keep(happened('b', '1'))).toBe(false);
    const kept = early.take('a')!;
    expect(kept.events).toHaveLength(64);
    expect(kept.diedContainerIds.at(-1)).toBe('99');
  });

  it('are counted where there is no room for them', () => {
    const early = new EarlyEvents({ podCapacity: 1 });
    for (let at = 0; at < 64; at++) early.keep(happened('a', String(at)));
    expect([early.size, early.folded]).toEqual([1, 0]);
    early.keep(happened('a', '64', '65'));
    expect(early.folded).toBe(2);
    early.keep(happened('b', '1', '2', '3'));
    expect(early.folded).toBe(5);
    early.take('a');
    expect([early.size, early.folded]).toEqual([0, 5]);
  });
});
