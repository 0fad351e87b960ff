import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { aPodStatus, aPod } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { watchPromise } from '#support/watch-promise.js';
import { emptyPodStatus, type PodStatus } from '../observed/runtime.js';
import { OLDEST_STAMP } from '#base/time/clock.js';
import { PodCache } from './pod-cache.js';

const statusOf = (uid: string): PodStatus => aPodStatus(aPod({ uid }));

describe('get', () => {
  it('returns an empty status with the uid, and no error, for an unknown pod', () => {
    const cached = new PodCache().get('nobody');
    expect(cached.status).toMatchObject({ uid: 'nobody', name: '', containers: [], sandboxes: [], ips: [] });
    expect(cached.error).toBeUndefined();
    expect(cached.stamp).toBe(OLDEST_STAMP);
  });

  it('returns what was written, as new as the newer of its own and the global stamp', () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    const [first, second, third] = [clock.stamp(), clock.stamp(), clock.stamp()];
    const status = statusOf('a');
    cache.set('a', status, undefined, second);
    cache.advance(first);
    expect(cache.get('a')).toEqual({ status, error: undefined, stamp: second });
    cache.advance(third);
    expect(cache.get('a').stamp).toBe(third);
    expect(cache.get('a').status).toBe(status);
    cache.advance(second);
    expect(cache.get('b').stamp).toBe(third);
  });

  it('returns the error of the last inspection', () => {
    const cache = new PodCache();
    const error = new Error('shim is gone');
    cache.set('a', statusOf('a'), error, new FakeClock().stamp());
    expect(cache.get('a').error).toBe(error);
  });
});

describe('the last known status', () => {
  it('is that of the last successful inspection, through failures, until the next one or the end of the pod', () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    expect(cache.getLastKnown('a')).toEqual(cache.get('a').status);
    const [good, better, none] = [statusOf('a'), statusOf('a'), emptyPodStatus('a')];
    cache.set('a', good, undefined, clock.stamp());
    expect(cache.getLastKnown('a')).toBe(good);
    for (const message of ['no answer', 'none again']) {
      cache.set('a', none, new Error(message), clock.stamp());
      expect(cache.get('a')).toMatchObject({ status: none, error: { message } });
      expect(cache.getLastKnown('a')).toBe(good);
    }
    cache.set('a', better, undefined, clock.stamp());
    expect(cache.getLastKnown('a')).toBe(better);
    cache.set('a', none, new Error('no answer'), clock.stamp());
    cache.delete('a', clock.stamp());
    expect(cache.getLastKnown('a').containers).toEqual([]);
  });

  it('is empty for a pod whose inspections have all failed', () => {
    const cache = new PodCache();
    cache.set('a', emptyPodStatus('a'), new Error('no answer'), new FakeClock().stamp());
    expect(cache.getLastKnown('a').containers).toEqual([]);
  });
});

describe('getNewerThan', () => {
  it('is strict: an equal stamp does not satisfy, a newer one does', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    const stamp = clock.stamp();
    cache.set('a', statusOf('a'), undefined, stamp);
    const wait = watchPromise(cache.getNewerThan('a', stamp));
    cache.advance(stamp);
    await clock.settle();
    expect(wait.value).toBeUndefined();
    cache.advance(clock.stamp());
    await clock.settle();
    expect(wait.value?.status.uid).toBe('a');
    expect((await cache.getNewerThan('a', stamp)).stamp).toBeGreaterThan(stamp);
  });

  it('of a pod that is behind is not satisfied by the global stamp, but by its own inspection', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    cache.set('a', statusOf('a'), undefined, clock.stamp());
    cache.advance(clock.stamp());
    cache.markBehind('a');
    const asked = clock.stamp();
    const wait = watchPromise(cache.getNewerThan('a', asked));
    const looked = clock.stamp();
    cache.advance(looked);
    cache.observe('a', looked);
    await clock.settle();
    expect(wait.value).toBeUndefined();
    expect(cache.get('a').stamp).toBeLessThan(asked);
    cache.set('a', statusOf('a'), undefined, looked);
    await clock.settle();
    expect(wait.value?.stamp).toBe(looked);
  });

  it('preserves the age that a pod had when it fell behind, and returns to the global stamp when nothing is due', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    cache.set('a', statusOf('a'), undefined, clock.stamp());
    const before = clock.stamp();
    cache.advance(before);
    cache.markBehind('a');
    expect(cache.get('a').stamp).toBe(before);
    const wait = watchPromise(cache.getNewerThan('a', before));
    cache.advance(clock.stamp());
    expect(cache.get('a').stamp).toBe(before);
    cache.markCurrent('a');
    await clock.settle();
    expect(wait.value?.stamp).toBeGreaterThan(before);
  });

  it('of a new pod that is behind is not answered by an empty status', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    cache.markBehind('new');
    const wait = watchPromise(cache.getNewerThan('new', clock.stamp()));
    cache.advance(clock.stamp());
    cache.observe('new', clock.stamp());
    await clock.settle();
    expect(wait.value).toBeUndefined();
    cache.set('new', statusOf('new'), undefined, clock.stamp());
    await clock.settle();
    expect(wait.value?.status.containers).toHaveLength(1);
  });

  it('is woken by the deletion of the pod, with an empty status', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    cache.set('a', statusOf('a'), undefined, clock.stamp());
    cache.markBehind('a');
    const asked = clock.stamp();
    const waits = [
      watchPromise(cache.getNewerThan('a', asked)),
      watchPromise(cache.getNewerThan('a', asked)),
    ];
    cache.delete('a', clock.stamp());
    await clock.settle();
    for (const { value } of waits) expect(value?.status.containers).toEqual([]);
    expect([cache.size, cache.waiting]).toEqual([0, 0]);
  });

  it('is answered when a list of the pod finds it unchanged, or missing', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    cache.set('a', statusOf('a'), undefined, clock.stamp());
    const asked = clock.stamp();
    const waits = [
      watchPromise(cache.getNewerThan('a', asked)),
      watchPromise(cache.getNewerThan('nobody', asked)),
    ];
    const looked = clock.stamp();
    cache.observe('a', looked);
    cache.observe('nobody', looked);
    await clock.settle();
    expect(waits.map(({ value }) => value?.stamp)).toEqual([looked, looked]);
    // The list of one pod says nothing about the others, and nothing is stored for an unknown pod.
    expect(cache.get('nobody').stamp).toBe(OLDEST_STAMP);
    expect(cache.size).toBe(1);
  });

  it('requests a list of the pod only when it has to wait', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    const asked: string[] = [];
    const stopAsking = cache.onWait((uid) => asked.push(uid));
    cache.advance(clock.stamp());
    await cache.getNewerThan('a', OLDEST_STAMP);
    expect(asked).toEqual([]);
    void cache.getNewerThan('a', clock.stamp());
    expect(asked).toEqual(['a']);
    stopAsking();
    void cache.getNewerThan('b', clock.stamp());
    expect(asked).toEqual(['a']);
    cache.advance(clock.stamp());
    expect(cache.waiting).toBe(0);
  });

  it('ends with the reason of the signal, and leaves neither waiter nor listener', async () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    const stopping = new AbortController();
    const reason = new Error('enough');
    const asked = clock.stamp();
    const aborted = watchPromise(cache.getNewerThan('a', asked, stopping.signal));
    const patient = watchPromise(cache.getNewerThan('a', asked));
    const answered = cache.getNewerThan('b', asked, stopping.signal);
    cache.delete('b', clock.stamp());
    await answered;
    expect(getEventListeners(stopping.signal, 'abort')).toHaveLength(1);
    stopping.abort(reason);
    await clock.settle();
    expect(aborted.error).toBe(reason);
    expect(patient.value ?? patient.error).toBeUndefined();
    expect(cache.waiting).toBe(1);
    await expect(cache.getNewerThan('a', asked, stopping.signal)).rejects.toBe(reason);
    cache.advance(clock.stamp());
    await clock.settle();
    expect([cache.waiting, patient.value === undefined]).toEqual([0, false]);
    expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
  });

  it('stores nothing of a pod that is gone, not even that it was behind', () => {
    const clock = new FakeClock();
    const cache = new PodCache();
    for (let i = 0; i < 100; i++) {
      cache.markBehind(`pod-${i}`);
      cache.set(`pod-${i}`, statusOf(`pod-${i}`), undefined, clock.stamp());
      cache.delete(`pod-${i}`, clock.stamp());
    }
    const now = clock.stamp();
    cache.advance(now);
    expect(cache.size).toBe(0);
    expect(cache.get('pod-5').stamp).toBe(now);
  });
});
