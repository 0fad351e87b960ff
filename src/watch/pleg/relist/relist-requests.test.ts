import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { RelistRequests } from './relist-requests.js';

function setUp(capacity = 3) {
  const clock = new FakeClock();
  let arrivals = 0;
  const requests = new RelistRequests({ clock, capacity, onArrival: () => arrivals++ });
  return { clock, requests, arrivals: () => arrivals };
}

describe('requests for one pod', () => {
  it('are one per pod, in the order of the first; the first requester sets the trigger', () => {
    const { requests, arrivals } = setUp();
    requests.add('a', 'event');
    requests.add('b', 'request');
    requests.add('a', 'request');
    expect([requests.size, requests.coalesced, arrivals()]).toEqual([2, 1, 3]);
    expect(requests.takeNext()).toMatchObject({ uid: 'a', trigger: 'event' });
    expect(requests.takeNext()).toMatchObject({ uid: 'b', trigger: 'request' });
    expect(requests.takeNext()).toBeUndefined();
  });

  it('are answered only by a list that began after the last of them', () => {
    const { clock, requests } = setUp();
    requests.add('a', 'event');
    const between = clock.stamp();
    requests.add('a', 'event');
    expect(requests.takeAnswered('a', between)).toBeUndefined();
    expect(requests.takeAnswered('b', clock.stamp())).toBeUndefined();
    expect(requests.takeAnswered('a', clock.stamp())).toMatchObject({ uid: 'a' });
    expect(requests.size).toBe(0);
  });

  it('fold into one for all pods past the capacity', () => {
    const { requests } = setUp(2);
    for (const uid of ['a', 'b', 'c', 'd', 'a']) requests.add(uid, 'event');
    expect([requests.size, requests.folded, requests.coalesced, requests.wantsAll]).toEqual([2, 2, 1, true]);
  });
});

describe('a relist of all pods', () => {
  it('answers what was requested before it began, and nothing later', () => {
    const { clock, requests } = setUp();
    requests.add('a', 'event');
    requests.add('b', 'request');
    requests.addAll('event');
    const look = clock.stamp();
    requests.add('b', 'request');
    requests.add('c', 'event');
    expect(requests.takeAllAnswered(look)).toEqual({ byUid: new Map([['a', 'event']]), all: 'event' });
    expect([requests.size, requests.wantsAll]).toEqual([2, false]);
    requests.addAll('relist');
    requests.addAll('event');
    expect(requests.takeAllAnswered(look)).toEqual({ byUid: new Map(), all: undefined });
    expect(requests.takeAllAnswered(clock.stamp()).all).toBe('relist');
  });
});
