import { describe, expect, it } from 'vitest';
import { drain, nodeOf, numbers } from '#support/harness/pleg-harness.js';
import { PodloopError } from '#base/errors/errors.js';

describe('a runtime that is away for ten seconds', () => {
  it('delays nobody after its return, and blames no pod', async () => {
    const { clock, runtime, pleg, events, stop } = await nodeOf(100);
    const away = new PodloopError('CRI_UNAVAILABLE', 'connection refused');
    for (const i of numbers(0, 50)) runtime.setContainer(`p${i}`, `p${i}-a`, 'exited');
    runtime.delayStatus(500);
    // It goes away while fifty inspections run or wait.
    await clock.advance(1_100);
    for (const i of numbers(0, 100)) runtime.failStatus(`p${i}`, away);
    runtime.failList(away);
    await clock.advance(10_000);
    drain(events);
    expect(pleg.health()).toMatchObject({ healthy: true, stuckPodCount: 0 });
    for (const i of numbers(0, 100)) runtime.failStatus(`p${i}`, undefined);
    runtime.failList(undefined);
    runtime.delayStatus(0);
    const died = pleg.state().inspections.due;
    expect(died).toBeGreaterThan(0);
    for (const i of numbers(50, 100)) runtime.setContainer(`p${i}`, `p${i}-b`, 'exited');
    await clock.advance(1_000);
    expect(drain(events)).toHaveLength(died + 50);
    expect(pleg.state().inspections.due).toBe(0);
    await stop();
  });
});

describe('a list that succeeds after one that failed', () => {
  it('lists at once the pods whose retry was delayed', async () => {
    const { clock, runtime, events, stop } = await nodeOf(3);
    runtime.failStatus('p0', new Error('shim is gone'));
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(200_000);
    runtime.failList(new Error('connection refused'));
    await clock.advance(3_000);
    runtime.failStatus('p0', undefined);
    runtime.failList(undefined);
    const calls = runtime.statusCalls('p0');
    await clock.advance(1_000);
    expect(runtime.statusCalls('p0')).toBe(calls + 1);
    expect(drain(events)).toEqual(['ContainerDied p0 p0-a']);
    await stop();
  });
});

describe('inspections that fail on the whole node', () => {
  it('make it unhealthy after the threshold, naming the error, and one that succeeds makes it healthy again', async () => {
    const { clock, runtime, pleg, stop } = await nodeOf(10);
    const healed: (() => void)[] = numbers(0, 10).map((i) => runtime.hangStatus(`p${i}`));
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(181_000);
    expect(pleg.health().healthy).toBe(true);
    await clock.advance(1_000);
    const health = pleg.health();
    expect(health).toMatchObject({ healthy: false, reason: { kind: 'inspectionsFailing' } });
    expect(health.message).toMatch(/^pleg was last seen active 3m\d+(\.\d+)?s ago; threshold is 3m0s$/);
    expect(health.stuckPods.map(({ pod }) => pod.uid)).toEqual(['p0']);
    // p0 still hangs: a probe of another pod shows that the runtime is well.
    for (const heal of healed.slice(1)) heal();
    await clock.advance(20_000);
    expect(pleg.health()).toMatchObject({ healthy: true, stuckPodCount: 1 });
    await clock.advance(600_000);
    expect(pleg.health().healthy).toBe(true);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('trigger a probe only every ten seconds, and only while something is due', async () => {
    const { clock, runtime, stop } = await nodeOf(10);
    await clock.advance(60_000);
    expect(runtime.statusCalls()).toBe(10);
    runtime.hangStatus('p0');
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(101_000);
    const probes = runtime.statusCalls() - 10 - (runtime.statusCalls('p0') - 1);
    expect(probes).toBeGreaterThanOrEqual(8);
    expect(probes).toBeLessThanOrEqual(10);
    await stop();
  });

  it('are cancelled when the generator ends, and so are probes that hang', async () => {
    const { clock, runtime, stop } = await nodeOf(3);
    for (const i of numbers(0, 3)) runtime.hangStatus(`p${i}`);
    runtime.setContainer('p0', 'p0-a', 'exited');
    await clock.advance(35_000);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
