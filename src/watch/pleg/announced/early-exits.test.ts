import { describe, expect, it } from 'vitest';
import { type ContainerStatus, type EventStatuses } from '../../observed/runtime.js';
import { aRuntimeEvent } from '#testing/builders.js';
import { drain, lineOf, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';
import { type PlegMode } from '../relist/relist-cadence.js';

/** A generator that trusts events, on a runtime with a known pod `p` of two running containers. */
async function setUp({ trusted = true, mode = 'evented' }: { trusted?: boolean; mode?: PlegMode } = {}) {
  const h = setUpPleg({ mode, believedAfter: 1 });
  const { runtime, clock, pleg } = h;
  runtime.setPod(podOf('p', { a: 'running', b: 'running' }, { s: 'running' }));
  runtime.setPod(podOf('q', { c: 'running' }, { t: 'running' }));
  const stop = h.start();
  await clock.advance(2_000);
  /** The runtime's status of the pod once these containers have ended. */
  const withEnds = (uid: string, ends: Readonly<Record<string, number>>): EventStatuses => {
    const { sandboxes, containers } = runtime.toldStatuses(uid)!;
    const end = (status: ContainerStatus): ContainerStatus => {
      const exitCode = ends[status.id];
      return exitCode === undefined
        ? status
        : { ...status, state: 'exited', finishedAtNs: 9n, exitCode, reason: 'Error' };
    };
    return { sandboxes, containers: containers.map(end) };
  };
  const say = (containerId: string, statuses: EventStatuses, podUid = 'p'): void => {
    const createdAtNs = BigInt(clock.now()) * 1_000_000n;
    runtime.emitEvent(
      aRuntimeEvent({ type: 'stopped', containerId, podUid, createdAtNs, statuses: () => statuses }),
    );
  };
  if (trusted) {
    runtime.setContainer('q', 'c', 'exited');
    say('c', runtime.toldStatuses('q')!, 'q');
    await clock.advance(100);
    const { agreed } = pleg.state().inspections.told;
    if (agreed !== 1) throw new Error('events are not believed yet');
  }
  drain(h.events);
  return {
    ...h,
    ...{ stop, withEnds, say },
    /** The container as the cache shows it. */
    cached: (id: string) => pleg.cache.get('p').status.containers.find((each) => each.id === id),
    announcedEarly: () => pleg.state().inspections.announcedEarly,
  };
}

describe('an exit in an event', () => {
  it('is published before any list shows it, with its exit code, and is in the cache by then', async () => {
    const h = await setUp();
    const [lists, calls] = [h.runtime.listCalls + h.runtime.findCalls, h.runtime.statusCalls()];
    h.say('a', h.withEnds('p', { a: 3 }));
    expect(takeAll(h.events)).toMatchObject([
      { type: 'ContainerDied', containerId: 'a', exitCode: 3, trigger: 'event', occurredAtNs: 9n },
    ]);
    expect(h.cached('a')).toMatchObject({ state: 'exited', exitCode: 3 });
    expect(h.cached('b')).toMatchObject({ state: 'running' });
    expect(h.pleg.findObserved('p')?.containers).toMatchObject([{ state: 'exited' }, { state: 'running' }]);
    expect([h.runtime.listCalls + h.runtime.findCalls, h.announcedEarly()]).toEqual([lists, 1]);

    // The list follows, confirms it, and has nothing to add.
    h.runtime.setContainer('p', 'a', 'exited', { exitCode: 3 });
    await h.clock.advance(100);
    expect(drain(h.events)).toEqual([]);
    expect(h.runtime.listCalls + h.runtime.findCalls).toBeGreaterThan(lists);
    expect(h.runtime.statusCalls()).toBe(calls);
    expect(h.pleg.state().stream).toMatchObject({ announced: 2, missed: 0, contradicted: 0 });
    await h.stop();
  });

  it('is published once, however often and late events repeat it, and beside the exits of others', async () => {
    const h = await setUp();
    const first = h.withEnds('p', { a: 3 });
    const both = h.withEnds('p', { a: 3, b: 4 });
    h.say('b', both);
    expect(drain(h.events)).toEqual(['ContainerDied p a', 'ContainerDied p b']);
    for (const each of [first, both]) h.say('a', each);
    h.runtime.setContainer('p', 'a', 'exited', { exitCode: 3 });
    h.runtime.setContainer('p', 'b', 'exited', { exitCode: 4 });
    await h.clock.advance(100);
    for (const each of [first, both]) h.say('a', each);
    h.runtime.removeContainer('p', 'a');
    await h.pleg.relist();
    for (const each of [first, both]) h.say('a', each);
    await h.clock.advance(3_000);
    expect(drain(h.events)).toEqual(['ContainerRemoved p a']);
    expect(h.announcedEarly()).toBe(2);
    await h.stop();
  });

  it('stays when a list that began before it comes back after it', async () => {
    const h = await setUp();
    h.runtime.answerAsAsked();
    h.runtime.delayList(5_000);
    const looking = h.pleg.relist();
    await h.clock.advance(1_000);
    // Something else has happened as well, and the list shows only one of the two.
    h.runtime.setContainer('p', 'a', 'exited', { exitCode: 3, finishedAtNs: 9n });
    h.say('a', h.withEnds('p', {}));
    expect(drain(h.events)).toEqual(['ContainerDied p a']);
    const { stamp } = h.pleg.cache.get('p');
    h.runtime.delayList(0);
    await h.clock.advance(4_500);
    await looking;
    expect(h.cached('a')).toMatchObject({ state: 'exited', exitCode: 3 });
    expect(h.pleg.cache.get('p').stamp).toBeGreaterThan(stamp);
    expect(h.pleg.state()).toMatchObject({ containersByState: { exited: 2 } });
    await h.clock.advance(5_000);
    expect(drain(h.events)).toEqual([]);
    await h.stop();
  });

  it('stays when the pod is inspected for something else while the runtime does not show it yet', async () => {
    const h = await setUp();
    h.say('a', h.withEnds('p', { a: 3 }));
    h.runtime.setContainer('p', 'x', 'running', { id: 'x' });
    const calls = h.runtime.statusCalls('p');
    await h.clock.advance(100);
    expect(h.runtime.statusCalls('p')).toBeGreaterThan(calls);
    expect(drain(h.events)).toEqual(['ContainerDied p a', 'ContainerStarted p x']);
    expect(h.cached('a')).toMatchObject({ state: 'exited', exitCode: 3 });
    h.runtime.setContainer('p', 'a', 'exited', { exitCode: 3, finishedAtNs: 9n });
    await h.clock.advance(3_000);
    expect(drain(h.events)).toEqual([]);
    const pod = (await h.runtime.findPod('p'))!;
    expect(h.pleg.cache.get('p').status).toEqual(await h.runtime.getPodStatus(pod));
    await h.stop();
  });

  it('does not make the status newer than its stamp: a waiter is answered by a list', async () => {
    const h = await setUp();
    const { stamp } = h.pleg.cache.get('p');
    const release = h.runtime.hangList();
    let answered = false;
    const waiting = h.pleg.cache.getNewerThan('p', h.clock.stamp()).finally(() => (answered = true));
    h.say('a', h.withEnds('p', { a: 3 }));
    await h.clock.advance(500);
    expect([answered, h.pleg.cache.get('p').stamp]).toEqual([false, stamp]);
    const [died] = takeAll(h.events);
    expect(died).toMatchObject({ type: 'ContainerDied', stamp });
    release();
    await h.clock.advance(500);
    expect((await waiting).status.containers[0]).toMatchObject({ id: 'a', state: 'exited' });
    await h.stop();
  });

  it('is followed by the removal alone when the pod, or the container, vanishes before a list has shown it', async () => {
    for (const remove of ['removePod', 'removeContainer'] as const) {
      const h = await setUp();
      h.say('a', h.withEnds('p', { a: 3 }));
      if (remove === 'removePod') h.runtime.removePod('p');
      else h.runtime.removeContainer('p', 'a');
      await h.clock.advance(3_000);
      const told = takeAll(h.events).map(lineOf);
      expect(told.filter((line) => line.endsWith(' a'))).toEqual([
        'ContainerDied p a',
        'ContainerRemoved p a',
      ]);
      await h.stop();
    }
  });

  it('is revoked when lists go on showing that the container runs, and events are no longer trusted', async () => {
    const h = await setUp();
    h.say('a', h.withEnds('p', { a: 3 }));
    await h.clock.advance(1_500);
    expect(drain(h.events)).toEqual(['ContainerDied p a']);
    expect(h.cached('a')).toMatchObject({ state: 'exited' });
    await h.clock.advance(1_500);
    expect(drain(h.events)).toEqual(['ContainerStarted p a']);
    expect(h.cached('a')).toMatchObject({ state: 'running' });
    expect(h.pleg.state()).toMatchObject({
      inspections: { told: { refuted: 1 }, due: 0 },
      stream: { contradicted: 1 },
    });
    h.say('b', h.withEnds('p', { b: 3 }));
    expect(drain(h.events)).toEqual([]);
    await h.stop();
  });

  it('is checked once in 64 times, without anybody having to wait for the answer', async () => {
    const h = await setUp();
    const uids = Array.from({ length: 140 }, (_, i) => `n${i}`);
    for (const uid of uids)
      h.runtime.setPod(podOf(uid, { [`${uid}-x`]: 'running' }, { [`${uid}-s`]: 'running' }));
    await h.pleg.relist();
    drain(h.events);
    const calls = h.runtime.statusCalls();
    const releases = uids.map((uid) => h.runtime.hangStatus(uid));
    for (const uid of uids) {
      h.runtime.setContainer(uid, `${uid}-x`, 'exited', { exitCode: 4 });
      h.say(`${uid}-x`, h.runtime.toldStatuses(uid)!, uid);
    }
    expect(drain(h.events)).toHaveLength(140);
    await h.clock.advance(500);
    // The second check waits until the first is known to hang.
    expect(h.runtime.statusCalls() - calls).toBe(1);
    for (const release of releases) release();
    await h.clock.advance(500);
    expect(h.pleg.state().inspections).toMatchObject({ told: { used: 140, agreed: 2, refuted: 0 }, due: 0 });
    expect(drain(h.events)).toEqual([]);
    await h.stop();
  });
});

describe('an exit is left to the list', () => {
  it('while events are not trusted, or contain more than exits', async () => {
    const untrusted = await setUp({ trusted: false });
    untrusted.say('a', untrusted.withEnds('p', { a: 3 }));
    expect(drain(untrusted.events)).toEqual([]);
    await untrusted.stop();

    const h = await setUp();
    h.runtime.setContainer('p', 'x', 'running', { id: 'x' });
    h.runtime.setContainer('p', 'a', 'exited', { exitCode: 3 });
    h.say('a', h.runtime.toldStatuses('p')!);
    expect(drain(h.events)).toEqual([]);
    await h.clock.advance(100);
    expect(drain(h.events)).toEqual(['ContainerDied p a', 'ContainerStarted p x']);
    expect(h.announcedEarly()).toBe(0);
    await h.stop();
  });

  it('when the pod or the container is not known', async () => {
    const h = await setUp();
    h.say('a', h.withEnds('p', { a: 3 }), 'nobody');
    h.say('x', h.withEnds('p', { a: 3 }));
    expect(drain(h.events)).toEqual([]);
    await h.stop();
  });

  it('while the pod is being inspected or cannot be, or somebody waits for a condition or a full reinspection', async () => {
    const h = await setUp();
    const ends = h.withEnds('p', { a: 3 });
    const release = h.runtime.hangStatus('p');
    h.pleg.requestReinspect('p');
    h.say('a', ends);
    h.pleg.requestRelist('p');
    await h.clock.advance(10);
    h.say('a', ends);
    expect(drain(h.events)).toEqual([]);
    h.runtime.failStatus('p', new Error('sick'));
    release();
    await h.clock.advance(10);
    expect(h.pleg.cache.get('p').error).toBeDefined();
    h.say('a', ends);
    expect(drain(h.events)).toEqual([]);
    h.runtime.failStatus('p', undefined);
    await h.clock.advance(5_000);
    expect(drain(h.events)).toEqual(['PodSync p']);
    h.pleg.watchCondition('p', 'k', ({ containers }) => containers.length > 2);
    h.say('a', ends);
    expect(drain(h.events)).toEqual([]);
    expect(h.announcedEarly()).toBe(0);
    await h.stop();
  });

  it('after the stream broke, until events have proven themselves again', async () => {
    const h = await setUp();
    h.runtime.breakEvents(new Error('broke'));
    await h.clock.advance(5_000);
    h.say('a', h.withEnds('p', { a: 3 }));
    expect(drain(h.events)).toEqual([]);
    await h.stop();
  });

  it('in mode generic, which receives no events', async () => {
    const h = await setUp({ trusted: false, mode: 'generic' });
    h.say('a', h.withEnds('p', { a: 3 }));
    expect(drain(h.events)).toEqual([]);
    await h.stop();
  });
});
