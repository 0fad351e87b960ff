import { describe, expect, it } from 'vitest';
import { drain, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';

/** A generator on a runtime whose events have pod statuses, with one known running container. */
async function setUp(believedAfter = 1) {
  const h = setUpPleg({ mode: 'evented', believedAfter }, { announce: 'with statuses' });
  h.runtime.setPod(podOf('p', { a: 'running' }, { s: 'running' }));
  const stop = h.start();
  await h.clock.advance(2_000);
  drain(h.events);
  const { told } = h.pleg.state().inspections;
  if (told.agreed + told.used + told.refuted > 0) throw new Error('nothing was to be told yet');
  let made = 0;
  return {
    ...h,
    stop,
    /** Starts and ends a container; returns the number of status calls that this takes. */
    endOne: async (exitCode = 0): Promise<number> => {
      const calls = h.runtime.statusCalls();
      const id = `x${made++}`;
      h.runtime.setContainer('p', id, 'running', { id });
      await h.clock.advance(100);
      h.runtime.setContainer('p', id, 'exited', { exitCode });
      await h.clock.advance(100);
      return h.runtime.statusCalls() - calls;
    },
  };
}

describe('statuses in events', () => {
  it("have to match the runtime's answers a number of times, and then replace them", async () => {
    const h = await setUp(3);
    expect([await h.endOne(), await h.endOne(5), await h.endOne(6)]).toEqual([2, 1, 0]);
    const died = takeAll(h.events).filter(({ type }) => type === 'ContainerDied');
    expect(died).toMatchObject([{ exitCode: 0 }, { exitCode: 5 }, { exitCode: 6 }]);
    const { status, error } = h.pleg.cache.get('p');
    expect(error).toBeUndefined();
    expect(status.containers).toMatchObject([{ id: 'a' }, { exitCode: 0 }, { exitCode: 5 }, { exitCode: 6 }]);
    expect(h.pleg.state().inspections.told).toEqual({ used: 3, agreed: 3, refuted: 0 });
    await h.stop();
  });

  it('answer those who wait for a newer status', async () => {
    const h = await setUp();
    await h.endOne();
    const stamp = h.clock.stamp();
    h.runtime.setContainer('p', 'a', 'exited', { exitCode: 9 });
    const newer = h.pleg.cache.getNewerThan('p', stamp);
    await h.clock.advance(100);
    expect((await newer).status.containers[0]).toMatchObject({ id: 'a', exitCode: 9 });
    await h.stop();
  });

  it('are not used when somebody requested a full re-inspection, or waits for a condition', async () => {
    const h = await setUp();
    await h.endOne();
    h.pleg.requestReinspect('p');
    expect(await h.endOne()).toBe(1);
    h.pleg.watchCondition('p', 'k', ({ containers }) => containers.length > 3);
    expect(await h.endOne()).toBeGreaterThan(0);
    expect(takeAll(h.events).some(({ type }) => type === 'ConditionMet')).toBe(true);
    await h.stop();
  });

  it('describe a pod whose status calls hang', async () => {
    const h = await setUp();
    await h.endOne();
    const letGo = h.runtime.hangStatus('p');
    drain(h.events);
    h.runtime.setContainer('p', 'a', 'exited', { exitCode: 4 });
    await h.clock.advance(100);
    expect(drain(h.events)).toEqual(['ContainerDied p a']);
    expect(h.pleg.health()).toMatchObject({ healthy: true, stuckPods: [] });
    letGo();
    await h.stop();
  });

  it('have to prove themselves again after the stream broke', async () => {
    const h = await setUp();
    await h.endOne();
    expect(await h.endOne()).toBe(0);
    h.runtime.breakEvents(new Error('broke'));
    await h.clock.advance(5_000);
    expect(await h.endOne()).toBe(1);
    expect(await h.endOne()).toBe(0);
    await h.stop();
  });

  it('change nothing if there are none', async () => {
    const h = setUpPleg({ mode: 'evented', believedAfter: 1 }, { announce: true });
    h.runtime.setPod(podOf('p', { a: 'running' }, { s: 'running' }));
    const stop = h.start();
    await h.clock.advance(2_000);
    const calls = h.runtime.statusCalls();
    h.runtime.setContainer('p', 'a', 'exited');
    await h.clock.advance(100);
    expect(h.runtime.statusCalls() - calls).toBe(1);
    expect(h.pleg.state().inspections.told).toEqual({ used: 0, agreed: 0, refuted: 0 });
    await stop();
  });
});
