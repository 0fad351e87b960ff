import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ObservedPod } from '../observed/runtime.js';
import { drain, lineOf, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';
import { type PodLifecycleEvent } from './pod-lifecycle-event.js';
import { PLEG_MODES } from './relist/relist-cadence.js';
import { type Subscription } from './subscription.js';

const podsFrom = (first: number, count: number): ObservedPod[] =>
  Array.from({ length: count }, (_, i) =>
    podOf(`p${first + i}`, { [`c${first + i}`]: 'running' }, { [`s${first + i}`]: 'running' }),
  );

/** Reads every event as it comes, as a subscriber should. */
function readAll(subscription: Subscription): {
  readonly seen: PodLifecycleEvent[];
  readonly done: Promise<void>;
} {
  const seen: PodLifecycleEvent[] = [];
  const done = (async () => {
    for await (const event of subscription) seen.push(event);
  })();
  return { seen, done };
}

describe('subscribers', () => {
  it('one that never reads slows nobody, stays within its bounds, and catches up in the end', async () => {
    const { clock, pleg, runtime, events: slow } = setUpPleg({ yieldToLoop: nextTurn });
    const quick = pleg.subscribe();
    const { seen, done } = readAll(quick);
    const rounds = 20;
    const each = 1_000;
    let mostQueued = 0;
    // A real runtime answers over a socket, so readers get a turn between two relists.
    const relist = async (pods: readonly ObservedPod[]): Promise<void> => {
      runtime.setPods(pods);
      await pleg.relist();
      await clock.settle();
    };
    for (let round = 0; round < rounds; round++) {
      await relist(podsFrom(round * each, each));
      await relist([]);
      mostQueued = Math.max(mostQueued, slow.stats.queued);
    }
    await relist(podsFrom(rounds * each, 10));
    quick.close();
    await done;

    // 120,000 events over 20,000 pods: all of them arrived, in order for each container.
    expect(quick.stats.folded).toBe(0);
    expect(seen).toHaveLength(rounds * each * 6 + 20);
    const told = new Map<string, string>();
    for (const event of seen) {
      if (!('containerId' in event)) throw new Error(`not expected: ${lineOf(event)}`);
      told.set(event.containerId, `${told.get(event.containerId) ?? ''}${event.type.slice(9, 10)}`);
    }
    expect(new Set(told.values())).toEqual(new Set(['SDR', 'S']));
    expect(told.size).toBe(rounds * each * 2 + 20);

    expect(mostQueued).toBeLessThanOrEqual(2_001);
    expect(slow.stats).toMatchObject({ queued: 2_001, delivered: 0, resyncs: 1 });
    const late = takeAll(slow);
    expect(late).toHaveLength(2_001);
    expect(late.at(-1)?.type).toBe('Resync');
    // The events point to what exists, and from here on the slow reader is up to date.
    expect(pleg.cache.size).toBe(10);
    runtime.removePod(`p${rounds * each}`);
    await pleg.relist();
    const uid = rounds * each;
    expect(drain(slow)).toEqual(
      [`c${uid}`, `s${uid}`]
        .flatMap((id) => [`ContainerDied p${uid} ${id}`, `ContainerRemoved p${uid} ${id}`])
        .sort(),
    );
  });

  it('come and go while events are delivered', async () => {
    const { clock, pleg, runtime, events } = setUpPleg();
    const closing = Array.from({ length: 5 }, () => pleg.subscribe());
    const readers = closing.map((subscription) =>
      (async () => {
        for await (const event of subscription) if (event.type === 'ContainerDied') break;
      })(),
    );
    const late: Subscription[] = [];
    runtime.setPods(podsFrom(0, 50));
    await pleg.relist();
    const joining = (async () => {
      for await (const event of pleg.subscribe()) {
        if (event.type !== 'ContainerDied') continue;
        late.push(pleg.subscribe());
        break;
      }
    })();
    await clock.settle();
    runtime.setPods([]);
    await pleg.relist();
    await Promise.all([...readers, joining]);
    expect(closing.every(({ closed }) => closed)).toBe(true);
    expect(pleg.state().subscriptions).toHaveLength(2);
    expect(drain(events)).toHaveLength(50 * 6);
    runtime.setPods(podsFrom(100, 1));
    await pleg.relist();
    expect(
      takeAll(late[0]!)
        .map(({ type }) => type)
        .slice(-2),
    ).toEqual(['ContainerStarted', 'ContainerStarted']);
  });

  it('each have a queue of their own, with a capacity of their own', async () => {
    const { pleg, runtime, events } = setUpPleg();
    const small = pleg.subscribe({ capacity: 1 });
    runtime.setPods(podsFrom(0, 3));
    await pleg.relist();
    expect(drain(events)).toHaveLength(6);
    expect(takeAll(small).map(({ type }) => type)).toEqual(['ContainerStarted', 'PodSync', 'Resync']);
  });

  it('see the cache at least as new as the event, at the time of the event', async () => {
    const { pleg, runtime } = setUpPleg();
    const subscription = pleg.subscribe();
    const states: unknown[] = [];
    const reading = (async () => {
      for await (const event of subscription) {
        if (!('containerId' in event) || event.kind === 'sandbox') continue;
        const { status, stamp } = pleg.cache.get(event.pod.uid);
        states.push([event.type, status.containers[0]?.state, stamp >= event.stamp]);
      }
    })();
    runtime.setPods(podsFrom(0, 1));
    await pleg.relist();
    runtime.setContainer('p0', 'c0', 'exited');
    await pleg.relist();
    runtime.setPods([]);
    await pleg.relist();
    subscription.close();
    await reading;
    expect(states).toEqual([
      ['ContainerStarted', 'running', true],
      ['ContainerDied', 'exited', true],
      ['ContainerRemoved', undefined, true],
    ]);
  });
});

describe.each(PLEG_MODES)('a restart in mode %s on a full node', (mode) => {
  it.each([
    ['300 pods of one running and five exited containers', 300, 5],
    ['1,800 pods of one container', 1_800, 0],
    ['2,500 pods of one container', 2_500, 0],
  ])('reports every pod and ends every wait: %s', async (_, count, exited) => {
    const { clock, pleg, runtime, events, start } = setUpPleg({ mode });
    runtime.setPods(
      Array.from({ length: count }, (_unused, i) =>
        podOf(`p${i}`, {
          ...Object.fromEntries(
            Array.from({ length: exited }, (_old, n) => [`p${i}-old-${n}`, 'exited' as const]),
          ),
          [`p${i}-c`]: exited === 0 && i % 6 !== 0 ? 'exited' : 'running',
        }),
      ),
    );
    const asked = clock.stamp();
    let answered = 0;
    const waits = Array.from({ length: count }, async (_unused, i) => {
      const { status } = await pleg.cache.getNewerThan(`p${i}`, asked);
      expect(status.containers).toHaveLength(exited + 1);
      answered++;
    });
    // Nobody reads yet, as after a restart: everything waits.
    const stop = start();
    await clock.advance(3_000);
    expect(answered).toBe(count);
    await Promise.all(waits);
    const { queued } = events.stats;
    expect(queued).toBeLessThanOrEqual(2_001);
    const told = takeAll(events);
    const heard = new Set(told.flatMap((event) => ('pod' in event ? event.pod.uid : [])));
    if (told.some(({ type }) => type === 'Resync')) {
      expect(heard.size).toBeGreaterThan(1_000);
      expect(told.filter(({ type }) => type === 'Resync')).toHaveLength(1);
      expect(told.at(-1)?.type).toBe('Resync');
    } else {
      expect(heard.size).toBe(count);
    }
    expect(new Set(told.map(({ trigger }) => trigger))).toEqual(new Set(['initial']));
    // Later events are published as ever.
    runtime.setContainer('p0', 'p0-c', 'exited', { exitCode: 1 });
    pleg.requestRelist('p0');
    await clock.settle();
    expect(drain(events)).toEqual(['ContainerDied p0 p0-c']);
    expect(runtime.statusCalls()).toBe(count + 1);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
