import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ObservedState, type EventStatuses } from '../observed/runtime.js';
import { aRuntimeEvent } from '#testing/builders.js';
import { Believer } from '#support/believer.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { lineOf, podOf, takeAll } from '#support/harness/pleg-harness.js';
import { PodloopError } from '#base/errors/errors.js';
import { type PodLifecycleEvent } from './pod-lifecycle-event.js';
import { Pleg } from './pleg.js';
import { type CachedPod } from './pod-cache.js';
import { PLEG_MODES } from './relist/relist-cadence.js';

const UIDS = ['a', 'b', 'c', 'd'];
const uid = fc.constantFrom(...UIDS);
const pick = fc.nat(50);

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constant('addPod' as const), uid }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('removePod' as const), uid }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('create' as const), uid }) },
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ op: fc.constant('moveOn' as const), uid, pick },
      announced: fc.constantFrom(
        'not' as const,
        'bare' as const,
        'with news' as const,
        'with old news' as const,
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('remove' as const), uid, pick }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('sandbox' as const), uid, ready: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('hangStatus' as const), uid }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('failStatus' as const), uid, away: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('slowStatus' as const),
      uid,
      ms: fc.constantFrom(0, 10, 700, 5_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('hangFind' as const), uid }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constantFrom('hangList' as const, 'failList' as const, 'slowList' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('heal' as const), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('relist' as const),
      abortAfterMs: fc.constantFrom(undefined, 0, 50),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constantFrom(
        'requestRelist' as const,
        'requestReinspect' as const,
        'wait' as const,
        'watch' as const,
      ),
      uid,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('lie' as const),
      uid,
      type: fc.constantFrom('started' as const, 'stopped' as const, 'deleted' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constantFrom(
        'breakEvents' as const,
        'endEvents' as const,
        'stopOrStart' as const,
        'jump' as const,
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('advance' as const),
      ms: fc.constantFrom(0, 1, 30, 400, 1_000, 3_000, 40_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('read' as const), count: fc.nat(4) }) },
);

const NEXT: Readonly<Partial<Record<ObservedState, readonly ObservedState[]>>> = {
  created: ['running', 'exited', 'unknown'],
  unknown: ['running', 'exited'],
  running: ['exited'],
};

it('whatever happens in whatever order: once things settle, every subscriber knows the state of the runtime', async () => {
  let announcedEarly = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...PLEG_MODES),
      fc.integer({ min: 1, max: 2 }),
      fc.constantFrom(1, 2, 8),
      fc.boolean(),
      fc.array(step, { maxLength: 70, size: 'max' }),
      async (mode, inspectConcurrency, believedAfter, answersAsAsked, steps) => {
        const clock = new FakeClock({ settleRounds: 2 });
        const runtime = new FakeRuntime({ clock });
        runtime.answerAsAsked(answersAsAsked);
        const pleg = new Pleg({
          runtime,
          clock,
          mode,
          inspectConcurrency,
          believedAfter,
          inspectDeadlineMs: 20_000,
          random: () => 0.5,
        });
        const careful = pleg.subscribe();
        const careless = pleg.subscribe({ capacity: 2 });
        const all: PodLifecycleEvent[] = [];
        const believers = { careful: new Believer(pleg.cache), careless: new Believer(pleg.cache) };
        const readCareful = (): void => {
          for (const event of takeAll(careful)) {
            all.push(event);
            believers.careful.hear(event);
          }
        };

        let made = 0;
        let heals: (() => void)[] = [];
        const exitCodes = new Map<string, number>();
        const podsNow = new Map<string, Map<string, ObservedState>>();
        const waits: { readonly uid: string; readonly wait: Promise<CachedPod>; ended: boolean }[] = [];
        const relists: Promise<unknown>[] = [];
        const say = (
          podUid: string,
          containerId: string,
          type: 'started' | 'stopped' | 'deleted',
          statuses?: EventStatuses,
        ): void =>
          runtime.emitEvent(
            aRuntimeEvent({
              type,
              containerId,
              podUid,
              createdAtNs: BigInt(Math.trunc(clock.now())) * 1_000_000n,
              ...(statuses && { statuses: () => statuses }),
            }),
          );
        let stopping: AbortController | undefined;
        let running: Promise<void> | undefined;
        const start = (): void => {
          stopping = new AbortController();
          running = pleg.run(stopping.signal);
        };
        const stop = async (): Promise<void> => {
          stopping?.abort(new Error('stopped'));
          await running;
          stopping = undefined;
        };
        start();

        for (const uid of UIDS.slice(0, 3)) {
          const ids = [`x${made++}`, `x${made++}`, `x${made++}`];
          podsNow.set(uid, new Map(ids.map((id, i) => [id, i === 0 ? 'created' : 'running'])));
          runtime.setPod(podOf(uid, Object.fromEntries(podsNow.get(uid)!), { [`s${made++}`]: 'running' }));
        }
        // Events are trusted by the time that things happen.
        const ends = Array.from({ length: believedAfter }, (_, i) => `w${i}`);
        runtime.setPod(podOf('w', Object.fromEntries(ends.map((id) => [id, 'running'])), { w: 'running' }));
        await clock.advance(1_500);
        for (const id of ends) {
          exitCodes.set(id, 0);
          runtime.setContainer('w', id, 'exited');
          say('w', id, 'stopped', runtime.toldStatuses('w'));
          await clock.advance(100);
        }
        runtime.removePod('w');
        for (const one of steps) {
          const pod = 'uid' in one ? podsNow.get(one.uid) : undefined;
          switch (one.op) {
            case 'addPod':
              if (pod !== undefined) break;
              podsNow.set(one.uid, new Map());
              runtime.setPod(podOf(one.uid, {}, { [`s${made++}`]: 'running' }));
              break;
            case 'removePod':
              podsNow.delete(one.uid);
              runtime.removePod(one.uid);
              break;
            case 'create': {
              if (pod === undefined) break;
              const id = `x${made++}`;
              pod.set(id, 'created');
              runtime.setContainer(one.uid, id, 'created', { id });
              break;
            }
            case 'moveOn': {
              const [id, state] = [...(pod ?? [])][one.pick % Math.max(1, pod?.size ?? 0)] ?? [];
              const next = state && NEXT[state];
              if (id === undefined || next === undefined) break;
              const to = next[one.pick % next.length]!;
              exitCodes.set(id, one.pick);
              pod!.set(id, to);
              const oldNews = runtime.toldStatuses(one.uid);
              runtime.setContainer(one.uid, id, to, { exitCode: one.pick });
              if (one.announced !== 'not' && to !== 'unknown') {
                const news = one.announced === 'with news' ? runtime.toldStatuses(one.uid) : oldNews;
                const type = to === 'running' ? 'started' : 'stopped';
                say(one.uid, id, type, one.announced === 'bare' ? undefined : news);
              }
              break;
            }
            case 'remove': {
              const id = [...(pod?.keys() ?? [])][one.pick % Math.max(1, pod?.size ?? 0)];
              if (id === undefined) break;
              pod!.delete(id);
              runtime.removeContainer(one.uid, id);
              break;
            }
            case 'sandbox': {
              if (pod === undefined) break;
              if (one.ready) runtime.setSandbox(one.uid, 'running', { id: `s${made++}` });
              else if (made > 0) runtime.setSandbox(one.uid, 'exited');
              break;
            }
            case 'hangStatus':
              heals.push(runtime.hangStatus(one.uid));
              break;
            case 'failStatus':
              runtime.failStatus(
                one.uid,
                one.away ? new PodloopError('CRI_UNAVAILABLE', 'away') : new Error('sick'),
              );
              heals.push(() => runtime.failStatus(one.uid, undefined));
              break;
            case 'slowStatus':
              runtime.delayStatus(one.ms, one.uid);
              heals.push(() => runtime.delayStatus(0, one.uid));
              break;
            case 'hangFind':
              heals.push(runtime.hangFind(one.uid));
              break;
            case 'hangList':
              heals.push(runtime.hangList());
              break;
            case 'failList':
              runtime.failList(new Error('list is sick'));
              heals.push(() => runtime.failList(undefined));
              break;
            case 'slowList':
              runtime.delayList(300);
              heals.push(() => runtime.delayList(0));
              break;
            case 'heal':
              for (const heal of heals.splice(one.pick % Math.max(1, heals.length), 1)) heal();
              break;
            case 'relist': {
              const aborting = new AbortController();
              relists.push(pleg.relist(aborting.signal).catch(() => undefined));
              if (one.abortAfterMs !== undefined) {
                await clock.advance(one.abortAfterMs);
                aborting.abort(new Error('half way'));
              }
              break;
            }
            case 'requestRelist':
              pleg.requestRelist(one.uid);
              break;
            case 'requestReinspect':
              pleg.requestReinspect(one.uid);
              break;
            case 'wait': {
              const entry = {
                uid: one.uid,
                wait: pleg.cache.getNewerThan(one.uid, clock.stamp()),
                ended: false,
              };
              void entry.wait.then(() => (entry.ended = true));
              waits.push(entry);
              break;
            }
            case 'watch':
              pleg.watchCondition(one.uid, 'k', ({ containers }) => containers.length > 2);
              break;
            case 'lie':
              say(one.uid, [...(pod?.keys() ?? [])][0] ?? 'nobody', one.type);
              break;
            case 'breakEvents':
              runtime.breakEvents(new Error('broke'));
              break;
            case 'endEvents':
              runtime.endEvents();
              break;
            case 'jump':
              clock.jumpWallClock(-3_600_000);
              break;
            case 'stopOrStart':
              if (stopping === undefined) start();
              else await stop();
              break;
            case 'advance':
              await clock.advance(one.ms);
              readCareful();
              break;
            case 'read':
              for (let i = 0; i < one.count; i++) {
                const event = careless.take();
                if (event !== undefined) believers.careless.hear(event);
              }
              break;
          }
        }

        // Everything recovers and settles.
        if (stopping === undefined) start();
        for (const heal of heals) heal();
        heals = [];
        await clock.advance(60_000);
        const last = pleg.relist();
        await clock.advance(40_000);
        await Promise.all([last, ...relists]);
        // One inspection ends in each turn of the event loop, and a clock that stands still allows few turns.
        for (const _ of UIDS) await clock.settle();
        readCareful();
        for (const event of takeAll(careless)) believers.careless.hear(event);

        const truth = new Map<string, { state: ObservedState; uid: string }>();
        for (const pod of await runtime.listPods()) {
          for (const { id, state } of [...pod.containers, ...pod.sandboxes])
            truth.set(id, { state, uid: pod.uid });
        }
        for (const [name, { believed }] of Object.entries(believers)) {
          const known = new Map([...believed.values()].flatMap((pod) => [...pod]));
          for (const [id, { state }] of truth) {
            if (state === 'running' || state === 'exited')
              expect(known.get(id), `${name}: ${id}`).toBe(state);
          }
          for (const [id, told] of known) if (!truth.has(id)) expect(told, `${name}: ${id}`).toBe('gone');
        }

        // Nothing is published twice or in the wrong order.
        const lives = new Map<string, string>();
        for (const event of all) {
          if (!('containerId' in event)) continue;
          const { containerId, type } = event;
          lives.set(containerId, `${lives.get(containerId) ?? ''}${type.slice(9, 10)}`);
          if (event.kind === 'container' && event.exitCode !== undefined) {
            expect(event.exitCode, lineOf(event)).toBe(exitCodes.get(containerId));
          }
        }
        for (const [id, life] of lives) expect(life, id).toMatch(/^S?(D?R?)$/);

        // Nothing is stored of what is gone, nobody waits, and no timer is left.
        expect(pleg.state()).toMatchObject({
          pods: podsNow.size,
          inspections: { due: 0, queued: 0 },
          inspectionsInFlight: [],
          requests: { queued: 0 },
        });
        expect([...pleg.cache.uids()].sort()).toEqual([...podsNow.keys()].sort());
        for (const { ended, uid: waiting } of waits) expect(ended, `wait for ${waiting}`).toBe(true);
        expect(pleg.cache.waiting).toBe(0);
        expect(pleg.health()).toMatchObject({ healthy: true, stuckPods: [] });
        announcedEarly += pleg.state().inspections.announcedEarly;
        await stop();
        expect(clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 150 },
  );
  expect(announcedEarly).toBeGreaterThan(0);
}, 120_000);
