/**
 * The loop with the parts that it lives between: sources, event generator, workers, housekeeping, runtime state. Only
 * the runtime is a fake, and the hands that change it.
 *
 * @module
 */
import { afterEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { PodConfig, type PodSourcePort } from '../../desired/pod-config.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { Pleg } from '../../../watch/pleg/pleg.js';
import { LABELS } from '../../../watch/observed/labels.js';
import { ownedBy } from '../../../watch/observed/ownership.js';
import { type ObservedPod } from '../../../watch/observed/runtime.js';
import { aPod } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { PushedItems } from '#support/clients/pushed-items.js';
import { type PodSyncer } from '../workers/pod-syncer.js';
import { PodWorkers } from '../workers/pod-workers.js';
import { admitPod, findShortages } from '../admission/admit-pod.js';
import { DesiredPods } from './desired-pods.js';
import { Housekeeping } from './housekeeping.js';
import { RuntimeState } from './runtime-state.js';
import { SyncLoop } from './sync-loop.js';
import { PodHandlers } from './pod-handlers.js';

const NODE = 'node-1';
const ROOM = { pods: 10, cpuMilli: 1_000n, memoryBytes: 1_000n, others: new Map<string, bigint>() };
const labels = { [LABELS.nodeInstance]: NODE };

const cleanups = new DisposalStack();
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

/** Hands that need no time: a pod's one container runs, or has ended. Notes every change that they make. */
class FakeHands implements PodSyncer {
  readonly changes: string[] = [];
  /** What the ends of pods wait for. */
  mayEnd: Promise<void> = Promise.resolve();
  readonly #runtime: FakeRuntime;

  constructor(runtime: FakeRuntime) {
    this.#runtime = runtime;
  }

  syncPod: PodSyncer['syncPod'] = async ({ pod, observed }) => {
    const { uid, name } = pod.metadata;
    if (observed.containers.some(({ state }) => state === 'running'))
      return { isTerminal: false, unchanged: true };
    const attempt = observed.containers.length;
    this.changes.push(`start ${name} ${attempt}`);
    if (attempt === 0) {
      this.#runtime.setPod(aPod({ uid, name, owner: 'podloop', containers: [], sandboxes: [] }));
      this.#runtime.setSandbox(uid, 'running', { id: `${uid}-sandbox`, labels });
    }
    this.#runtime.setContainer(uid, 'main', 'running', { id: `${uid}-${attempt}`, attempt, labels });
    return { isTerminal: false };
  };

  syncTerminatingPod: PodSyncer['syncTerminatingPod'] = async ({ pod, gracePeriodSeconds }) => {
    await this.mayEnd;
    const isThere = (await this.#runtime.listPods()).some(({ uid }) => uid === pod.metadata.uid);
    if (!isThere) return;
    this.#stop(pod.metadata.uid, `stop ${pod.metadata.name} within ${gracePeriodSeconds}`);
  };

  syncTerminatingRuntimePod: PodSyncer['syncTerminatingRuntimePod'] = async ({ runningPod }) => {
    this.#stop(runningPod.uid, `stop ${runningPod.name}`);
  };

  syncTerminatedPod: PodSyncer['syncTerminatedPod'] = async ({ pod }) => {
    this.#runtime.removePod(pod.metadata.uid);
  };

  #stop(uid: string, change: string): void {
    this.changes.push(change);
    this.#runtime.setContainer(uid, 'main', 'exited');
    this.#runtime.setSandbox(uid, 'exited');
  }
}

interface Node {
  readonly clock: FakeClock;
  readonly runtime: FakeRuntime;
  readonly hands: FakeHands;
  readonly workers: PodWorkers;
  readonly source: PodSourcePort;
  readonly logger: LogRecorder;
  /** What waits, and what was rejected, as it is reported. */
  readonly told: readonly string[];
  readonly conditions: { runtimeReady: boolean };
  readonly stop: () => Promise<void>;
}

/** A node agent without its own runtime: a second one on the same runtime is the agent after a restart. */
function runNode(clock = new FakeClock(), runtime = new FakeRuntime({ clock })): Node {
  const logger = new LogRecorder();
  const hands = new FakeHands(runtime);
  const pleg = new Pleg({ runtime, clock, mode: 'generic' });
  const { cache } = pleg;
  const config = new PodConfig({ logger });
  const source = config.addSource('file');
  const desired = new DesiredPods();
  const workers = new PodWorkers({
    ...{ clock, logger, cache, syncer: hands, random: () => 0 },
    requestRelist: (uid) => pleg.requestRelist(uid),
    onTerminatedChanged: (uid) => handlers.podEndChanged(uid),
    onRestartable: () => loop.housekeepSoon(),
  });
  const housekeeping = new Housekeeping({ clock, logger, desired, workers, cache, isOurs: ownedBy(NODE) });
  const told: string[] = [];
  const conditions = { runtimeReady: true };
  const runtimeState = new RuntimeState({
    ...{ clock, logger },
    getConditions: async () => [
      { type: 'RuntimeReady', status: conditions.runtimeReady, reason: '', message: '' },
      { type: 'NetworkReady', status: true, reason: '', message: '' },
    ],
    healthChecks: [{ name: 'PLEG', findProblem: () => pleg.health().message }],
  });
  const seenAllSources = (): boolean => config.seenAllSources();
  const findObserved = (uid: string): ObservedPod | undefined => pleg.findObserved(uid);
  const handlers = new PodHandlers({
    ...{ logger, desired, workers, housekeeping, seenAllSources, findObserved },
    admit: (pod, active) => admitPod(pod, active, ROOM),
    findShortages: (pod, active) => findShortages(pod, active, ROOM),
    onWaiting: (_pod, { message }) => told.push(message),
    onWaitGivenUp: ({ metadata }) => told.push(`${metadata.name} waits no more`),
    onRejected: ({ metadata }, { reason }) => told.push(`${metadata.name} ${reason}`),
  });
  const loop = new SyncLoop({
    ...{ clock, logger, desired, workers, cache, runtimeState, seenAllSources, handlers },
    updates: (signal) => config.updates(signal),
    events: pleg.subscribe(),
    probeResults: new PushedItems(),
    findObserved,
    readiness: { setContainerReadiness: () => false, setContainerStartup: () => false },
    deadContainers: {
      deleteContainersBeyondNewest: ({ status, exitedContainerId }) => {
        const dead = status.containers.filter(
          ({ state, id }) => state === 'exited' && id !== exitedContainerId,
        );
        for (const { id } of dead) runtime.removeContainer(status.uid, id);
      },
    },
  });
  const stopping = new AbortController();
  const running = [pleg.run(stopping.signal), runtimeState.run(stopping.signal), loop.run(stopping.signal)];
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(running);
    await workers.close();
    await housekeeping.close();
    pleg.closeSubscriptions();
  };
  cleanups.defer(stop);
  return { clock, runtime, hands, workers, source, logger, told, conditions, stop };
}

const pods = (...names: string[]): NodePod[] => names.map((name) => aNodePod({ name }));
const statesOf = async (runtime: FakeRuntime): Promise<string[]> =>
  (await runtime.listPods())
    .flatMap(({ containers }) => containers.map(({ id, state }) => `${id} ${state}`))
    .sort();

describe('the sync loop and the parts round it', () => {
  it('run what a source wants, restart what dies, and end what is not wanted any more', async () => {
    const { source, clock, runtime, hands, workers, logger } = runNode();
    await clock.advance(1_000);
    source.deliver(pods('web', 'db'));
    await clock.advance(100);
    expect(await statesOf(runtime)).toEqual(['uid-db-0 running', 'uid-web-0 running']);
    runtime.setContainer('uid-web', 'main', 'exited', { exitCode: 1 });
    await clock.advance(1_100);
    expect(await statesOf(runtime)).toEqual(['uid-db-0 running', 'uid-web-0 exited', 'uid-web-1 running']);
    runtime.setContainer('uid-web', 'main', 'exited', { exitCode: 1 });
    await clock.advance(1_100);
    expect(await statesOf(runtime)).toEqual(['uid-db-0 running', 'uid-web-1 exited', 'uid-web-2 running']);
    source.deliver(pods('db'));
    await clock.advance(3_000);
    expect(await statesOf(runtime)).toEqual(['uid-db-0 running']);
    expect(hands.changes).toEqual([
      'start web 0',
      'start db 0',
      'start web 1',
      'start web 2',
      'stop web within 30',
    ]);
    expect([...workers.phases()]).toEqual([['uid-db', 'syncing']]);
    expect(logger.complaints.map(({ message }) => message)).not.toContain('Error syncing pod, skipping');
  });

  it('leave running pods as they are when the agent starts again, and end those that went meanwhile', async () => {
    const before = runNode();
    before.source.deliver(pods('web', 'db', 'old'));
    await before.clock.advance(5_000);
    before.runtime.setPod(aPod({ name: 'foreign', owner: 'kubernetes' }));
    await before.stop();
    const { clock, runtime, source, hands } = runNode(before.clock, before.runtime);
    await clock.advance(30_000);
    expect(hands.changes).toEqual([]);
    source.deliver(pods('web', 'db'));
    await clock.advance(10_000);
    expect(hands.changes).toEqual(['stop old']);
    expect((await statesOf(runtime)).filter((line) => line.endsWith(' running'))).toEqual([
      ...['uid-db-0 running', 'uid-foreign-main-0 running', 'uid-web-0 running'],
    ]);
  });

  it('do nothing while the runtime is not ready, and catch up afterwards', async () => {
    const { source, clock, runtime, hands, conditions } = runNode();
    source.deliver(pods('web'));
    await clock.advance(2_000);
    conditions.runtimeReady = false;
    await clock.advance(6_000);
    hands.changes.length = 0;
    runtime.setContainer('uid-web', 'main', 'exited');
    source.deliver(pods('web', 'db'));
    await clock.advance(60_000);
    expect(hands.changes).toEqual([]);
    conditions.runtimeReady = true;
    await clock.advance(11_000);
    expect(hands.changes.sort()).toEqual(['start db 0', 'start web 1']);
  });

  it('let a pod that comes again under its uid wait for the end of the one before, and no longer', async () => {
    const { source, clock, runtime, hands } = runNode();
    source.deliver(pods('web'));
    await clock.advance(3_000);
    source.deliver([]);
    await clock.advance(1);
    source.deliver(pods('web'));
    await clock.advance(100);
    expect(hands.changes).toEqual(['start web 0', 'stop web within 30', 'start web 0']);
    expect(await statesOf(runtime)).toEqual(['uid-web-0 running']);
  });

  it('go on with all other pods while the status of one hangs', async () => {
    const { source, clock, runtime, hands } = runNode();
    source.deliver(pods('web', 'stuck'));
    await clock.advance(3_000);
    const letGo = runtime.hangStatus('uid-stuck');
    runtime.setContainer('uid-stuck', 'main', 'exited');
    runtime.setContainer('uid-web', 'main', 'exited');
    await clock.advance(5_000);
    expect(hands.changes.slice(2)).toEqual(['start web 1']);
    letGo();
    await clock.advance(60_000);
    expect(hands.changes.slice(2)).toEqual(['start web 1', 'start stuck 1']);
  });
});

describe('a critical pod for which others are ended', () => {
  const asking = (name: string, more: object = {}): NodePod => {
    const containers = [{ name: 'main', image: 'i', resources: { requests: { cpu: '900m' } } }];
    return aNodePod({ name, source: 'api', spec: { containers, ...more } });
  };
  const high = asking('high', { priority: 2_000_000_000 });
  const higher = asking('higher', { priority: 2_000_000_001 });
  const why = 'Waiting for default/low to end: it still has cpu';

  /** A node on which one pod runs and does not end before it may. */
  async function scene() {
    const node = runNode();
    node.source.deliver([asking('low')]);
    await node.clock.advance(3_000);
    let letGo = (): void => undefined;
    node.hands.mayEnd = new Promise((resolve) => (letGo = resolve));
    return { ...node, letGo };
  }

  it('is begun once they have ended, also when somebody has taken them away meanwhile', async () => {
    const { source, clock, hands, told, letGo } = await scene();
    source.deliver([asking('low'), high]);
    await clock.advance(30_000);
    source.deliver([high]);
    await clock.advance(30_000);
    expect(hands.changes).toEqual(['start low 0']);
    letGo();
    await clock.advance(5_000);
    expect(hands.changes).toEqual(['start low 0', 'stop low within 30', 'start high 0']);
    expect(told).toEqual([why]);
  });

  it('leaves the room to others when it is gone before', async () => {
    const { source, clock, hands, workers, told, letGo } = await scene();
    source.deliver([asking('low'), high]);
    await clock.advance(1_000);
    source.deliver([]);
    await clock.advance(1_000);
    source.deliver([asking('next')]);
    await clock.advance(1_000);
    letGo();
    await clock.advance(5_000);
    expect(hands.changes.filter((change) => change.startsWith('start'))).toEqual([
      'start low 0',
      'start next 0',
    ]);
    expect(told).toEqual([why, why]);
    expect([...workers.phases()]).toEqual([['uid-next', 'syncing']]);
  });

  it('is ended itself for one that is more so, and nothing of it is begun', async () => {
    const { source, clock, hands, told, letGo } = await scene();
    source.deliver([asking('low'), high]);
    await clock.advance(1_000);
    source.deliver([asking('low'), high, higher]);
    await clock.advance(60_000);
    letGo();
    await clock.advance(5_000);
    expect(hands.changes.filter((change) => change.startsWith('start'))).toEqual([
      'start low 0',
      'start higher 0',
    ]);
    const both = 'default/high still has cpu; default/low still has cpu';
    expect(told).toEqual([why, `Waiting for 2 pods to end: ${both}`, 'high waits no more']);
  });
});
