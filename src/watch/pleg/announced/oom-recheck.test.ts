import { describe, expect, it } from 'vitest';
import { type ContainerStatus } from '../../observed/runtime.js';
import { aRuntimeEvent } from '#testing/builders.js';
import { drain, nodeOf, numbers, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';
import { type PlegMode } from '../relist/relist-cadence.js';

const KILLED = { exitCode: 137, reason: 'Error' } as const;
const OOM_KILLED = { exitCode: 137, reason: 'OOMKilled' } as const;

/**
 * A running generator on a runtime with a known pod `p` of two running containers; events are trusted after
 * one.
 */
async function setUp(mode: PlegMode = 'generic') {
  const h = setUpPleg({ mode, believedAfter: 1 });
  const { runtime, clock, pleg } = h;
  runtime.setPod(podOf('p', { a: 'running', b: 'running' }, { s: 'running' }));
  const stop = h.start();
  await clock.advance(1_500);
  drain(h.events);
  return {
    ...h,
    stop,
    /**
     * Sets the runtime's status of the container; a change of an exit's reason alone is announced nowhere.
     */
    set: (id: string, facts: Partial<ContainerStatus>) => runtime.setContainer('p', id, 'exited', facts),
    /** Sends an event of an exit with what the runtime knows now. */
    say: (containerId: string) => {
      const statuses = runtime.toldStatuses('p')!;
      const createdAtNs = BigInt(clock.now()) * 1_000_000n;
      const event = {
        type: 'stopped',
        containerId,
        podUid: 'p',
        createdAtNs,
        statuses: () => statuses,
      } as const;
      runtime.emitEvent(aRuntimeEvent(event));
    },
    reasonOf: (id: string) => pleg.cache.get('p').status.containers.find((each) => each.id === id)?.reason,
  };
}

describe('the reason of a killed container', () => {
  it('is corrected when the runtime learns it after the exit, without publishing the exit again', async () => {
    const h = await setUp();
    h.set('a', KILLED);
    await h.clock.advance(1_000);
    expect(takeAll(h.events)).toMatchObject([{ type: 'ContainerDied', containerId: 'a', ...KILLED }]);
    const { stamp } = h.pleg.cache.get('p');
    h.set('a', OOM_KILLED);
    await h.clock.advance(1_400);
    expect(h.reasonOf('a')).toBe('Error');
    await h.clock.advance(200);
    expect(h.reasonOf('a')).toBe('OOMKilled');
    expect(takeAll(h.events)).toMatchObject([{ type: 'PodSync', pod: { uid: 'p' }, folded: 0 }]);
    expect(h.pleg.cache.get('p').stamp).toBeGreaterThanOrEqual(stamp);
    const calls = h.runtime.statusCalls();
    await h.clock.advance(30_000);
    expect([h.runtime.statusCalls(), drain(h.events)]).toEqual([calls, []]);
    await h.stop();
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('is corrected as well when the exit was published early', async () => {
    const h = await setUp('evented');
    h.set('b', { exitCode: 3 });
    h.say('b');
    await h.clock.advance(100);
    expect(h.pleg.state().inspections.told.agreed).toBe(1);
    drain(h.events);
    h.set('a', KILLED);
    h.say('a');
    h.set('a', OOM_KILLED);
    expect(takeAll(h.events)).toMatchObject([{ type: 'ContainerDied', containerId: 'a', ...KILLED }]);
    await h.clock.advance(2_100);
    expect([h.reasonOf('a'), drain(h.events)]).toEqual(['OOMKilled', ['PodSync p']]);
    expect(h.pleg.state().inspections).toMatchObject({ announcedEarly: 1, told: { refuted: 0 } });
    await h.stop();
  });

  it('is correct at once when the event of another container has it', async () => {
    const h = await setUp('evented');
    h.set('a', KILLED);
    h.say('a');
    await h.clock.advance(100);
    h.set('a', OOM_KILLED);
    h.set('b', { exitCode: 3 });
    h.say('b');
    expect(drain(h.events)).toContain('ContainerDied p b');
    expect(h.reasonOf('a')).toBe('OOMKilled');
    const calls = h.runtime.statusCalls();
    await h.clock.advance(5_000);
    expect([h.runtime.statusCalls(), drain(h.events)]).toEqual([calls, []]);
    await h.stop();
  });

  it('stays, at one call for all killed containers of a pod, when memory was not the cause', async () => {
    const h = await setUp();
    for (const id of ['a', 'b']) h.set(id, KILLED);
    await h.clock.advance(600);
    drain(h.events);
    const calls = h.runtime.statusCalls();
    await h.clock.advance(30_000);
    expect([h.runtime.statusCalls() - calls, drain(h.events), h.reasonOf('a')]).toEqual([1, [], 'Error']);
    await h.stop();
  });

  it('is not asked for after other exits, after those that were there before, nor for what is gone', async () => {
    const h = await setUp();
    h.set('a', { exitCode: 1 });
    h.set('b', OOM_KILLED);
    await h.clock.advance(600);
    let calls = h.runtime.statusCalls();
    await h.clock.advance(5_000);
    expect(h.runtime.statusCalls()).toBe(calls);
    h.runtime.setContainer('p', 'c', 'exited', { id: 'c', ...KILLED });
    await h.pleg.relist();
    expect(drain(h.events)).toContain('ContainerDied p c');
    h.runtime.removeContainer('p', 'c');
    await h.pleg.relist();
    calls = h.runtime.statusCalls();
    await h.clock.advance(5_000);
    expect(h.runtime.statusCalls()).toBe(calls);
    await h.stop();

    const later = setUpPleg();
    later.runtime.setPod(podOf('p', { a: 'running' }));
    later.runtime.setContainer('p', 'a', 'exited', KILLED);
    const stop = later.start();
    await later.clock.advance(5_000);
    expect([drain(later.events), later.runtime.statusCalls()]).toEqual([['ContainerDied p a'], 1]);
    await stop();
  });

  it('is not asked for by a generator that does not run, nor once it has stopped', async () => {
    const byHand = setUpPleg();
    byHand.runtime.setPod(podOf('p', { a: 'running' }));
    await byHand.pleg.relist();
    byHand.runtime.setContainer('p', 'a', 'exited', KILLED);
    await byHand.pleg.relist();
    expect([byHand.runtime.statusCalls(), byHand.clock.pendingTimers]).toEqual([2, 0]);

    const h = await setUp();
    h.set('a', KILLED);
    await h.clock.advance(600);
    await h.stop();
    expect(h.clock.pendingTimers).toBe(0);
  });
});

describe('rechecks of killed containers', () => {
  it('come after all exits of a mass kill, one at a time, and once each', async () => {
    const { clock, runtime, events, stop, pleg } = await nodeOf(200);
    runtime.delayStatus(20);
    for (let batch = 0; batch < 10; batch++) {
      for (const i of numbers(20 * batch, 20 * batch + 20))
        runtime.setContainer(`p${i}`, `p${i}-a`, 'exited', KILLED);
      await clock.advance(500);
    }
    await clock.advance(1_000);
    expect(drain(events)).toHaveLength(200);
    // The first inspections, and nothing beside them.
    expect(runtime.statusCalls()).toBe(400);
    let most = 0;
    for (let waitedMs = 0; waitedMs < 8_000; waitedMs += 10) {
      await clock.advance(10);
      most = Math.max(most, pleg.state().inspectionsInFlight.length);
    }
    expect([runtime.statusCalls(), most, drain(events)]).toEqual([600, 1, []]);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('come in the end when pods are killed without a pause between them', async () => {
    const { clock, runtime, stop } = await nodeOf(60);
    runtime.setContainer('p0', 'p0-a', 'exited', KILLED);
    for (const i of numbers(1, 50)) {
      await clock.advance(500);
      runtime.setContainer(`p${i}`, `p${i}-a`, 'exited', KILLED);
    }
    // One inspection when it began, and one at its end.
    expect(runtime.statusCalls('p0')).toBe(3);
    await stop();
  });

  it('that hang time out, and do not block the following ones', async () => {
    const { clock, runtime, events, stop, pleg } = await nodeOf(3);
    for (const uid of ['p0', 'p1']) runtime.setContainer(uid, `${uid}-a`, 'exited', KILLED);
    await clock.advance(1_000);
    expect(drain(events)).toHaveLength(2);
    runtime.hangStatus('p0');
    runtime.setContainer('p1', 'p1-a', 'exited', OOM_KILLED);
    await clock.advance(3_500);
    expect(drain(events)).toEqual(['PodSync p1']);
    expect(pleg.state()).toMatchObject({ inspectionsInFlight: [], inspections: { failures: 1, due: 0 } });
    expect(pleg.health().stuckPods).toEqual([]);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
