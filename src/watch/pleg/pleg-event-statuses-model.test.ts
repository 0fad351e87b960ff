import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type ContainerStatus,
  type ObservedState,
  type RuntimeEvent,
  type EventStatuses,
} from '../observed/runtime.js';
import { aRuntimeEvent } from '#testing/builders.js';
import { drain, podOf, setUpPleg } from '#support/harness/pleg-harness.js';
import { type Subscription } from './subscription.js';

const UIDS = ['a', 'b'];
const uid = fc.constantFrom(...UIDS);
const pick = fc.nat(20);
/** The status in an event: none, the present one, or the one before. */
const news = fc.constantFrom('none' as const, 'now' as const, 'now' as const, 'before' as const);

/** What happens to a pod, and how long nothing happens after it. */
const step = fc.record({
  op: fc.oneof(
    { weight: 3, arbitrary: fc.constant('create' as const) },
    { weight: 8, arbitrary: fc.constant('moveOn' as const) },
    { weight: 2, arbitrary: fc.constant('remove' as const) },
    { weight: 1, arbitrary: fc.constantFrom('sandbox' as const, 'limit' as const) },
    { weight: 1, arbitrary: fc.constantFrom('slow' as const, 'break' as const) },
    { weight: 2, arbitrary: fc.constantFrom('slowList' as const, 'wait' as const) },
  ),
  ...{ uid, pick, news, afterMs: fc.constantFrom(0, 1, 30, 30, 1_000) },
  /** How late an event comes after it was made. */
  lateMs: fc.constantFrom(0, 0, 0, 0, 5, 60, 700, 3_000),
  /** How long after the event of an exit the runtime's answers show it. */
  aheadMs: fc.constantFrom(0, 0, 0, 10, 100, 1_500),
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

const RANK: Readonly<Record<ObservedState, number>> = { unknown: 0, created: 0, running: 1, exited: 2 };

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Steps after which an event's status was used that is older than the inspection before it. */
const changedBehindEvent: Step[] = (
  [
    ['remove', 'a', 0, 'none', 0],
    ['remove', 'a', 0, 'none', 0],
    ['slowList', 'a', 15, 'none', 30],
    ['moveOn', 'a', 0, 'none', 30],
    ['moveOn', 'a', 0, 'none', 30],
    ['create', 'a', 0, 'none', 0],
    ['create', 'b', 0, 'none', 30],
    ['moveOn', 'a', 0, 'none', 30],
    ['moveOn', 'a', 0, 'none', 30],
    ['moveOn', 'a', 0, 'none', 30],
    ['moveOn', 'b', 0, 'now', 0],
    ['moveOn', 'a', 0, 'none', 1_000],
    ['moveOn', 'a', 15, 'now', 0],
    ['limit', 'a', 13, 'none', 0],
  ] as const
).map(([op, podUid, at, says, afterMs]) => ({
  ...{ op, uid: podUid, pick: at, news: says },
  ...{ afterMs, lateMs: 0, aheadMs: 0 },
}));

/** The status that the runtime will show once the container has ended. */
function ended(status: ContainerStatus, exitCode: number, finishedAtNs: bigint): ContainerStatus {
  const reason = status.reason === '' ? (exitCode === 0 ? 'Completed' : 'Error') : status.reason;
  return { ...status, state: 'exited', exitCode, finishedAtNs, reason };
}

it('whatever events say, and however late: the cache has what the runtime would answer, and each exit is published once', async () => {
  let used = 0;
  let announcedEarly = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      fc.array(step, { maxLength: 60, size: 'max' }),
      async (believedAfter, answersAsAsked, steps) => {
        const h = setUpPleg({ mode: 'evented', believedAfter });
        const { runtime, clock, pleg } = h;
        runtime.answerAsAsked(answersAsAsked);
        const told: string[] = [];
        const wrong: string[] = [];
        const dead = new Map<string, string>();
        const removed = new Set<string>();
        const ending = new Set<string>();
        let made = 0;
        const states = new Map(
          UIDS.map((each) => {
            const ids = ['v', 'w', 'x', 'y', 'z'].map((id) => `${each}-${id}`);
            return [each, new Map<string, ObservedState>(ids.map((id) => [id, 'running']))];
          }),
        );
        /** Nothing goes back: what has died is dead in the cache when the event is read, and ever after. */
        const expectDead = (): void => {
          for (const [id, podUid] of dead) {
            const cached = pleg.cache.get(podUid).status.containers.find((each) => each.id === id);
            if (cached !== undefined && cached.state !== 'exited') {
              wrong.push(`${id} has died and is ${cached.state}`);
            }
          }
        };
        const readAtOnce = async (events: Subscription): Promise<void> => {
          for await (const event of events) {
            if (event.type === 'ContainerDied' && event.kind === 'container') {
              dead.set(event.containerId, event.pod.uid);
            }
            expectDead();
          }
        };
        const eager = pleg.subscribe();
        const reading = readAtOnce(eager);
        /** A status newer than now shows at least the present state. */
        const wait = async (podUid: string): Promise<void> => {
          const now = [...states.get(podUid)!];
          const gone = new Set(removed);
          const { status } = await pleg.cache.getNewerThan(podUid, clock.stamp());
          const shown = new Map(status.containers.map(({ id, state }) => [id, state]));
          for (const [id, state] of now) {
            const newer = shown.get(id);
            if (newer === undefined ? !removed.has(id) : RANK[newer] < RANK[state]) {
              wrong.push(`${id} was ${state} before it was ${newer}`);
            }
          }
          for (const id of shown.keys()) if (gone.has(id)) wrong.push(`${id} was gone and is back`);
        };
        const waits: Promise<void>[] = [];
        for (const each of UIDS) {
          runtime.setPod(podOf(each, Object.fromEntries(states.get(each)!), { [`${each}-s`]: 'running' }));
        }
        const stop = h.start();
        await clock.advance(2_000);
        for (const { op, uid: podUid, pick: chosen, news: newsKind, afterMs, lateMs, aheadMs } of steps) {
          const containers = states.get(podUid)!;
          const before = runtime.toldStatuses(podUid);
          const createdAtNs = BigInt(Math.trunc(clock.now())) * 1_000_000n;
          const say = (
            type: RuntimeEvent['type'] | undefined,
            containerId: string,
            now = runtime.toldStatuses(podUid),
          ): void => {
            const statuses: EventStatuses | undefined =
              newsKind === 'now' ? now : newsKind === 'before' ? before : undefined;
            const event = { containerId, podUid, createdAtNs, ...(type && { type }) };
            const emit = (): void =>
              runtime.emitEvent(aRuntimeEvent({ ...event, ...(statuses && { statuses: () => statuses }) }));
            if (lateMs === 0) emit();
            else clock.setTimer(lateMs, emit);
          };
          const sayAndEnd = (containerId: string): void => {
            ending.add(containerId);
            const { sandboxes, containers: all } = before!;
            const end = (status: ContainerStatus): ContainerStatus =>
              status.id === containerId ? ended(status, chosen, createdAtNs) : status;
            say('stopped', containerId, { sandboxes, containers: all.map(end) });
            clock.setTimer(aheadMs, () => {
              if (!containers.has(containerId)) return;
              containers.set(containerId, 'exited');
              const facts = { exitCode: chosen, finishedAtNs: createdAtNs };
              runtime.setContainer(podUid, containerId, 'exited', facts);
            });
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
              if (id === undefined || next === undefined || ending.has(id)) break;
              if (next === 'exited' && aheadMs > 0) {
                sayAndEnd(id);
                break;
              }
              containers.set(id, next);
              runtime.setContainer(podUid, id, next, next === 'exited' ? { exitCode: chosen } : {});
              say(TYPES[next], id);
              break;
            }
            case 'remove':
              if (id === undefined) break;
              containers.delete(id);
              removed.add(id);
              runtime.removeContainer(podUid, id);
              say('deleted', id);
              break;
            case 'sandbox':
              runtime.setSandbox(podUid, 'exited');
              runtime.setSandbox(podUid, 'running', { id: `${podUid}-s${made++}` });
              say('started', `${podUid}-s${made}`);
              break;
            case 'limit':
              // A change that no list shows: whoever makes it requests a full re-inspection.
              if (id === undefined || state !== 'running' || ending.has(id)) break;
              runtime.setContainer(podUid, id, 'running', { reason: `changed ${made++}` });
              pleg.requestReinspect(podUid);
              pleg.requestRelist(podUid);
              break;
            case 'slow':
              runtime.delayStatus(chosen % 2 === 0 ? 0 : 300, podUid);
              break;
            case 'slowList':
              runtime.delayList(chosen % 2 === 0 ? 0 : 400);
              break;
            case 'wait':
              waits.push(wait(podUid));
              break;
            case 'break':
              runtime.breakEvents(new Error('broke'));
              break;
          }
          if (afterMs > 0) await clock.advance(afterMs);
          expectDead();
          told.push(...drain(h.events));
        }
        for (const each of UIDS) runtime.delayStatus(0, each);
        runtime.delayList(0);
        await clock.advance(70_000);
        const last = pleg.relist();
        await clock.advance(1_000);
        await last;
        told.push(...drain(h.events));
        await Promise.all(waits);
        expectDead();
        expect(wrong).toEqual([]);

        for (const pod of await runtime.listPods()) {
          expect(pleg.cache.get(pod.uid)).toMatchObject({ error: undefined });
          expect(pleg.cache.get(pod.uid).status).toEqual(await runtime.getPodStatus(pod));
        }
        // No container has a second life, nor is anything but PodSync published twice.
        const lives = told.filter((line) => !line.startsWith('PodSync'));
        expect(new Set(lives).size).toBe(lives.length);
        const ends = told.filter((line) => line.startsWith('ContainerDied'));
        const exited = [...states.values()]
          .flatMap((each) => [...each])
          .filter(([, state]) => state === 'exited');
        for (const [id] of exited) expect(ends.filter((line) => line.endsWith(` ${id}`))).toHaveLength(1);
        used += pleg.state().inspections.told.used;
        announcedEarly += pleg.state().inspections.announcedEarly;
        await stop();
        eager.close();
        await reading;
        expect(clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 600, examples: [[1, true, changedBehindEvent]] },
  );
  // Otherwise this would test something else.
  expect(used).toBeGreaterThan(100);
  expect(announcedEarly).toBeGreaterThan(100);
}, 120_000);
