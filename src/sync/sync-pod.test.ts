import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImageManager } from '../images/image-manager.js';
import { type PodObjects } from '../model/config-object.js';
import { type Container } from '../model/container.js';
import { type NodePod } from '../model/node-pod.js';
import { type PodEvent } from '../model/pod-event-recorder.js';
import { type PodSpec } from '../model/pod.js';
import { type V1ContainerStatus, type V1PodStatus } from '../model/v1-pod-status.js';
import { type PodStatus } from '../runtime/runtime.js';
import { PodPaths } from '../runtime/pod-paths.js';
import { StartFailures } from '../status/start-failures.js';
import { StatusManager } from '../status/status-manager.js';
import { FakeRuntimeChanges } from '../testing/fake-runtime-changes.js';
import { FakeClock } from '../testing/index.js';
import { LogRecorder } from '../testing/log-recorder.js';
import { aNodePod, aSpecContainer, someNodeFacts } from '../testing/node-pods.js';
import { NO_OBJECTS, someEnvironments } from '../testing/some-environments.js';
import { PodloopError } from '../util/errors.js';
import { type SyncPodResult } from '../workers/pod-syncer.js';
import { ContainerResizes } from './container-resizes.js';
import { SyncPod } from './sync-pod.js';
import { PodPlanner } from './sync-pod-planner.js';
import { PodStatusUpdater } from './sync-pod-status.js';

const NEVER = new AbortController().signal;

/** A node in memory, on which one pod at a time is synced. */
class Bench implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly runtime = new FakeRuntimeChanges({ clock: this.clock });
  readonly logger = new LogRecorder();
  readonly statuses = new StatusManager({ clock: this.clock });
  readonly told: string[] = [];
  readonly probing: string[] = [];
  networkProblem: string | undefined;
  /** What the last sync was given. */
  observed: PodStatus | undefined;
  volumeProblem: Error | undefined;
  failedLiveness = new Set<string>();
  tornDown = 0;
  memoryUsage = 0n;
  readonly limited: string[] = [];
  readonly syncer: SyncPod;
  /** What pods find; a test puts it in. */
  readonly referred: string[] = [];
  readonly objects: { -readonly [Name in keyof PodObjects]: PodObjects[Name] } = { ...NO_OBJECTS };

  constructor(readonly folder: string) {
    const { clock, runtime } = this;
    const record = (_pod: unknown, { type, reason, message, container }: PodEvent): void => {
      this.told.push(`${type} ${container ?? '-'} ${reason}: ${message}`);
    };
    const paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
    const probes = {
      hasFailedLiveness: (id: string) => this.failedLiveness.has(id),
      hasFailedStartup: () => false,
      hasStarted: () => true,
      // What an earlier agent has found out is known once the pod is probed again.
      readiness: () => (this.probing.includes('add') ? true : undefined),
      started: () => (this.probing.includes('add') ? true : undefined),
    };
    const startFailures = new StartFailures();
    const resizes = new ContainerResizes({ node: () => someNodeFacts() });
    const common = { paths, clock, startFailures };
    this.syncer = new SyncPod({
      ...{ ...common, changes: runtime, commands: runtime, runtime, events: { record }, logger: this.logger },
      images: new ImageManager({ changes: runtime, events: { record }, clock }),
      volumes: {
        setUp: () =>
          this.volumeProblem === undefined ? Promise.resolve() : Promise.reject(this.volumeProblem),
        mountsFor: () => Promise.resolve([{ containerPath: '/data', hostPath: '/host', readOnly: true }]),
        tearDown: () => {
          this.tornDown++;
          return Promise.resolve();
        },
      },
      environments: someEnvironments(this.objects),
      referents: {
        fetchForVolumes: (pod) => Promise.resolve(void this.referred.push(`volumes of ${pod.metadata.uid}`)),
        fetchForContainer: (_pod, { name }) => Promise.resolve(void this.referred.push(`container ${name}`)),
        getRuntimeHandler: (pod) => {
          this.referred.push(`handler of ${pod.metadata.uid}`);
          const { runtimeClassName = '' } = pod.spec;
          if (runtimeClassName === 'none') return Promise.reject(new Error('there is no such class'));
          return Promise.resolve(runtimeClassName && 'runsc');
        },
        forget: (uid) => void this.referred.push(`forget ${uid}`),
      },
      probes: {
        addPod: () => void this.probing.push('add'),
        stopLivenessAndStartup: () => void this.probing.push('stop'),
        removePod: () => void this.probing.push('remove'),
      },
      statuses: new PodStatusUpdater({
        ...{ ...common, manager: this.statuses, probes },
        node: () => ({ hostIps: ['192.0.2.1'], runtimeName: 'fake' }),
      }),
      planner: new PodPlanner({ clock, probes, resizes }),
      resizes,
      memoryUsage: () => Promise.resolve(this.memoryUsage),
      podLimits: {
        grow: () => Promise.resolve(void this.limited.push('grow')),
        settle: () => Promise.resolve(void this.limited.push('settle')),
      },
      baselines: { keep: () => Promise.resolve() },
      networkProblem: () => this.networkProblem,
      node: () => someNodeFacts(),
    });
    runtime.addImage('registry.example/app:1');
  }

  async sync(pod: NodePod, signal = NEVER): Promise<SyncPodResult> {
    const observed = this.runtime.observe(pod.metadata.uid);
    this.observed = observed;
    return await this.syncer.syncPod({ reason: 'sync', pod, observed }, signal);
  }

  async end(pod: NodePod, gracePeriodSeconds: number, signal = NEVER): Promise<void> {
    const observed = this.runtime.observe(pod.metadata.uid);
    await this.syncer.syncTerminatingPod({ pod, observed, gracePeriodSeconds }, signal);
  }

  /** What was changed since the last call, without commands and images. */
  changes(): string[] {
    const changes = this.runtime.calls.filter((call) => !/^(?:findImage|pullImage)/.test(call));
    this.runtime.calls.length = 0;
    return changes;
  }

  status(uid = 'u1'): V1PodStatus {
    return this.statuses.find(uid)!.status;
  }

  container(name: string): V1ContainerStatus {
    const { initContainerStatuses = [], containerStatuses } = this.status();
    return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name)!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

let bench: Bench;
beforeEach(async () => {
  bench = new Bench(await mkdtemp(join(tmpdir(), 'podloop-bench-')));
});
afterEach(() => bench[Symbol.asyncDispose]());

describe('a pod that is new', () => {
  it('gets its sandbox, then its containers in order, and nothing more the next time', async () => {
    const pod = aNodePod({ containers: [aSpecContainer(), aSpecContainer({ name: 'side' })] });
    expect(await bench.sync(pod)).toEqual({ isTerminal: false });
    expect(bench.changes()).toEqual([
      'runPodSandbox web-sandbox-0',
      'createContainer web-app-0',
      'startContainer web-app-0',
      'createContainer web-side-0',
      'startContainer web-side-0',
    ]);
    expect(bench.told.slice(0, 3)).toEqual([
      'Normal app Pulled: Container image "registry.example/app:1" already present on machine and can be accessed by the pod',
      'Normal app Created: Container created',
      'Normal app Started: Container started',
    ]);
    expect(bench.logger.lines.map(({ message }) => message)).toContain(
      'No sandbox for pod can be found. Need to start a new one',
    );
    expect(bench.probing).toEqual(['add']);
    expect(await bench.sync(pod)).toEqual({ isTerminal: false, unchanged: true });
    expect(bench.changes()).toEqual([]);
    expect(bench.status().phase).toBe('Running');
  });

  it('need not be synced again once there was nothing to do, until something has changed', async () => {
    const pod = aNodePod({ volumes: [] });
    await bench.sync(pod);
    expect(bench.syncer.isSettled(pod, bench.observed!)).toBe(false);
    await bench.sync(pod);
    const observed = bench.observed!;
    expect(bench.syncer.isSettled(pod, observed)).toBe(true);
    expect(bench.syncer.isSettled({ ...pod }, observed)).toBe(false);
    expect(bench.syncer.isSettled(pod, { ...observed })).toBe(false);
    bench.networkProblem = 'cni plugin not initialized';
    expect(bench.syncer.isSettled(pod, observed)).toBe(false);
    await expect(bench.sync(pod)).rejects.toMatchObject({ code: 'NETWORK_NOT_READY' });
    bench.networkProblem = undefined;
    expect(bench.syncer.isSettled(pod, bench.observed!)).toBe(false);
  });

  it('has its volumes, its /etc/hosts and the file for its last words mounted', async () => {
    await bench.sync(aNodePod());
    const { mounts } = bench.runtime.configOf('web-app-0');
    expect(mounts.map(({ containerPath, hostPath }) => [containerPath, hostPath])).toEqual([
      ['/data', '/host'],
      ['/etc/hosts', join(bench.folder, 'root/pods/u1/etc-hosts')],
      ['/dev/termination-log', join(bench.folder, 'root/pods/u1/containers/app/0')],
    ]);
  });

  it('has nothing mounted over what the manifest mounts there itself', async () => {
    await bench.sync(aNodePod({ containers: [aSpecContainer({ terminationMessagePath: '/data' })] }));
    const { mounts } = bench.runtime.configOf('web-app-0');
    expect(mounts.map(({ containerPath }) => containerPath)).toEqual(['/data', '/etc/hosts']);
  });

  it('runs its init containers one after the other, and then the rest', async () => {
    const init = [aSpecContainer({ name: 'one' }), aSpecContainer({ name: 'two' })];
    const pod = aNodePod({ initContainers: init });
    await bench.sync(pod);
    expect(bench.changes().at(-1)).toBe('startContainer web-one-0');
    await bench.sync(pod);
    expect(bench.changes()).toEqual([]);
    bench.runtime.exit('web-one-0');
    await bench.sync(pod);
    expect(bench.changes()).toEqual(['createContainer web-two-0', 'startContainer web-two-0']);
    bench.runtime.exit('web-two-0');
    await bench.sync(pod);
    expect(bench.changes()).toEqual(['createContainer web-app-0', 'startContainer web-app-0']);
  });

  it('waits while the network is not ready, unless it is on the node’s', async () => {
    bench.networkProblem = 'cni plugin not initialized';
    await expect(bench.sync(aNodePod())).rejects.toMatchObject({ code: 'NETWORK_NOT_READY' });
    expect(bench.told).toEqual([
      'Warning - NetworkNotReady: network is not ready: cni plugin not initialized',
    ]);
    expect(bench.changes()).toEqual([]);
    await bench.sync(aNodePod({ hostNetwork: true }));
    expect(bench.changes()).toHaveLength(3);
  });

  it('waits for its volumes', async () => {
    bench.volumeProblem = new Error('MountVolume.SetUp failed for volume "v" : gone');
    await expect(bench.sync(aNodePod())).rejects.toThrow('volume "v"');
    expect(bench.changes()).toEqual([]);
    bench.volumeProblem = undefined;
    await bench.sync(aNodePod());
    expect(bench.changes()).toHaveLength(3);
  });

  it('says that its sandbox cannot be made', async () => {
    bench.runtime.gate('runPodSandbox').fail(new Error('no address left'));
    await expect(bench.sync(aNodePod())).rejects.toMatchObject({
      code: 'POD_SYNC_FAILED',
      message:
        'failed to "CreatePodSandbox" for "web_default(u1)" with CreatePodSandboxError: "Failed to create sandbox for pod \\"web_default(u1)\\": no address left"',
    });
    expect(bench.told).toEqual([
      'Warning - FailedCreatePodSandBox: Failed to create pod sandbox: no address left',
    ]);
  });
});

describe('a pod whose sandbox is being made', () => {
  const lookups = (): string[] => bench.runtime.calls.filter((call) => call.startsWith('findImage'));

  it('has the image of its first container looked for, and is told of it afterwards', async () => {
    const release = bench.runtime.gate('runPodSandbox').hang();
    const other = aSpecContainer({ name: 'side', image: 'registry.example/app:1' });
    const synced = bench.sync(aNodePod({ containers: [aSpecContainer(), other] }));
    while (lookups().length === 0) await bench.clock.settle();
    await bench.clock.settle();
    expect(bench.referred.at(-1)).toBe('container app');
    expect(bench.told).toEqual([]);
    release();
    await synced;
    expect(bench.told.map((line) => line.split(':')[0])).toEqual(
      ['app', 'side'].flatMap((name) =>
        ['Pulled', 'Created', 'Started'].map((reason) => `Normal ${name} ${reason}`),
      ),
    );
    // Once for each container.
    expect(lookups()).toHaveLength(2);
    expect(bench.referred.filter((each) => each.startsWith('container'))).toHaveLength(2);
  });

  it('hears nothing of an image when there is no sandbox', async () => {
    bench.runtime.gate('runPodSandbox').fail(new Error('no network'));
    bench.runtime.gate('findImage').fail(new Error('broken'));
    await expect(bench.sync(aNodePod())).rejects.toThrow('no network');
    await bench.clock.settle();
    expect(bench.told).toEqual([
      'Warning - FailedCreatePodSandBox: Failed to create pod sandbox: no network',
    ]);
  });
});

describe('a container that does not start', () => {
  it('holds up no other, and shows why', async () => {
    const missing = aSpecContainer({ name: 'missing', image: 'registry.example/none:1' });
    const pod = aNodePod({ containers: [missing, aSpecContainer()] });
    await expect(bench.sync(pod)).rejects.toThrow(
      /^failed to "StartContainer" for "missing" with ErrImagePull: /,
    );
    expect(bench.changes().at(-1)).toBe('startContainer web-app-0');
    expect(bench.container('missing').state.waiting?.reason).toBe('ErrImagePull');
    expect(bench.told).toContain('Warning missing Failed: Error: ErrImagePull');
    const { requeueAfterMs } = await bench.sync(pod);
    expect(requeueAfterMs).toBe(10_000);
    expect(bench.container('missing').state.waiting?.reason).toBe('ImagePullBackOff');
    bench.runtime.allowPull('registry.example/none:1');
    await bench.clock.advance(10_000);
    expect(await bench.sync(pod)).toEqual({ isTerminal: false });
    await bench.sync(pod);
    expect(bench.container('missing').state.running).toBeDefined();
  });

  it('holds up those after it when it is an init container', async () => {
    bench.runtime.gate('createContainer').fail(new Error('no room'));
    const pod = aNodePod({ initContainers: [aSpecContainer({ name: 'one' })] });
    await expect(bench.sync(pod)).rejects.toThrow(
      'failed to "InitContainer" for "one" with CreateContainerError: "no room"',
    );
    expect(bench.changes()).toEqual(['runPodSandbox web-sandbox-0', 'createContainer web-one-0']);
  });

  it('is started, and not made again, when an earlier sync got as far as making it', async () => {
    bench.runtime.gate('startContainer').fail(new Error('busy'));
    await expect(bench.sync(aNodePod())).rejects.toThrow('RunContainerError');
    bench.changes();
    bench.runtime.gate('startContainer').fail(undefined);
    await bench.sync(aNodePod());
    expect(bench.changes()).toEqual(['startContainer web-app-0']);
  });

  it('is removed when it cannot be started a second time, so that a new one is made', async () => {
    bench.runtime.gate('startContainer').fail(new Error('broken'));
    await expect(bench.sync(aNodePod())).rejects.toThrow();
    await expect(bench.sync(aNodePod())).rejects.toThrow();
    bench.changes();
    bench.runtime.gate('startContainer').fail(undefined);
    await bench.sync(aNodePod());
    expect(bench.changes()).toEqual(['createContainer web-app-0', 'startContainer web-app-0']);
  });

  it('waits for an object that its variables come from, and keeps the values that it was started with', async () => {
    const env = [{ name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } }];
    const pod = aNodePod({ containers: [aSpecContainer({ env, args: ['$(LEVEL)'] })] });
    await expect(bench.sync(pod)).rejects.toThrow(
      'CreateContainerConfigError: "configmap \\"settings\\" not found"',
    );
    expect(bench.told.at(-1)).toBe('Warning app Failed: Error: configmap "settings" not found');
    const message = 'configmap "settings" not found';
    expect(bench.container('app').state.waiting).toEqual({ reason: 'CreateContainerConfigError', message });

    let level = 'low';
    bench.objects.findConfigMap = ({ metadata: { namespace } }, name) => ({
      ...{ kind: 'ConfigMap', metadata: { namespace, name }, binaryData: new Map() },
      data: new Map([['level', level]]),
    });
    await bench.sync(pod);
    const { envs, args } = bench.runtime.configOf('web-app-0');
    expect([args, envs.map(({ key, value }) => `${key}=${value.toString()}`)]).toEqual([
      ['low'],
      ['LEVEL=low'],
    ]);
    level = 'high';
    bench.changes();
    await bench.sync(pod);
    expect(bench.changes()).toEqual([]);
    bench.runtime.exit('web-app-0');
    await bench.sync(pod);
    expect(bench.runtime.configOf('web-app-1').args).toEqual(['high']);
  });

  it('is refused as root where it must not be', async () => {
    const pod = aNodePod({ containers: [aSpecContainer({ securityContext: { runAsNonRoot: true } })] });
    await expect(bench.sync(pod)).rejects.toThrow(/CreateContainerConfigError: .*image will run as root/);
    expect(bench.changes()).toEqual(['runPodSandbox web-sandbox-0']);
  });
});

describe('a postStart hook', () => {
  const postStart = { exec: { command: ['hello'] } };

  it('holds up the next container', async () => {
    const first = aSpecContainer({ lifecycle: { postStart } });
    const pod = aNodePod({ containers: [first, aSpecContainer({ name: 'next' })] });
    const release = bench.runtime.gate('execSync').hang();
    const synced = bench.sync(pod);
    while (bench.runtime.calls.at(-1) !== 'execSync web-app-0 hello 0') await bench.clock.settle();
    await bench.clock.advance(1_000);
    expect(bench.runtime.calls.at(-1)).toBe('execSync web-app-0 hello 0');
    release();
    await synced;
    expect(bench.changes().at(-1)).toBe('startContainer web-next-0');
  });

  it('that fails kills its container', async () => {
    bench.runtime.commands.set('hello', {
      exitCode: 1,
      stdout: Buffer.from('secret'),
      stderr: Buffer.alloc(0),
    });
    const pod = aNodePod({ containers: [aSpecContainer({ lifecycle: { postStart } })] });
    await expect(bench.sync(pod)).rejects.toThrow('PostStartHookError');
    expect(bench.changes().at(-1)).toBe('stopContainer web-app-0 30');
    expect(bench.told.slice(-2)).toEqual([
      'Warning app FailedPostStartHook: PostStartHook failed',
      'Normal app Killing: FailedPostStartHook',
    ]);
  });
});

describe('a container that ended', () => {
  it('starts again at once, then after 10 s', async () => {
    const pod = aNodePod();
    await bench.sync(pod);
    bench.runtime.exit('web-app-0', 3);
    await bench.sync(pod);
    expect(bench.changes().at(-1)).toBe('startContainer web-app-1');
    bench.runtime.exit('web-app-1', 3);
    const { requeueAfterMs } = await bench.sync(pod);
    expect(requeueAfterMs).toBe(10_000);
    expect(bench.container('app').state.waiting).toEqual({
      reason: 'CrashLoopBackOff',
      message: 'back-off 10s restarting failed container=app pod=web_default(u1)',
    });
    expect(bench.told.at(-1)).toBe(
      'Warning app BackOff: Back-off restarting failed container app in pod web_default(u1)',
    );
    const line = bench.logger.complaints.at(-1);
    expect(line?.message).toBe('Error syncing pod, skipping');
    expect(line?.fields['err']).toBe(
      'failed to "StartContainer" for "app" with CrashLoopBackOff: "back-off 10s restarting failed container=app pod=web_default(u1)"',
    );
    await bench.clock.advance(10_000);
    await bench.sync(pod);
    expect(bench.changes().at(-1)).toBe('startContainer web-app-2');
    await bench.sync(pod);
    expect(bench.container('app').state.running).toBeDefined();
  });

  it('ends a pod that runs once', async () => {
    const pod = aNodePod({ restartPolicy: 'Never' });
    await bench.sync(pod);
    bench.runtime.exit('web-app-0', 0);
    expect(await bench.sync(pod)).toEqual({ isTerminal: true });
    expect(bench.status().phase).toBe('Succeeded');
  });
});

it('kills and replaces a container whose liveness probe failed', async () => {
  const livenessProbe = { exec: { command: ['alive'] } };
  const pod = aNodePod({ containers: [aSpecContainer({ livenessProbe })] });
  await bench.sync(pod);
  bench.changes();
  bench.failedLiveness.add('web-app-0');
  await bench.sync(pod);
  expect(bench.changes()[0]).toBe('stopContainer web-app-0 30');
  expect(bench.told.find((line) => line.includes('Killing'))).toBe(
    'Normal app Killing: Container app failed liveness probe, will be restarted',
  );
  await bench.sync(pod);
  expect(bench.runtime.observe('u1').containers.map(({ id, state }) => [id, state])).toEqual([
    ['web-app-0', 'exited'],
    ['web-app-1', 'running'],
  ]);
});

describe('a container that is stopped for an edit', () => {
  const lifecycle = (word: string) => ({ preStop: { exec: { command: [word] } } });

  it('has its hook run as the manifest says it now', async () => {
    const before = aNodePod({ containers: [aSpecContainer({ lifecycle: lifecycle('bye') })] });
    await bench.sync(before);
    bench.changes();
    const command = ['other'];
    await bench.sync(
      aNodePod({ containers: [aSpecContainer({ command, lifecycle: lifecycle('farewell') })] }),
    );
    expect(bench.changes().slice(0, 2)).toEqual([
      'execSync web-app-0 farewell 30',
      'stopContainer web-app-0 30',
    ]);
  });

  it('has its hook run as it bears it when the manifest no longer has it', async () => {
    const side = aSpecContainer({ name: 'side', lifecycle: lifecycle('bye') });
    await bench.sync(aNodePod({ containers: [aSpecContainer(), side] }));
    bench.changes();
    await bench.sync(aNodePod());
    const changes = bench.changes();
    expect(changes).toContain('execSync web-side-0 bye 30');
    expect(changes).toContain('stopContainer web-side-0 30');
  });
});

it('shows a container as ready that was so under an earlier agent', async () => {
  const probe = { exec: { command: ['well'] } };
  const pod = aNodePod({ containers: [aSpecContainer({ readinessProbe: probe, startupProbe: probe })] });
  await bench.sync(pod);
  bench.probing.length = 0;
  bench.statuses.forget('u1');
  await bench.sync(pod);
  expect(bench.container('app')).toMatchObject({ ready: true, started: true });
});

it('ends a pod at its deadline, and says before when that is', async () => {
  const pod = aNodePod({ activeDeadlineSeconds: 60 });
  const { requeueAfterMs = 0 } = await bench.sync(pod);
  expect(requeueAfterMs).toBeGreaterThan(59_000);
  expect(requeueAfterMs).toBeLessThanOrEqual(60_000);
  await bench.clock.advance(60_000);
  expect(await bench.sync(pod)).toEqual({ isTerminal: true });
  expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  await bench.end(pod, 30);
  expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
});

describe('a sync that is told to stop', () => {
  it('starts nothing more once what is under way has settled', async () => {
    const stop = new AbortController();
    const release = bench.runtime.gate('createContainer').hang();
    const pod = aNodePod({ containers: [aSpecContainer(), aSpecContainer({ name: 'side' })] });
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

describe('a pod that is ended', () => {
  const sidecar = (name: string) => aSpecContainer({ name, restartPolicy: 'Always' });

  it('loses its containers first, then its sidecars in reverse, then its sandbox', async () => {
    const pod = aNodePod({ initContainers: [sidecar('first'), sidecar('second')] });
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
    const pod = aNodePod({ containers: [withHook('a'), withHook('b'), aSpecContainer({ name: 'c' })] });
    await bench.sync(pod);
    bench.changes();
    await bench.end(pod, 8);
    const hooks = bench.changes().filter((call) => call.startsWith('execSync'));
    expect(hooks.sort()).toEqual(['execSync web-a-0 bye a 8', 'execSync web-b-0 bye b 8']);
  });

  it('is not ended while something of it runs', async () => {
    const pod = aNodePod();
    await bench.sync(pod);
    bench.runtime.stopContainer = () => Promise.resolve();
    bench.runtime.stopPodSandbox = () => Promise.resolve();
    await expect(bench.end(pod, 5)).rejects.toMatchObject({
      code: 'POD_SYNC_FAILED',
      message: 'detected running containers after a successful KillPod, CRI violation: [{app running}]',
    });
  });

  it('says what cannot be stopped, and still stops the sandbox', async () => {
    const pod = aNodePod();
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
    const pod = aNodePod();
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
    const pod = aNodePod();
    await bench.sync(pod);
    await bench.end(pod, 5);
    const observed = bench.runtime.observe('u1');
    await bench.syncer.syncTerminatedPod({ pod, observed }, NEVER);
    expect(bench.statuses.find('u1')).toMatchObject({ isFinished: true, status: { phase: 'Failed' } });
  });
});

it('ends a pod that only the runtime knows as its own annotations say', async () => {
  const preStop = { exec: { command: ['bye'] } };
  const pod = aNodePod({
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

describe('a pod that is edited in what it is made of', () => {
  const before = aNodePod({ containers: [aSpecContainer(), aSpecContainer({ name: 'side' })] });
  const after = aNodePod({
    containers: [aSpecContainer({ command: ['other'] }), aSpecContainer({ name: 'side' })],
  });

  it('is ended and made anew, and begins as new', async () => {
    await bench.sync(before);
    await bench.sync(before);
    const { startTime } = bench.status();
    bench.changes();
    await bench.clock.advance(60_000);
    await bench.sync(after);
    expect(bench.changes().filter((call) => /runPod|startContainer|stop/.test(call))).toEqual([
      'stopContainer web-app-0 30',
      'stopContainer web-side-0 30',
      'stopPodSandbox web-sandbox-0',
      'stopPodSandbox web-sandbox-0',
      'runPodSandbox web-sandbox-1',
      'startContainer web-app-1',
      'startContainer web-side-1',
    ]);
    expect(bench.tornDown).toBe(1);
    expect(bench.told).toContain(
      'Normal - SandboxChanged: Pod sandbox changed, it will be killed and re-created.',
    );
    await bench.sync(after);
    expect(bench.changes()).toEqual([]);
    expect(bench.status().startTime).not.toBe(startTime);
    expect(bench.container('app').restartCount).toBe(1);
  });

  it('is ended before what it lacks is there, and waits as a pod that has not run', async () => {
    await bench.sync(before);
    bench.changes();
    bench.volumeProblem = new Error('configmap "x" not found');
    await expect(bench.sync(after)).rejects.toThrow('configmap "x" not found');
    await expect(bench.sync(after)).rejects.toThrow('configmap "x" not found');
    expect(bench.changes()).toEqual([
      'stopContainer web-app-0 30',
      'stopContainer web-side-0 30',
      'stopPodSandbox web-sandbox-0',
    ]);
    expect(bench.status().phase).toBe('Pending');
    expect(bench.tornDown).toBe(1);
    bench.volumeProblem = undefined;
    await bench.sync(after);
    expect(bench.changes()).toContain('startContainer web-app-1');
  });

  it('runs again although nothing is to be restarted in it', async () => {
    const once = (spec: object) => aNodePod({ restartPolicy: 'Never', ...spec });
    await bench.sync(once({}));
    bench.changes();
    await bench.sync(once({ containers: [aSpecContainer({ args: ['x'] })] }));
    expect(bench.changes()).toContain('startContainer web-app-1');
  });

  it('has the container alone made anew when its image is another', async () => {
    await bench.sync(before);
    bench.runtime.addImage('registry.example/app:2');
    bench.changes();
    const image = 'registry.example/app:2';
    await bench.sync(aNodePod({ containers: [aSpecContainer({ image }), aSpecContainer({ name: 'side' })] }));
    expect(bench.changes()).toEqual([
      'stopContainer web-app-0 30',
      'createContainer web-app-1',
      'startContainer web-app-1',
    ]);
    expect(bench.told).toContain('Normal app Killing: Container app definition changed, will be restarted');
  });
});

describe('limits of a container that runs', () => {
  const limited = (cpu: string, memory: string, fields: Partial<Container> = {}) =>
    aNodePod({
      containers: [
        aSpecContainer({ resources: { requests: { cpu, memory }, limits: { cpu, memory } }, ...fields }),
      ],
    });

  it('change in place, the pod growing before it and shrinking after it', async () => {
    await bench.sync(limited('100m', '64Mi'));
    bench.changes();
    bench.limited.length = 0;
    const after = limited('200m', '128Mi');
    expect(await bench.sync(after)).toEqual({ isTerminal: false });
    expect(bench.changes()).toEqual(['updateContainerResources web-app-0 204/20000/134217728']);
    expect(bench.limited).toEqual(['grow', 'settle']);
    // The runtime was not asked since.
    await bench.sync(after);
    expect(bench.changes()).toEqual([]);
    expect(bench.container('app').restartCount).toBe(0);
  });

  it('are taken away in place', async () => {
    const requests = { cpu: '100m' };
    const limits = { cpu: '200m', memory: '64Mi' };
    await bench.sync(limited('', '', { resources: { requests, limits } }));
    bench.changes();
    await bench.sync(limited('', '', { resources: { requests } }));
    expect(bench.changes()).toEqual(['updateContainerResources web-app-0 102/-1/-1']);
  });

  it('restart it where its policy wants that', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] as const;
    await bench.sync(limited('100m', '64Mi', { resizePolicy }));
    bench.changes();
    await bench.sync(limited('200m', '64Mi', { resizePolicy }));
    expect(bench.changes()).toEqual(['updateContainerResources web-app-0 204/20000/0']);
    await bench.sync(limited('200m', '128Mi', { resizePolicy }));
    expect(bench.changes()).toEqual([
      'stopContainer web-app-0 30',
      'createContainer web-app-1',
      'startContainer web-app-1',
    ]);
    expect(bench.told).toContain('Normal app Killing: Container app resize requires restart');
  });

  it('restart it where the runtime cannot change them', async () => {
    await bench.sync(limited('100m', '64Mi'));
    bench.runtime.gate('updateContainerResources').fail(new PodloopError('CRI_UNIMPLEMENTED', 'not here'));
    const after = limited('200m', '64Mi');
    expect(await bench.sync(after)).toMatchObject({ requeueAfterMs: 1 });
    bench.changes();
    await bench.sync(after);
    expect(bench.changes()).toContain('startContainer web-app-1');
  });

  it('of memory are not lowered below what it uses', async () => {
    await bench.sync(limited('100m', '64Mi'));
    bench.changes();
    bench.memoryUsage = 50n * 1024n ** 2n;
    const after = limited('100m', '32Mi');
    expect(await bench.sync(after)).toMatchObject({ requeueAfterMs: 10_000 });
    expect(bench.changes()).toEqual([]);
    expect(bench.told.at(-1)).toBe(
      'Warning app ResizeError: Pod resize error: container app: attempting to set container "app" memory limit (33554432) below current usage (52428800)',
    );
    bench.memoryUsage = 1024n;
    await bench.sync(after);
    expect(bench.changes()).toEqual(['updateContainerResources web-app-0 0/0/33554432']);
  });
});

describe('an ephemeral container', () => {
  const debug = { ...aSpecContainer({ name: 'debug' }), targetContainerName: 'app' };
  const withDebug = (spec: Partial<PodSpec> = {}) => aNodePod({ ephemeralContainers: [debug], ...spec });
  const ephemeral = (): V1ContainerStatus => bench.status().ephemeralContainerStatuses![0]!;

  it('joins a pod that runs, sees the processes of its target, and is started once', async () => {
    await bench.sync(aNodePod());
    bench.changes();
    await bench.sync(withDebug());
    expect(bench.changes()).toEqual(['createContainer web-debug-0', 'startContainer web-debug-0']);
    const { annotations, linux } = bench.runtime.configOf('web-debug-0');
    expect(annotations['io.kubernetes.container.type']).toBe('ephemeral');
    expect(linux?.securityContext?.namespaceOptions).toMatchObject({ pid: 3, targetId: 'web-app-0' });
    await bench.sync(withDebug());
    expect(ephemeral()).toMatchObject({ name: 'debug', ready: false, state: { running: {} } });
    bench.runtime.exit('web-debug-0', 3);
    bench.changes();
    await bench.sync(withDebug());
    expect(bench.changes()).toEqual([]);
    expect(ephemeral().state.terminated?.exitCode).toBe(3);
    expect(bench.status().phase).toBe('Running');
  });

  it('waits for its target in a pod that is new', async () => {
    await bench.sync(withDebug());
    expect(bench.changes()).not.toContain('createContainer web-debug-0');
    await bench.sync(withDebug());
    expect(bench.changes()).toContain('startContainer web-debug-0');
  });

  it('says that its target does not run, and holds up nobody', async () => {
    const init = aSpecContainer({ name: 'init' });
    const pod = withDebug({ initContainers: [init] });
    await bench.sync(pod);
    await expect(bench.sync(pod)).rejects.toThrow('unable to find target container app');
    expect(ephemeral().state.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'unable to find target container app',
    });
    bench.runtime.exit('web-init-0');
    await expect(bench.sync(pod)).rejects.toThrow('unable to find target container app');
    expect(bench.changes()).toContain('startContainer web-app-0');
    await bench.sync(pod);
    expect(bench.changes()).toContain('startContainer web-debug-0');
  });

  it('goes on when an edit takes it away, and ends with the pod', async () => {
    await bench.sync(withDebug());
    await bench.sync(withDebug());
    bench.changes();
    await bench.sync(aNodePod());
    await bench.sync(aNodePod());
    expect(bench.changes()).toEqual([]);
    expect(bench.told.filter((line) => line.includes('EphemeralContainerRemoved'))).toEqual([
      'Warning debug EphemeralContainerRemoved: Ephemeral container debug was taken out of the manifest: it goes on until it ends, or the pod does',
    ]);
    await bench.end(aNodePod(), 5);
    expect(bench.changes()).toContain('stopContainer web-debug-0 5');
  });

  it('is not started anew for an edit of it', async () => {
    await bench.sync(withDebug());
    await bench.sync(withDebug());
    bench.changes();
    await bench.sync(withDebug({ ephemeralContainers: [{ ...debug, command: ['other'] }] }));
    expect(bench.changes()).toEqual([]);
  });

  it('is started in a pod that was made anew', async () => {
    await bench.sync(withDebug());
    await bench.sync(withDebug());
    const other = withDebug({ containers: [aSpecContainer({ args: ['x'] })] });
    await bench.sync(other);
    bench.changes();
    await bench.sync(other);
    expect(bench.changes()).toEqual(['createContainer web-debug-1', 'startContainer web-debug-1']);
  });
});

it('a volume that no pod gets is a reason on each container that waits for it', async () => {
  const message =
    'MountVolume.SetUp failed for volume "v" : volumes of the kind csi are not supported by podloop';
  bench.volumeProblem = new PodloopError('VOLUME_UNSUPPORTED', message);
  await expect(bench.sync(aNodePod())).rejects.toThrow(message);
  expect(bench.container('app').state).toEqual({ waiting: { reason: 'UnsupportedVolume', message } });
});

describe('what a pod refers to', () => {
  it('is looked up before it is wanted, and forgotten with the pod', async () => {
    const pod = aNodePod({});
    await bench.sync(pod);
    expect(bench.referred).toEqual(['volumes of u1', 'handler of u1', 'container app']);
    await bench.end(pod, 1);
    const observed = bench.runtime.observe('u1');
    await bench.syncer.syncTerminatedPod({ pod, observed }, NEVER);
    expect(bench.referred.at(-1)).toBe('forget u1');
  });

  it('may be a class of runtimes, without which there is no sandbox', async () => {
    await expect(bench.sync(aNodePod({ runtimeClassName: 'none' }))).rejects.toThrow(
      'there is no such class',
    );
    expect(bench.told).toEqual([
      'Warning - FailedCreatePodSandBox: Failed to create pod sandbox: there is no such class',
    ]);
    expect(bench.changes().filter((call) => call.startsWith('runPodSandbox'))).toEqual([]);
  });
});
