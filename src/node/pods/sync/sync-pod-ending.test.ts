import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { SyncPodHarness } from '#support/harness/sync-pod-harness.js';
import { type PodStatus } from '../../../watch/observed/runtime.js';
import { readPodParts } from '../loop/read-pod-parts.js';

const NEVER = new AbortController().signal;

let bench: SyncPodHarness;
beforeEach(async () => {
  bench = await SyncPodHarness.open();
});
afterEach(() => bench[Symbol.asyncDispose]());

it('ends a pod at its deadline, and says before when that is', async () => {
  const pod = aSpecPod({ activeDeadlineSeconds: 60 });
  const { requeueAfterMs = 0 } = await bench.sync(pod);
  expect(requeueAfterMs).toBeGreaterThan(59_000);
  expect(requeueAfterMs).toBeLessThanOrEqual(60_000);
  await bench.clock.advance(60_000);
  expect(await bench.sync(pod)).toEqual({ isTerminal: true });
  expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  await bench.end(pod, 30);
  expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
});

describe('a sync that is asked to stop', () => {
  it('starts nothing more once what is under way has settled', async () => {
    const stop = new AbortController();
    const release = bench.runtime.gate('createContainer').hang();
    const pod = aSpecPod({ containers: [aSpecContainer(), aSpecContainer({ name: 'side' })] });
    let isSettled = false;
    const synced = bench.sync(pod, stop.signal).finally(() => (isSettled = true));
    const failed = expect(synced).rejects.toThrow('killed');
    while (bench.runtime.calls.at(-1) !== 'createContainer web-app-0') await bench.clock.settle();
    stop.abort(new Error('killed'));
    await bench.clock.settle();
    expect(isSettled).toBe(false);
    release();
    await failed;
    expect(bench.changes().at(-1)).toBe('createContainer web-app-0');
  });
});

describe('the status of a pod whose sandbox does not end', () => {
  const sidecar = aSpecContainer({ name: 'side', restartPolicy: 'Always' });
  const pods = [
    ['with one container', aSpecPod({})],
    ['with two', aSpecPod({ containers: [aSpecContainer(), aSpecContainer({ name: 'other' })] })],
    ['with a sidecar', aSpecPod({ initContainers: [sidecar] })],
    ['that never restarts', aSpecPod({ restartPolicy: 'Never' })],
  ] as const;
  const running = (): string[] => {
    const { initContainerStatuses = [], containerStatuses } = bench.status();
    return [...initContainerStatuses, ...containerStatuses].flatMap(({ name, state, ready }) =>
      state.running !== undefined || ready ? [name] : [],
    );
  };

  it.each(pods)('says that the containers have ended where that fails: a pod %s', async (_, pod) => {
    for (let step = 0; step < 3; step++) await bench.sync(pod);
    bench.runtime.gate('stopPodSandbox').fail(new Error('the plugin failed'));
    await expect(bench.end(pod, 30)).rejects.toThrow('the plugin failed');
    expect(running()).toEqual([]);
    expect(bench.status().conditions.find(({ type }) => type === 'Ready')?.status).toBe('False');
  });

  it.each(pods)('says so after a second where that hangs: a pod %s', async (_, pod) => {
    for (let step = 0; step < 3; step++) await bench.sync(pod);
    const release = bench.runtime.gate('stopPodSandbox').hang();
    const ended = bench.end(pod, 30);
    while (bench.runtime.calls.at(-1) !== 'stopPodSandbox web-sandbox-0') await bench.clock.settle();
    await bench.clock.advance(1_000);
    while (running().length > 0) await bench.clock.settle();
    release();
    await ended;
  });

  it('says so where one container alone could not be stopped', async () => {
    const pod = aSpecPod({ containers: [aSpecContainer(), aSpecContainer({ name: 'other' })] });
    for (let step = 0; step < 3; step++) await bench.sync(pod);
    bench.runtime.exit('web-app-0');
    bench.runtime.gate('stopContainer').fail(new Error('it hangs'));
    bench.runtime.gate('stopPodSandbox').fail(new Error('it hangs, too'));
    await expect(bench.end(pod, 30)).rejects.toThrow('it hangs');
    expect(running()).toEqual(['other']);
  });

  it('costs no look at the pod where the sandbox ends at once', async () => {
    const pod = aSpecPod({});
    for (let step = 0; step < 3; step++) await bench.sync(pod);
    let looks = 0;
    const findPod = bench.runtime.findPod.bind(bench.runtime);
    bench.runtime.findPod = async (uid) => {
      looks++;
      return await findPod(uid);
    };
    await bench.end(pod, 30);
    expect(looks).toBe(1);
  });
});

describe('a pod that is ended', () => {
  const sidecar = (name: string) => aSpecContainer({ name, restartPolicy: 'Always' });

  it('loses its containers first, then its sidecars in reverse, then its sandbox', async () => {
    const pod = aSpecPod({ initContainers: [sidecar('first'), sidecar('second')] });
    for (let step = 0; step < 4; step++) await bench.sync(pod);
    bench.changes();
    await bench.end(pod, 30);
    expect(bench.changes()).toEqual([
      'stopContainer web-app-0 30',
      'stopContainer web-second-0 30',
      'stopContainer web-first-0 30',
      'stopPodSandbox web-sandbox-0',
    ]);
    expect(bench.probing.slice(-2)).toEqual(['stop', 'remove']);
  });

  it('has each of its containers run its own hook', async () => {
    const withHook = (name: string) => {
      const preStop = { exec: { command: [`bye ${name}`] } };
      return aSpecContainer({ name, lifecycle: { preStop } });
    };
    const pod = aSpecPod({ containers: [withHook('a'), withHook('b'), aSpecContainer({ name: 'c' })] });
    await bench.sync(pod);
    bench.changes();
    await bench.end(pod, 8);
    const hooks = bench.changes().filter((call) => call.startsWith('execSync'));
    expect(hooks.sort()).toEqual(['execSync web-a-0 bye a 8', 'execSync web-b-0 bye b 8']);
  });

  it('is not ended while something of it runs', async () => {
    const pod = aSpecPod();
    await bench.sync(pod);
    bench.runtime.stopContainer = () => Promise.resolve();
    bench.runtime.stopPodSandbox = () => Promise.resolve();
    await expect(bench.end(pod, 5)).rejects.toMatchObject({
      code: 'POD_SYNC_FAILED',
      message: 'detected running containers after a successful KillPod, CRI violation: [{app running}]',
    });
  });

  it('says what cannot be stopped, and still stops the sandbox', async () => {
    const pod = aSpecPod();
    await bench.sync(pod);
    bench.changes();
    bench.runtime.gate('stopContainer').fail(new Error('stuck'));
    await expect(bench.end(pod, 5)).rejects.toThrow(
      'failed to "KillContainer" for "app" with KillContainerError: "stuck"',
    );
    expect(bench.changes()).toEqual(['stopContainer web-app-0 5', 'stopPodSandbox web-sandbox-0']);
    expect(bench.told.at(-1)).toMatch(
      /^Warning - FailedKillPod: error killing pod: failed to "KillContainer"/,
    );
  });

  it('is ended again with less time, while the first try still waits', async () => {
    const pod = aSpecPod();
    await bench.sync(pod);
    bench.changes();
    const release = bench.runtime.gate('stopContainer').hang();
    const stop = new AbortController();
    const first = bench.end(pod, 30, stop.signal);
    const failed = expect(first).rejects.toThrow('shorter');
    while (bench.runtime.calls.length === 0) await bench.clock.settle();
    stop.abort(new Error('shorter'));
    await failed;
    release();
    await bench.end(pod, 2);
    expect(bench.changes()).toEqual([
      'stopContainer web-app-0 30',
      'stopContainer web-app-0 2',
      'stopPodSandbox web-sandbox-0',
    ]);
  });

  it('gives back the rest in the end, and has a last status', async () => {
    const pod = aSpecPod();
    await bench.sync(pod);
    await bench.end(pod, 5);
    const observed = bench.runtime.observe('u1');
    await bench.syncer.syncTerminatedPod({ pod, observed }, NEVER);
    expect(bench.statuses.find('u1')).toMatchObject({ isFinished: true, status: { phase: 'Failed' } });
  });
});

describe('a pod that is ended although the status of a container cannot be had', () => {
  const pod = aSpecPod({
    restartPolicy: 'Never',
    containers: [aSpecContainer(), aSpecContainer({ name: 'side' })],
  });
  const look = () => readPodParts('u1', bench, NEVER);

  /** `side` has ended, and the runtime no longer reports its status. */
  async function breakSide(): Promise<void> {
    const getPodStatus = bench.runtime.getPodStatus.bind(bench.runtime);
    await bench.sync(pod);
    bench.runtime.exit('web-side-0', 3);
    await bench.sync(pod);
    bench.changes();
    bench.runtime.getPodStatus = (named) =>
      named.containers.some(({ id }) => id === 'web-side-0')
        ? Promise.reject(new Error('no such record'))
        : getPodStatus(named);
  }

  it('has its others stopped, and shows of that one what was known of it', async () => {
    await breakSide();
    const work = { pod, observed: await look(), gracePeriodSeconds: 5 };
    await expect(bench.syncer.syncTerminatingPod(work, NEVER)).rejects.toThrow('no such record');
    await bench.syncer.syncTerminatingPod({ ...work, isPartial: true }, NEVER);
    expect(bench.changes()).toContain('stopContainer web-app-0 5');
    expect(bench.runtime.observe('u1').containers.every(({ state }) => state === 'exited')).toBe(true);
    expect(bench.status().phase).toBe('Failed');
    expect(bench.container('app').state.terminated?.exitCode).toBe(143);
    expect(bench.container('side')).toMatchObject({
      ...{ containerID: 'fake://web-side-0', ready: false },
      state: { terminated: { exitCode: 3 } },
    });
  });

  it('has ended by what a list shows when that takes half a minute', async () => {
    await breakSide();
    const getPodStatus = bench.runtime.getPodStatus.bind(bench.runtime);
    const observed = bench.runtime.observe('u1');
    bench.runtime.getPodStatus = async (named) =>
      await getPodStatus(named).catch(() => new Promise<PodStatus>(() => undefined));
    let isOver = false;
    const ended = bench.syncer
      .syncTerminatingPod({ pod, observed, gracePeriodSeconds: 5 }, NEVER)
      .finally(() => (isOver = true));
    while (bench.runtime.calls.at(-1) !== 'stopPodSandbox web-sandbox-0') await bench.clock.settle();
    await bench.clock.advance(29_000);
    expect(isOver).toBe(false);
    await bench.clock.advance(1_000);
    await bench.clock.advance(10_000);
    await ended;
    expect(bench.container('side').state.terminated?.exitCode).toBe(3);
  });

  it('shows that nobody knows how a container ended that was unknown', async () => {
    await breakSide();
    bench.restartAgent();
    const observed = await look();
    await bench.syncer.syncTerminatingPod({ pod, observed, gracePeriodSeconds: 5, isPartial: true }, NEVER);
    await bench.syncer.syncTerminatedPod({ pod, observed: await look() }, NEVER);
    expect(bench.container('side').state.terminated).toMatchObject({
      ...{ exitCode: 137, reason: 'ContainerStatusUnknown', finishedAt: null },
      message: 'The runtime lists the container as exited and does not return its status',
    });
    expect(bench.statuses.find('u1')).toMatchObject({ isFinished: true, status: { phase: 'Failed' } });
  });

  it('is ended also when only the runtime knows it', async () => {
    await breakSide();
    const runningPod = (await bench.runtime.findPod('u1'))!;
    await expect(bench.syncer.syncTerminatingRuntimePod({ runningPod }, NEVER)).rejects.toThrow();
    expect(bench.changes()).toEqual([]);
    await bench.syncer.syncTerminatingRuntimePod({ runningPod, isPartial: true }, NEVER);
    expect(bench.changes()).toEqual(['stopContainer web-app-0 30', 'stopPodSandbox web-sandbox-0']);
  });

  it('is not taken for ended while a list shows that something runs', async () => {
    await breakSide();
    bench.runtime.stopContainer = () => Promise.resolve();
    bench.runtime.stopPodSandbox = () => Promise.resolve();
    const work = { pod, observed: await look(), gracePeriodSeconds: 5, isPartial: true };
    await expect(bench.syncer.syncTerminatingPod(work, NEVER)).rejects.toThrow('{app running}');
  });
});

it('ends a pod that only the runtime knows as its own annotations say', async () => {
  const preStop = { exec: { command: ['bye'] } };
  const pod = aSpecPod({
    terminationGracePeriodSeconds: 17,
    containers: [aSpecContainer({ lifecycle: { preStop } })],
  });
  await bench.sync(pod);
  bench.changes();
  const runningPod = (await bench.runtime.findPod('u1'))!;
  await bench.syncer.syncTerminatingRuntimePod({ runningPod }, NEVER);
  expect(bench.changes()).toEqual([
    'execSync web-app-0 bye 17',
    'stopContainer web-app-0 17',
    'stopPodSandbox web-sandbox-0',
  ]);
});

it('ends a pod that runs once for a failed probe in the grace period of the probe, and says why', async () => {
  const livenessProbe = { exec: { command: ['alive'] }, terminationGracePeriodSeconds: 5 };
  const pod = aSpecPod({
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 3_600,
    initContainers: [aSpecContainer({ name: 'mesh', restartPolicy: 'Always' })],
    containers: [aSpecContainer({ livenessProbe })],
  });
  for (let step = 0; step < 3; step++) await bench.sync(pod);
  bench.changes();
  bench.failedLiveness.add('web-app-0');
  await bench.sync(pod);
  expect(bench.changes()).toEqual([
    'stopContainer web-app-0 5',
    'stopContainer web-mesh-0 3600',
    'stopPodSandbox web-sandbox-0',
  ]);
  expect(bench.told).toContain('Normal app Killing: Container app failed liveness probe');
});
