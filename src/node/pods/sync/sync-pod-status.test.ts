import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { summarizePod } from '#kube/columns/summarize-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { ANNOTATIONS } from '../../../watch/observed/labels.js';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { emptyPodStatus, type PodStatus } from '../../../watch/observed/runtime.js';
import { EndedPods } from '../../status/ended-pods.js';
import { type PodEnd } from '../../status/compute-pod-status.js';
import { StartFailures } from '../../status/start-failures.js';
import { StatusManager } from '../../status/status-manager.js';
import { FakeClock } from '#testing/fake-clock.js';
import { somePodActionInputs, type PodActionsBlueprint } from '#support/builders/pod-action-inputs.js';
import { PodStatusUpdater } from './sync-pod-status.js';
import { type StatusStage } from './sync-pod-ports.js';

const HOUR_MS = 3_600_000;
const NO_PROBES = { readiness: () => undefined, started: () => undefined };
const EVICTED: PodEnd = { phase: 'Failed', reason: 'Evicted', message: 'the node was low on memory' };
const REJECTED: PodEnd = { phase: 'Failed', reason: 'NodePorts', message: 'taken' };

let root: string;
let clock: FakeClock;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-statuses-'));
  clock = new FakeClock();
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** What an agent knows of statuses; another one on the same folder knows what is on the disk. */
async function anAgent(
  folder = join(root, 'node'),
  findHeldResize?: () => { reason: string; message: string } | undefined,
) {
  const paths = new PodPaths({ rootDir: folder, podLogsDir: join(folder, 'logs') });
  const endedPods = await EndedPods.open({ paths });
  const manager = new StatusManager({ clock });
  const updater = new PodStatusUpdater({
    ...{ manager, endedPods, paths, clock, probes: NO_PROBES, startFailures: new StartFailures() },
    node: () => ({ hostIps: ['192.0.2.1'], runtimeName: 'fake' }),
    findHeldResize,
  });
  return {
    ...{ folder, paths, endedPods, manager, updater },
    update: async (observed: PodStatus, stage: StatusStage, end?: PodEnd): Promise<V1PodStatus> =>
      (await updater.update(pod, observed, stage, end)).status,
  };
}

const spec = { activeDeadlineSeconds: 60, restartPolicy: 'Always' } as const;
const { pod } = somePodActionInputs({ spec });
const { uid } = pod.metadata;

/** The pod in the runtime, there since the clock began. */
function observed(containers: PodActionsBlueprint['containers']): PodStatus {
  const annotations = { [ANNOTATIONS.podStartTime]: new Date(startedMs).toISOString() };
  return somePodActionInputs({ spec, containers: containers ?? {}, sandboxes: [{ annotations }] }).observed;
}

let startedMs: number;
beforeEach(() => {
  startedMs = clock.now();
});
const RUNNING = { main: {} } as const;
const STOPPED = { main: { state: 'exited', exitCode: 137 } } as const;

describe('a pod that waits before it is begun', () => {
  const why = 'Waiting for default/other to end: it still has cpu';
  const firstState = (status: V1PodStatus | undefined) => status?.containerStatuses[0]?.state;

  it('says so, and goes on from there when it is begun', async () => {
    const { manager, updater, update } = await anAgent();
    updater.showWaiting(pod, emptyPodStatus(uid), why);
    const waiting = manager.find(uid)?.status;
    expect(waiting).toMatchObject({
      phase: 'Pending',
      startTime: new Date(clock.now()).toISOString().slice(0, 19) + 'Z',
    });
    expect(firstState(waiting)).toEqual({ waiting: { reason: 'ContainerCreating', message: why } });
    clock.stall(1_000);
    const begun = await update(emptyPodStatus(uid), 'syncing');
    expect(firstState(begun)).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(begun.startTime).toBe(waiting?.startTime);
  });

  it('has its time counted from when it began to wait, in each life again', async () => {
    const { updater, update } = await anAgent();
    expect(updater.isPastDeadline(pod)).toBe(false);
    updater.showWaiting(pod, emptyPodStatus(uid), why);
    expect(updater.isPastDeadline(pod)).toBe(false);
    clock.stall(59_000);
    expect(updater.isPastDeadline(pod)).toBe(false);
    expect(updater.findDeadlineMs(pod)).toBe(1_000);
    clock.stall(1_000);
    expect(updater.isPastDeadline(pod)).toBe(true);
    const ended = await update(emptyPodStatus(uid), 'syncing');
    expect(ended).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
    updater.renew(uid);
    updater.showWaiting(pod, emptyPodStatus(uid), why);
    expect(updater.isPastDeadline(pod)).toBe(false);
  });

  it('is not shown to have ended before that is on the disk', async () => {
    const { manager, updater } = await anAgent();
    const { pod: job, observed: over } = somePodActionInputs({
      spec: { restartPolicy: 'Never' },
      containers: { main: { state: 'exited' } },
    });
    updater.showWaiting(job, over, why);
    expect(manager.find(uid)).toBeUndefined();
  });
});

describe('a pod that is not to run here', () => {
  it('says why at once, so that it can be said to wait right after that', async () => {
    const { manager, updater, update } = await anAgent();
    updater.showRejection(pod, REJECTED);
    expect(manager.find(uid)).toMatchObject({
      status: { phase: 'Failed', reason: 'NodePorts', containerStatuses: [] },
      isFinished: true,
    });
    manager.forget(uid);
    updater.showWaiting(pod, emptyPodStatus(uid), 'Waiting for default/other to end: it still has cpu');
    expect((await update(emptyPodStatus(uid), 'syncing')).phase).toBe('Pending');
  });

  it('keeps how it ended, and its reason is not taken for an end', async () => {
    const agent = await anAgent();
    await agent.update(observed(RUNNING), 'syncing');
    await agent.update(observed(RUNNING), 'terminating', EVICTED);
    await agent.update(observed(STOPPED), 'terminated', EVICTED);
    const [other, fresh] = [await anAgent(), await anAgent(join(root, 'fresh'))];
    for (const { updater } of [other, fresh]) updater.showRejection(pod, REJECTED);
    expect(other.manager.find(uid)?.status.reason).toBe('Evicted');
    expect(fresh.manager.find(uid)?.status.reason).toBe('NodePorts');
    expect((await anAgent(join(root, 'fresh'))).endedPods.find(uid)).toBeUndefined();
  });
});

describe('an end', () => {
  it('is on disk before anybody hears of it', async () => {
    const agent = await anAgent();
    const seen: [string, boolean][] = [];
    const setPodStatus = agent.manager.setPodStatus.bind(agent.manager);
    agent.manager.setPodStatus = (of, status, stamp) => {
      seen.push([status.phase, existsSync(agent.paths.endFile(uid))]);
      return setPodStatus(of, status, stamp);
    };
    await agent.update(observed(RUNNING), 'syncing');
    clock.stall(60_000);
    await agent.update(observed(RUNNING), 'syncing');
    expect(seen).toEqual([
      ['Running', false],
      ['Failed', true],
    ]);
  });

  it.each([1, 2, 3, 4])(
    'is decided once, whenever the agent is killed and although the clock is set back: after step %d of 4',
    async (steps) => {
      const first = await anAgent();
      await first.update(observed(RUNNING), 'syncing');
      clock.stall(60_000);
      const rest = [
        () => first.update(observed(RUNNING), 'syncing'),
        () => first.update(observed(RUNNING), 'terminating'),
        () => first.update(observed(STOPPED), 'terminating'),
        () => first.update(observed(STOPPED), 'terminated'),
      ];
      for (const step of rest.slice(0, steps)) await step();
      const last = first.manager.find(uid);

      clock.jumpWallClock(-HOUR_MS);
      const second = await anAgent();
      const isThrough = steps === 4;
      const seen = isThrough ? emptyPodStatus(uid) : observed(steps < 3 ? RUNNING : STOPPED);
      const taken = await second.update(seen, 'syncing');
      expect(taken).toMatchObject({
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        startTime: last?.status.startTime,
      });
      if (isThrough)
        expect(second.manager.find(uid)).toMatchObject({ status: last?.status, isFinished: true });
      await second.update(observed(STOPPED), 'terminating');
      const ended = await second.update(observed(STOPPED), 'terminated');
      expect(ended.containerStatuses[0]?.state.terminated?.exitCode).toBe(137);

      clock.jumpWallClock(-HOUR_MS);
      const third = await anAgent();
      expect(await third.update(emptyPodStatus(uid), 'syncing')).toEqual(ended);
    },
  );

  it('that was not decided yet is decided by the next agent, by its own clock', async () => {
    const first = await anAgent();
    await first.update(observed(RUNNING), 'syncing');
    clock.stall(60_000);
    clock.jumpWallClock(-HOUR_MS);
    const second = await anAgent();
    expect((await second.update(observed(RUNNING), 'syncing')).phase).toBe('Running');
  });

  it('is known again from any copy of the folder that was made meanwhile', async () => {
    const first = await anAgent();
    await first.update(observed(RUNNING), 'syncing');
    clock.stall(60_000);
    const copies: string[] = [];
    const working = (async () => {
      await first.update(observed(RUNNING), 'syncing');
      await first.update(observed(STOPPED), 'terminating');
      await first.update(observed(STOPPED), 'terminated');
    })();
    const state = { isOver: false };
    void working.finally(() => (state.isOver = true));
    while (!state.isOver && copies.length < 50) {
      const copy = join(root, `copy-${copies.length}`);
      // A file may go while it is copied: that is no state of the folder.
      const isWhole = await cp(first.folder, copy, { recursive: true }).then(
        () => true,
        () => false,
      );
      if (isWhole) copies.push(copy);
    }
    await working;
    for (const copy of copies) {
      const next = await anAgent(copy);
      const isDecided = next.endedPods.find(uid) !== undefined;
      const status = await next.update(observed(STOPPED), 'syncing');
      if (isDecided) expect(status).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
    }
    expect((await anAgent()).endedPods.find(uid)?.isFinished).toBe(true);
  });
});

describe('what is no end that lasts', () => {
  it.each<[string, readonly [StatusStage, PodEnd | undefined][], boolean]>([
    [
      'a pod that nobody wants any more',
      [
        ['terminating', undefined],
        ['terminated', undefined],
      ],
      false,
    ],
    ['a pod that was rejected', [['terminated', REJECTED]], false],
    [
      'but that of a pod that is put off the node does',
      [
        ['terminating', EVICTED],
        ['terminated', EVICTED],
      ],
      true,
    ],
  ])('%s', async (_what, steps, isKept) => {
    const agent = await anAgent();
    if (steps.length > 1) await agent.update(observed(RUNNING), 'syncing');
    for (const [stage, end] of steps) {
      await agent.update(stage === 'terminated' ? observed(STOPPED) : observed(RUNNING), stage, end);
    }
    expect(agent.manager.find(uid)).toMatchObject({ status: { phase: 'Failed' }, isFinished: true });
    const next = await anAgent();
    expect(next.endedPods.find(uid)?.status.reason).toBe(isKept ? 'Evicted' : undefined);
    expect((await next.update(observed(RUNNING), 'syncing')).phase).toBe(isKept ? 'Failed' : 'Running');
  });
});

it('a pod that restarts waits until its former end is off the disk', async () => {
  const agent = await anAgent();
  clock.stall(60_000);
  await agent.update(observed(RUNNING), 'syncing');
  for (const memory of [agent.updater, agent.endedPods, agent.manager]) memory.forget(uid);
  startedMs = clock.now();
  expect((await agent.update(emptyPodStatus(uid), 'syncing')).phase).toBe('Pending');
  expect(existsSync(agent.paths.endFile(uid))).toBe(false);
});

describe('a pod that the node never took on', () => {
  const rejection = { phase: 'Failed', reason: 'OutOfcpu', message: 'too little cpu' } as const;

  it('has no containers in its status, so that its own reason is what is shown of it', async () => {
    const { manager, updater } = await anAgent();
    updater.showRejection(pod, rejection);
    const { status } = manager.find(uid)!;
    expect(status).toMatchObject({ ...rejection, containerStatuses: [] });
    expect(summarizePod({ spec: pod.spec, status, isTerminating: false })).toMatchObject({
      ...{ status: 'OutOfcpu', ready: 0, total: 1, restarts: 0 },
    });
  });

  it('is distinguished from one that ran and was ended', async () => {
    const agent = await anAgent();
    await agent.update(observed(RUNNING), 'syncing');
    const status = await agent.update(emptyPodStatus(uid), 'terminated', rejection);
    expect(status.containerStatuses[0]?.state.terminated).toBeDefined();
  });

  it('is distinguished from one that ran before it was rejected', async () => {
    const { manager, updater, update } = await anAgent();
    await update(observed(RUNNING), 'syncing');
    updater.showRejection(pod, rejection);
    expect(manager.find(uid)?.status).toMatchObject(rejection);
    expect(manager.find(uid)?.status.containerStatuses[0]?.state.terminated).toBeDefined();
  });
});

it('a pod that is taken away right after an edit that recreates it has ended as its containers did', async () => {
  const { updater } = await anAgent();
  const sandboxes = [{ annotations: { [ANNOTATIONS.podHash]: 'another' } }];
  const before = somePodActionInputs({ sandboxes, containers: RUNNING });
  const after = somePodActionInputs({ sandboxes, containers: { main: { state: 'exited', exitCode: 0 } } });
  await updater.update(after.pod, before.observed, 'terminating');
  const { status } = await updater.update(after.pod, after.observed, 'terminated');
  expect(status.containerStatuses[0]!.state.terminated).toMatchObject({ exitCode: 0 });
  expect(status.phase).toBe('Succeeded');
});

it('a pod whose resize waits says so as long as it does, also when a probe changes its status', async () => {
  const wait = { is: true };
  const message = "Node didn't have enough resource: cpu";
  const agent = await anAgent(undefined, () => (wait.is ? { reason: 'OutOfcpu', message } : undefined));
  const running = observed({ main: { state: 'running' } });
  const pendingOf = ({ conditions }: V1PodStatus) =>
    conditions.find(({ type }) => type === 'PodResizePending');
  const pending = { status: 'True', reason: 'Deferred', message };
  const { containerStatuses } = await agent.update(running, 'syncing');
  expect(pendingOf(agent.manager.find(uid)!.status)).toMatchObject(pending);
  const containerId = containerStatuses[0]!.containerID!.replace(/^.*:\/\//, '');
  agent.manager.setContainerReadiness(uid, containerId, false);
  expect(pendingOf(agent.manager.find(uid)!.status)).toMatchObject(pending);
  wait.is = false;
  expect(pendingOf(await agent.update(running, 'syncing'))).toBeUndefined();
});
