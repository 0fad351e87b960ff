import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ObservedState, type RuntimeEvent, type ToldStatuses } from '../runtime/runtime.js';
import { aRuntimeEvent } from '../testing/builders.js';
import { drain, podOf, setUpPleg } from '../testing/pleg-harness.js';

const UIDS = ['a', 'b'];
const uid = fc.constantFrom(...UIDS);
const pick = fc.nat(20);
/** What an event tells: nothing, how things are now, or how they were before. */
const news = fc.constantFrom('none' as const, 'now' as const, 'now' as const, 'before' as const);

/** What happens to a pod, and how long nothing does after it. */
const step = fc.record({
  op: fc.oneof(
    { weight: 3, arbitrary: fc.constant('create' as const) },
    { weight: 8, arbitrary: fc.constant('moveOn' as const) },
    { weight: 2, arbitrary: fc.constant('remove' as const) },
    { weight: 1, arbitrary: fc.constantFrom('sandbox' as const, 'limit' as const) },
    { weight: 1, arbitrary: fc.constantFrom('slow' as const, 'break' as const) },
  ),
  ...{ uid, pick, news, afterMs: fc.constantFrom(0, 1, 30, 30, 1_000) },
});

const NEXT: Readonly<Partial<Record<ObservedState, ObservedState>>> = {
  created: 'running',
  running: 'exited',
};
const TYPES: Readonly<Partial<Record<ObservedState, RuntimeEvent['type']>>> = {
  created: 'created',
  running: 'started',
  exited: 'stopped',
};

it('whatever events tell, and however late: the cache has what the runtime would answer, and each end is told once', async () => {
  let used = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(step, { maxLength: 60, size: 'max' }),
      async (believedAfter, steps) => {
        const h = setUpPleg({ mode: 'evented', believedAfter });
        const { runtime, clock, pleg } = h;
        const told: string[] = [];
        let made = 0;
        const states = new Map(UIDS.map((each) => [each, new Map<string, ObservedState>()]));
        for (const each of UIDS) runtime.setPod(podOf(each, {}, { [`${each}-s`]: 'running' }));
        const stop = h.start();
        await clock.advance(2_000);
        for (const { op, uid: podUid, pick: chosen, news: newsKind, afterMs } of steps) {
          const containers = states.get(podUid)!;
          const before = runtime.toldStatuses(podUid);
          const say = (type: RuntimeEvent['type'] | undefined, containerId: string): void => {
            const statuses: ToldStatuses | undefined =
              newsKind === 'now' ? runtime.toldStatuses(podUid) : newsKind === 'before' ? before : undefined;
            const createdAtNs = BigInt(Math.trunc(clock.now())) * 1_000_000n;
            const event = { containerId, podUid, createdAtNs, ...(type && { type }) };
            runtime.emitEvent(aRuntimeEvent({ ...event, ...(statuses && { statuses: () => statuses }) }));
          };
          const [id, state] = [...containers][chosen % Math.max(1, containers.size)] ?? [];
          switch (op) {
            case 'create': {
              const fresh = `${podUid}${made++}`;
              containers.set(fresh, 'created');
              runtime.setContainer(podUid, fresh, 'created', { id: fresh });
              say('created', fresh);
              break;
            }
            case 'moveOn': {
              const next = state && NEXT[state];
              if (id === undefined || next === undefined) break;
              containers.set(id, next);
              runtime.setContainer(podUid, id, next, next === 'exited' ? { exitCode: chosen } : {});
              say(TYPES[next], id);
              break;
            }
            case 'remove':
              if (id === undefined) break;
              containers.delete(id);
              runtime.removeContainer(podUid, id);
              say('deleted', id);
              break;
            case 'sandbox':
              runtime.setSandbox(podUid, 'exited');
              runtime.setSandbox(podUid, 'running', { id: `${podUid}-s${made++}` });
              say('started', `${podUid}-s${made}`);
              break;
            case 'limit':
              // Somebody changes what no list shows: whoever does that asks for a new look at all of it.
              if (id === undefined || state !== 'running') break;
              runtime.setContainer(podUid, id, 'running', { reason: `changed ${made++}` });
              pleg.requestReinspect(podUid);
              pleg.requestRelist(podUid);
              break;
            case 'slow':
              runtime.delayStatus(chosen % 2 === 0 ? 0 : 300, podUid);
              break;
            case 'break':
              runtime.breakEvents(new Error('broke'));
              break;
          }
          if (afterMs > 0) await clock.advance(afterMs);
          told.push(...drain(h.events));
        }
        for (const each of UIDS) runtime.delayStatus(0, each);
        await clock.advance(70_000);
        const last = pleg.relist();
        await clock.advance(1_000);
        await last;
        told.push(...drain(h.events));

        for (const pod of await runtime.listPods()) {
          expect(pleg.cache.get(pod.uid)).toMatchObject({ error: undefined });
          expect(pleg.cache.get(pod.uid).status).toEqual(await runtime.getPodStatus(pod));
        }
        const ends = told.filter((line) => line.startsWith('ContainerDied'));
        expect(new Set(ends).size).toBe(ends.length);
        const exited = [...states.values()]
          .flatMap((each) => [...each])
          .filter(([, state]) => state === 'exited');
        for (const [id] of exited) expect(ends.filter((line) => line.endsWith(` ${id}`))).toHaveLength(1);
        used += pleg.state().inspections.told.used;
        await stop();
        expect(clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 150 },
  );
  // Else this would be a test of something else.
  expect(used).toBeGreaterThan(100);
}, 120_000);
