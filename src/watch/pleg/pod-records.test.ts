import { describe, expect, it } from 'vitest';
import { podOf } from '#support/harness/pleg-harness.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type ObservedPod } from '../observed/runtime.js';
import { FLEETING_LIMIT, PodRecord, PodRecords } from './pod-records.js';

const clock = new FakeClock();
const see = (record: PodRecord, ...looks: ObservedPod[]): void => {
  for (const look of looks) record.see(look, clock.stamp());
};
const fleetingOf = (record: PodRecord, snapshot?: ObservedPod): string[] =>
  record.fleeting(snapshot).containers.map(({ id }) => id);

describe('containers that come and go before anything is published', () => {
  it('are remembered if they ran or ended, sandboxes too', () => {
    const record = new PodRecord(podOf('a', { stays: 'running' }));
    record.accept(record.seen);
    see(
      record,
      podOf('a', { stays: 'running', ran: 'running', made: 'created', odd: 'unknown' }, { box: 'running' }),
      podOf('a', { stays: 'running', ended: 'exited' }),
      podOf('a', { stays: 'running' }),
    );
    expect(fleetingOf(record)).toEqual(['ran', 'box', 'ended']);
    expect(record.hasFleeting).toBe(true);
    expect(record.isAtRest).toBe(false);
  });

  it('do not include those that were published before, nor those that are back', () => {
    const record = new PodRecord(podOf('a', { told: 'running' }));
    record.accept(record.seen);
    see(record, podOf('a', { told: 'running', x: 'running' }), podOf('a', {}), podOf('a', { x: 'running' }));
    expect(fleetingOf(record)).toEqual([]);
  });

  it('do not include those in the snapshot of an inspection, which the next diff covers', () => {
    const record = new PodRecord(podOf('a', {}));
    record.accept(record.seen);
    const snapshot = podOf('a', { x: 'running' });
    see(record, snapshot, podOf('a', { y: 'running' }), podOf('a', {}));
    expect(fleetingOf(record, snapshot)).toEqual(['y']);
    record.accept(snapshot);
    expect([record.hasFleeting, fleetingOf(record)]).toEqual([false, []]);
    see(record, podOf('a', {}));
    expect(fleetingOf(record)).toEqual([]);
  });

  it('are not stored for a pod at rest, as the diff covers them', () => {
    const record = new PodRecord(podOf('a', { x: 'running' }));
    record.accept(record.seen);
    see(record, podOf('a', {}));
    expect(record.hasFleeting).toBe(false);
  });

  it('are stored up to a limit and counted beyond it', () => {
    const record = new PodRecord(podOf('a', {}));
    for (let i = 0; i < FLEETING_LIMIT + 5; i++) see(record, podOf('a', { [`c${i}`]: 'running' }));
    see(record, podOf('a', {}));
    const { containers, more } = record.fleeting();
    expect([containers.length, more]).toEqual([FLEETING_LIMIT, 5]);
    record.accept(record.seen);
    expect([record.hasFleeting, record.fleeting().more]).toEqual([false, 0]);
  });
});

describe('the records', () => {
  it('are one per uid, made when it is first seen, and find those that a list did not show', () => {
    const records = new PodRecords();
    const [a, b] = [podOf('a', {}), podOf('b', {})];
    const generation = records.nextGeneration();
    records.ensure(a).generation = generation;
    expect(records.ensure(podOf('a', {}))).toBe(records.find('a'));
    records.ensure(b);
    expect(records.missingFrom(generation).map(({ pod }) => pod.uid)).toEqual(['b']);
    records.delete('b');
    expect([records.size, records.find('b'), [...records].length]).toEqual([1, undefined, 1]);
  });

  it('learn the name of a pod that appears later', () => {
    const record = new PodRecord({ ...podOf('a', {}), name: '', namespace: '' });
    see(record, { ...podOf('a', {}), name: 'web', namespace: 'shop' });
    expect(record.pod).toEqual({ uid: 'a', name: 'web', namespace: 'shop' });
  });
});
