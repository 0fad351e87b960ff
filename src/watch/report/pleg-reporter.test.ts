import { describe, expect, it } from 'vitest';
import { type CriCall } from '#base/channels/channels.js';
import { numbers, podOf, setUpPleg } from '#support/harness/pleg-harness.js';
import { PlegReporter } from './pleg-reporter.js';
import { REMEMBERED_RELISTS } from './relist-history.js';

const RUNTIME = { name: 'containerd', version: '1.7.27', endpoint: 'unix:///run/c.sock' };

function setUp(pods = 3) {
  const { clock, runtime, pleg, start } = setUpPleg();
  for (const i of numbers(0, pods)) runtime.setPod(podOf(`p${i}`, { [`p${i}-a`]: 'running' }));
  const calls: CriCall[] = [];
  const reporter = new PlegReporter({
    ...{ channels: pleg.channels, clock, pleg, runtime: RUNTIME },
    uids: () => pleg.cache.uids(),
    callsInFlight: () => calls,
  });
  const stop = start();
  const end = async (): Promise<void> => {
    reporter[Symbol.dispose]();
    await stop();
    expect(clock.pendingTimers).toBe(0);
  };
  return { clock, runtime, pleg, calls, reporter, end };
}

describe('the report of the event generator', () => {
  it('is plain JSON: serializing loses nothing', async () => {
    const { clock, runtime, calls, reporter, end } = setUp();
    await clock.advance(3_000);
    const release = runtime.hangStatus('p1');
    runtime.setContainer('p1', 'p1-a', 'exited');
    calls.push({
      ...{ id: 1, method: 'ContainerStatus', operation: 'container_status' },
      // The whole list entry, as the runtime passes it on.
      pod: podOf('p1', { 'p1-a': 'running' }),
      ...{ containerId: 'p1-a', sandboxId: undefined, deadlineMs: 120_000, streaming: false },
      ...{ startedAtMonotonicMs: clock.monotonicMs(), startedAtMs: clock.now() },
    });
    await clock.advance(5_000);
    const report = reporter.read();
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
    expect(report.callsInFlight).toEqual([
      {
        ...{ method: 'ContainerStatus', operation: 'container_status', containerId: 'p1-a' },
        pod: { uid: 'p1', namespace: 'default', name: 'p1' },
        ...{ startedAtMs: clock.now() - 5_000, ageMs: 5_000, deadlineMs: 120_000 },
      },
    ]);
    release();
    await end();
  });

  it('has lists that come in pieces among the calls in flight, and not the stream of events', async () => {
    const { clock, calls, reporter, end } = setUp();
    const begun = { pod: undefined, containerId: undefined, sandboxId: undefined, streaming: true };
    const at = { startedAtMonotonicMs: clock.monotonicMs(), startedAtMs: clock.now() };
    calls.push(
      {
        id: 1,
        method: 'GetContainerEvents',
        operation: 'get_container_events',
        ...begun,
        ...at,
        deadlineMs: undefined,
      },
      {
        id: 2,
        method: 'StreamContainers',
        operation: 'stream_containers',
        ...begun,
        ...at,
        deadlineMs: 120_000,
      },
    );
    const { callsInFlight, callsInFlightCount } = reporter.read();
    expect(callsInFlight).toMatchObject([{ operation: 'stream_containers' }]);
    expect(callsInFlightCount).toBe(1);
    await end();
  });

  it('names a hung pod while it hangs, first among the slow ones, and the node stays healthy', async () => {
    const { clock, runtime, reporter, end } = setUp();
    await clock.advance(3_000);
    const release = runtime.hangStatus('p1');
    runtime.setContainer('p1', 'p1-a', 'exited');
    await clock.advance(5_000);
    const { health, stuckPods, slowestPods, inspections } = reporter.read();
    expect(health).toMatchObject({ healthy: true, thresholdMs: 180_000 });
    expect(stuckPods).toMatchObject([{ pod: { uid: 'p1' }, state: 'hung', failures: 0 }]);
    expect(slowestPods[0]).toMatchObject({ pod: { uid: 'p1' }, inFlightMs: 4_000, lastMs: 0, count: 1 });
    expect(inspections).toMatchObject({ inFlight: 1, due: 1, count: 4 });
    release();
    await clock.advance(1_000);
    expect(reporter.read()).toMatchObject({
      stuckPodCount: 0,
      slowestPods: [{ pod: { uid: 'p1' }, longestMs: 4_000, count: 2 }, {}, {}],
      events: { ContainerStarted: 3, ContainerDied: 1 },
    });
    await end();
  });

  it('shows a list that hangs, by its age, and a failed one in the history', async () => {
    const { clock, runtime, reporter, end } = setUp();
    await clock.advance(3_000);
    const release = runtime.hangList();
    await clock.advance(190_000);
    const { health, relists } = reporter.read();
    expect(health.healthy).toBe(false);
    expect(health.message).toMatch(/^pleg was last seen active/);
    expect(health.lastSeenAgoMs).toBeGreaterThan(189_000);
    expect(relists.listInFlightMs).toBeGreaterThan(0);
    expect(relists.history.at(-1)?.error).toMatch(/list/);
    release();
    await end();
  });

  it('stores a bounded number of relists, with their parts and the gaps between them', async () => {
    const { clock, reporter, end } = setUp();
    await clock.advance(100_000);
    const { history, count } = reporter.read().relists;
    expect(history).toHaveLength(REMEMBERED_RELISTS);
    expect(count).toBeGreaterThan(REMEMBERED_RELISTS);
    expect(history.at(-1)).toMatchObject({ trigger: 'relist', pods: 3, due: 0, intervalMs: 1_000 });
    for (const { durationMs, listMs, diffMs, inspectMs } of history) {
      expect(listMs + diffMs + inspectMs).toBe(durationMs);
    }
    await end();
  });

  it('forgets pods that are gone', async () => {
    const { clock, runtime, reporter, end } = setUp();
    await clock.advance(2_000);
    runtime.removePod('p2');
    await clock.advance(2_000);
    expect(
      reporter
        .read()
        .slowestPods.map(({ pod }) => pod.uid)
        .sort(),
    ).toEqual(['p0', 'p1']);
    expect(reporter.read().pods).toEqual({
      ...{ count: 2, running: 2 },
      containersByState: { created: 0, running: 2, exited: 0, unknown: 0 },
    });
    await end();
  });
});
