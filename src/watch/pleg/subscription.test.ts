import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { lineOf, takeAll } from '#support/harness/pleg-harness.js';
import { type PodLifecycleEvent } from './pod-lifecycle-event.js';
import { Subscription } from './subscription.js';

function setUp(capacity = 3) {
  const clock = new FakeClock();
  let closed = 0;
  const subscription = new Subscription({ clock, capacity, onClose: () => closed++ });
  let made = 0;
  const event = (uid: string, fields: Partial<PodLifecycleEvent> = {}): PodLifecycleEvent =>
    ({
      type: 'ContainerStarted',
      kind: 'container',
      pod: { uid, namespace: 'default', name: uid },
      containerId: `c${made++}`,
      containerName: 'main',
      exitCode: undefined,
      reason: undefined,
      occurredAtNs: undefined,
      trigger: 'relist',
      stamp: clock.stamp(),
      observedAtMs: clock.now(),
      ...fields,
    }) as PodLifecycleEvent;
  const push = (uid: string, fields: Partial<PodLifecycleEvent> = {}): PodLifecycleEvent => {
    const pushed = event(uid, fields);
    subscription.push(pushed);
    return pushed;
  };
  return { clock, subscription, push, closed: () => closed };
}

describe('a queue with room', () => {
  it('returns what was put in, in order, the very same objects', () => {
    const { subscription, push } = setUp();
    const pushed = [push('a'), push('b'), push('a')];
    expect(subscription.stats.queued).toBe(3);
    expect(takeAll(subscription)).toEqual(pushed);
    expect(subscription.take()).toBeUndefined();
    expect(subscription.stats).toEqual({ queued: 0, delivered: 3, folded: 0, resyncs: 0 });
  });

  it('gets room again by being read', () => {
    const { subscription, push } = setUp();
    for (let i = 0; i < 100; i++) {
      const pushed = push(`p${i}`);
      expect(subscription.take()).toBe(pushed);
    }
    expect(subscription.stats.folded).toBe(0);
  });
});

describe('a full queue', () => {
  it('folds new events into one PodSync per pod, after what was there before', () => {
    const { subscription, push } = setUp();
    for (const uid of ['a', 'a', 'a', 'b', 'c', 'b']) push(uid);
    const last = push('b', { trigger: 'event' });
    const taken = takeAll(subscription);
    expect(taken.map(lineOf)).toEqual([
      'ContainerStarted a c0',
      'ContainerStarted a c1',
      'ContainerStarted a c2',
      'PodSync b',
      'PodSync c',
    ]);
    expect(taken[3]).toMatchObject({ folded: 3, stamp: last.stamp, trigger: 'event' });
    expect(taken[4]).toMatchObject({ folded: 1 });
    expect(subscription.stats).toEqual({ queued: 0, delivered: 5, folded: 4, resyncs: 0 });
  });

  it('goes on folding as long as a fold waits, so that nothing overtakes it', () => {
    const { subscription, push } = setUp();
    for (const uid of ['a', 'a', 'a', 'b']) push(uid);
    subscription.take();
    subscription.take();
    push('a');
    expect(takeAll(subscription).map(lineOf)).toEqual(['ContainerStarted a c2', 'PodSync b', 'PodSync a']);
    push('a');
    expect(takeAll(subscription).map(lineOf)).toEqual(['ContainerStarted a c5']);
  });

  it('folds into one Resync once as many pods wait folded, whichever pod comes next', () => {
    const { subscription, push } = setUp(2);
    for (const uid of ['a', 'a', 'b', 'c', 'd', 'b', 'a']) push(uid);
    const last = push('e');
    expect(subscription.stats).toMatchObject({ queued: 5, folded: 6, resyncs: 1 });
    const taken = takeAll(subscription);
    expect(taken.map(lineOf)).toEqual([
      'ContainerStarted a c0',
      'ContainerStarted a c1',
      'PodSync b',
      'PodSync c',
      'Resync *',
    ]);
    expect(taken[4]).toMatchObject({ folded: 4, stamp: last.stamp });
    expect(takeAll(subscription)).toEqual([]);
  });
});

describe('an iteration', () => {
  it('waits for events, and ends when the subscription is closed, after what is queued', async () => {
    const { clock, subscription, push, closed } = setUp();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of subscription) seen.push(lineOf(event));
    })();
    await clock.settle();
    push('a');
    await clock.settle();
    expect(seen).toEqual(['ContainerStarted a c0']);
    push('b');
    subscription.close();
    push('c');
    subscription.close();
    await reading;
    expect(seen).toEqual(['ContainerStarted a c0', 'ContainerStarted b c1']);
    expect([subscription.closed, closed()]).toEqual([true, 1]);
  });

  it('that is left early closes the subscription', async () => {
    const { subscription, push, closed } = setUp();
    push('a');
    push('b');
    for await (const event of subscription) if (lineOf(event).includes(' a ')) break;
    expect(closed()).toBe(1);
    expect(subscription.take()).toMatchObject({ pod: { uid: 'b' } });
  });

  it('is for one reader at a time: a second is rejected, and the first reads on', async () => {
    const { clock, subscription, push } = setUp();
    const first = subscription[Symbol.asyncIterator]().next();
    await clock.settle();
    await expect(subscription[Symbol.asyncIterator]().next()).rejects.toThrow('one reader');
    const event = push('a');
    await expect(first).resolves.toEqual({ done: false, value: event });
    expect(subscription.closed).toBe(false);
  });

  it('ends with its scope', async () => {
    const { subscription, closed } = setUp();
    await subscription[Symbol.asyncDispose]();
    expect([subscription.closed, closed()]).toEqual([true, 1]);
  });
});

it('loses nothing: each event is delivered or covered by a later PodSync of its pod or a later Resync', () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f') },
    { weight: 3, arbitrary: fc.constant(undefined) },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 80 }), (capacity, steps) => {
      const { subscription, push } = setUp(capacity);
      const pushed: PodLifecycleEvent[] = [];
      const taken: { readonly event: PodLifecycleEvent; readonly after: number }[] = [];
      const take = (): boolean => {
        const event = subscription.take();
        if (event !== undefined) taken.push({ event, after: pushed.length });
        return event !== undefined;
      };
      for (const uid of steps) {
        if (uid === undefined) take();
        else pushed.push(push(uid));
        expect(subscription.stats.queued).toBeLessThanOrEqual(2 * capacity + 1);
      }
      while (take());
      const uidOf = (event: PodLifecycleEvent): string => ('pod' in event ? event.pod.uid : '*');
      pushed.forEach((event, index) => {
        const covered = taken.some(
          ({ event: told, after }) =>
            told === event ||
            (after > index &&
              (told.type === 'Resync' || (told.type === 'PodSync' && uidOf(told) === uidOf(event)))),
        );
        expect(covered, `${lineOf(event)} of ${pushed.length}`).toBe(true);
      });
      // Everything counts once: delivered itself, or replaced by a fold.
      const behindFolds = taken.reduce((sum, { event }) => sum + ('folded' in event ? event.folded : 0), 0);
      const asTheyAre = taken.filter(({ event }) => pushed.includes(event));
      expect(asTheyAre.length + behindFolds).toBe(pushed.length);
      expect(subscription.stats.delivered).toBe(taken.length);
      // In order: no delivered event overtook another one, or a fold of its own pod.
      const stamps = taken.map(({ event }) => event.stamp);
      for (const uid of new Set(pushed.map(uidOf))) {
        const own = taken.filter(({ event }) => uidOf(event) === uid).map(({ event }) => event.stamp);
        expect(own).toEqual([...own].sort((one, other) => one - other));
      }
      const plain = asTheyAre.map(({ event }) => event.stamp);
      expect(plain).toEqual([...plain].sort((one, other) => one - other));
      expect(new Set(stamps).size).toBe(stamps.length);
    }),
    { numRuns: 1_000 },
  );
});
