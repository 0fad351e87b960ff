import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { drain, lineOf, nodeOf, numbers, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';

describe.each([1, 20])('with %d of 200 pods hung', (hung) => {
  it('everybody else’s events arrive within one relist, and health names the pods', async () => {
    const { clock, runtime, pleg, events, stop } = await nodeOf(200);
    const releases = numbers(0, hung).map((i) => runtime.hangStatus(`p${i}`));
    for (const i of numbers(0, 200))
      runtime.setContainer(`p${i}`, `p${i}-a`, 'exited', { exitCode: i % 256 });
    // Until the next relist, and no longer than one slow inspection into it.
    await clock.advance(2_000);
    const told = takeAll(events);
    expect(told.map(lineOf).sort()).toEqual(
      numbers(hung, 200)
        .map((i) => `ContainerDied p${i} p${i}-a`)
        .sort(),
    );
    await clock.advance(1_000);
    const health = pleg.health();
    expect(health).toMatchObject({ healthy: true, stuckPodCount: hung });
    expect(health.stuckPods.map(({ pod, state }) => `${pod.uid} ${state}`).sort()).toEqual(
      numbers(0, hung)
        .map((i) => `p${i} hung`)
        .sort(),
    );
    // The same holds afterwards: later changes of the others are published within a second, too.
    for (const round of ['b', 'c'] as const) {
      for (const i of numbers(0, 200)) runtime.setContainer(`p${i}`, `p${i}-${round}`, 'exited');
      await clock.advance(1_000);
      expect(drain(events)).toHaveLength(200 - hung);
    }
    await clock.advance(600_000);
    expect(pleg.health().healthy).toBe(true);
    for (const release of releases) release();
    await clock.advance(60_000);
    expect(drain(events)).toEqual(
      numbers(0, hung)
        .flatMap((i) => ['a', 'b', 'c'].map((name) => `ContainerDied p${i} p${i}-${name}`))
        .sort(),
    );
    expect(pleg.health()).toMatchObject({ healthy: true, stuckPods: [], stuckPodCount: 0 });
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('with more pods hung than there is room for', () => {
  it('the others are published within seconds at first, then within two, though more hang at each relist', async () => {
    const { clock, runtime, pleg, events, stop } = await nodeOf(400);
    for (const i of numbers(0, 100)) {
      runtime.hangStatus(`p${i}`);
      runtime.setContainer(`p${i}`, `p${i}-a`, 'exited');
    }
    let mostInFlight = 0;
    const latencyOf = async (uid: string, container: string): Promise<number> => {
      runtime.setContainer(uid, container, 'exited');
      for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 100) {
        await clock.advance(100);
        mostInFlight = Math.max(mostInFlight, pleg.state().inspectionsInFlight.length);
        if (drain(events).includes(`ContainerDied ${uid} ${container}`)) return waitedMs + 100;
      }
      return Infinity;
    };
    // A hundred, sixteen at a time, a second each.
    expect(await latencyOf('p399', 'p399-a')).toBeLessThanOrEqual(8_000);
    for (const round of numbers(0, 20)) {
      for (const i of numbers(100 + 5 * round, 105 + 5 * round)) {
        runtime.hangStatus(`p${i}`);
        runtime.setContainer(`p${i}`, `p${i}-a`, 'exited');
      }
      expect(await latencyOf(`p${300 + round}`, `p${300 + round}-a`)).toBeLessThanOrEqual(2_000);
    }
    expect(mostInFlight).toBeLessThanOrEqual(16 + 64);
    await clock.advance(1_000);
    expect(pleg.health()).toMatchObject({ healthy: true, stuckPodCount: 200 });
    expect(pleg.health().stuckPods).toHaveLength(100);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the period', () => {
  it('does not wait for many pods that hang one after the other', async () => {
    const { clock, runtime, stop } = await nodeOf(200);
    for (const i of numbers(0, 200)) {
      runtime.hangStatus(`p${i}`);
      runtime.setContainer(`p${i}`, `p${i}-a`, 'exited');
    }
    const { listCalls } = runtime;
    // All of them take thirteen seconds to be known as slow.
    await clock.advance(10_000);
    expect(runtime.listCalls - listCalls).toBeGreaterThanOrEqual(5);
    await stop();
  });
});

describe('a pod that hangs', () => {
  it('is retried with growing delays, one call at a time', async () => {
    const { clock, runtime, stop } = await nodeOf(3);
    runtime.hangStatus('p0');
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(3_600_000);
    // Each attempt lasts two minutes, with up to half a minute between two.
    expect(runtime.statusCalls('p0') - 1).toBeGreaterThan(3_600 / 155);
    expect(runtime.statusCalls('p0') - 1).toBeLessThanOrEqual(3_600 / 120);
    await stop();
  });

  it('is retried by its timer alone, which may fire slightly early, when no list comes for minutes', async () => {
    const clock = new FakeClock({ firesEarly: true });
    const { runtime, pleg, start } = setUpPleg({ mode: 'evented' }, {}, clock);
    runtime.setPod(podOf('p', { a: 'running' }));
    const stop = start();
    await clock.advance(2_000);
    const release = runtime.hangStatus('p');
    runtime.setContainer('p', 'a', 'exited');
    pleg.requestRelist('p');
    // Two attempts of two minutes each; the third must come within a second.
    await clock.advance(240_100);
    const lists = runtime.listCalls + runtime.findCalls;
    release();
    await clock.advance(1_000);
    expect(pleg.cache.get('p').status.containers).toMatchObject([{ id: 'a', state: 'exited' }]);
    expect(runtime.listCalls + runtime.findCalls).toBe(lists);
    await stop();
  });

  it('and one that fails is retried at most twice a minute in the end, whatever is requested', async () => {
    const { clock, runtime, pleg, stop } = await nodeOf(3);
    runtime.failStatus('p0', new Error('shim is gone'));
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(300_000);
    const before = runtime.statusCalls('p0');
    for (let second = 0; second < 600; second++) {
      pleg.requestRelist('p0');
      await clock.advance(1_000);
    }
    const calls = runtime.statusCalls('p0') - before;
    expect(calls).toBeGreaterThanOrEqual(19);
    expect(calls).toBeLessThanOrEqual(26);
    expect(pleg.health().stuckPods).toMatchObject([{ state: 'failing', error: 'shim is gone' }]);
    await stop();
  });

  it('is not stamped newer than it is, nor does a wait for it end before it answers', async () => {
    const { clock, runtime, pleg, stop } = await nodeOf(3);
    const release = runtime.hangStatus('p0');
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(1_000);
    const asked = clock.stamp();
    let answer: string | undefined;
    const wait = pleg.cache
      .getNewerThan('p0', asked)
      .then(({ status }) => (answer = status.containers[0]?.state));
    await clock.advance(60_000);
    expect(answer).toBeUndefined();
    expect(pleg.cache.get('p0').stamp).toBeLessThan(asked);
    expect(pleg.cache.get('p1').stamp).toBeGreaterThan(asked);
    release();
    await clock.advance(1_000);
    await wait;
    expect(answer).toBe('exited');
    await stop();
  });

  it('and vanishes is published as gone at once, with everything unpublished until then', async () => {
    const { clock, runtime, pleg, events, stop } = await nodeOf(2);
    const release = runtime.hangStatus('p0');
    runtime.setContainer('p0', 'p0-a', 'exited');
    runtime.setContainer('p0', 'new', 'running', { id: 'new' });
    await clock.advance(2_000);
    expect(drain(events)).toEqual([]);
    runtime.removePod('p0');
    await clock.advance(1_000);
    const gone = ['p0-a', 'p0-b', 'p0-c', 'new'];
    expect(drain(events)).toEqual(
      gone.flatMap((id) => [`ContainerDied p0 ${id}`, `ContainerRemoved p0 ${id}`]).sort(),
    );
    release();
    await clock.advance(300_000);
    expect(drain(events)).toEqual([]);
    expect(pleg.health()).toMatchObject({ healthy: true, stuckPodCount: 0 });
    expect([pleg.cache.size, pleg.state().inspectionsInFlight]).toEqual([1, []]);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('or fails, and vanishes, leaves neither a stuck entry nor a timer', async () => {
    const { clock, runtime, pleg, stop } = await nodeOf(2);
    runtime.failStatus('p0', new Error('shim is gone'));
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(60_000);
    expect(pleg.health().stuckPodCount).toBe(1);
    runtime.removePod('p0');
    await clock.advance(1_000);
    expect(pleg.health().stuckPodCount).toBe(0);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('publishes exactly what was missed once it answers, including what came and went meanwhile', async () => {
    const { clock, runtime, events, stop } = await nodeOf(2);
    const release = runtime.hangStatus('p0');
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(2_000);
    runtime.removeContainer('p0', 'p0-a');
    for (const attempt of [1, 2, 3]) {
      runtime.setContainer('p0', 'p0-a', 'running', { attempt, id: `again-${attempt}` });
      await clock.advance(2_000);
      if (attempt === 1) runtime.removeContainer('p0', 'again-1');
      if (attempt === 2) runtime.setContainer('p0', 'again-2', 'exited', { exitCode: 9 });
    }
    expect(drain(events)).toEqual([]);
    release();
    await clock.advance(1_000);
    expect(drain(events)).toEqual([
      'ContainerDied p0 again-1',
      'ContainerDied p0 again-2',
      'ContainerDied p0 p0-a',
      'ContainerRemoved p0 again-1',
      'ContainerRemoved p0 p0-a',
      'ContainerStarted p0 again-3',
    ]);
    await clock.advance(10_000);
    expect(drain(events)).toEqual([]);
    await stop();
  });
});
