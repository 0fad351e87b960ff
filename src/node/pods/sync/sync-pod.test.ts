import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { SyncPodHarness } from '#support/harness/sync-pod-harness.js';
import { PodloopError } from '#base/errors/errors.js';

const NEVER = new AbortController().signal;

let bench: SyncPodHarness;
beforeEach(async () => {
  bench = await SyncPodHarness.open();
});
afterEach(() => bench[Symbol.asyncDispose]());

describe('a pod that is new', () => {
  it('gets its sandbox, then its containers in order, and nothing more the next time', async () => {
    const pod = aSpecPod({ containers: [aSpecContainer(), aSpecContainer({ name: 'side' })] });
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
    const pod = aSpecPod({ volumes: [] });
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
    await bench.sync(aSpecPod());
    const { mounts } = bench.runtime.configOf('web-app-0');
    expect(mounts.map(({ containerPath, hostPath }) => [containerPath, hostPath])).toEqual([
      ['/data', '/host'],
      ['/etc/hosts', join(bench.folder, 'root/pods/u1/etc-hosts')],
      ['/dev/termination-log', join(bench.folder, 'root/pods/u1/containers/app/0')],
    ]);
  });

  it('has nothing mounted over what the manifest mounts there itself', async () => {
    await bench.sync(aSpecPod({ containers: [aSpecContainer({ terminationMessagePath: '/data' })] }));
    const { mounts } = bench.runtime.configOf('web-app-0');
    expect(mounts.map(({ containerPath }) => containerPath)).toEqual(['/data', '/etc/hosts']);
  });

  it('runs its init containers one after the other, and then the rest', async () => {
    const init = [aSpecContainer({ name: 'one' }), aSpecContainer({ name: 'two' })];
    const pod = aSpecPod({ initContainers: init });
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
    await expect(bench.sync(aSpecPod())).rejects.toMatchObject({ code: 'NETWORK_NOT_READY' });
    expect(bench.told).toEqual([
      'Warning - NetworkNotReady: network is not ready: cni plugin not initialized',
    ]);
    expect(bench.changes()).toEqual([]);
    await bench.sync(aSpecPod({ hostNetwork: true }));
    expect(bench.changes()).toHaveLength(3);
  });

  it('waits for its volumes', async () => {
    bench.volumeProblem = new Error('MountVolume.SetUp failed for volume "v" : gone');
    await expect(bench.sync(aSpecPod())).rejects.toThrow('volume "v"');
    expect(bench.changes()).toEqual([]);
    bench.volumeProblem = undefined;
    await bench.sync(aSpecPod());
    expect(bench.changes()).toHaveLength(3);
  });

  it('has its volumes set up as those of a pod that runs as soon as there is a sandbox', async () => {
    await bench.sync(aSpecPod());
    await bench.sync(aSpecPod());
    bench.runtime.exit('web-app-0');
    await bench.sync(aSpecPod());
    expect(bench.volumesSetUp).toEqual(['new', 'running', 'running']);
  });

  it('says that its sandbox cannot be made', async () => {
    bench.runtime.gate('runPodSandbox').fail(new Error('no address left'));
    await expect(bench.sync(aSpecPod())).rejects.toMatchObject({
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

  it('has the image of its first container looked up early, and gets the result afterwards', async () => {
    const release = bench.runtime.gate('runPodSandbox').hang();
    const other = aSpecContainer({ name: 'side', image: 'registry.example/app:1' });
    const synced = bench.sync(aSpecPod({ containers: [aSpecContainer(), other] }));
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
    await expect(bench.sync(aSpecPod())).rejects.toThrow('no network');
    await bench.clock.settle();
    expect(bench.told).toEqual([
      'Warning - FailedCreatePodSandBox: Failed to create pod sandbox: no network',
    ]);
  });
});

describe('a container that does not start', () => {
  it('holds up no other, and shows why', async () => {
    const missing = aSpecContainer({ name: 'missing', image: 'registry.example/none:1' });
    const pod = aSpecPod({ containers: [missing, aSpecContainer()] });
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

  it('waits for the images that it mounts as for its own, and for none that others mount', async () => {
    const missing = 'registry.example/data:1';
    const pod = aSpecPod({
      containers: [
        aSpecContainer({ name: 'reader', volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
        aSpecContainer(),
      ],
      volumes: [
        { name: 'data', image: { reference: missing, pullPolicy: 'IfNotPresent' } },
        { name: 'unused', image: { reference: 'registry.example/other:1' } },
      ],
    });
    await expect(bench.sync(pod)).rejects.toThrow(
      /^failed to "StartContainer" for "reader" with ErrImagePull: /,
    );
    expect(bench.changes().at(-1)).toBe('startContainer web-app-0');
    expect(bench.told).toContain('Warning reader Failed: Error: ErrImagePull');
    bench.runtime.allowPull(missing);
    await bench.clock.advance(10_000);
    expect(await bench.sync(pod)).toEqual({ isTerminal: false });
    expect(bench.changes().at(-1)).toBe('startContainer web-reader-0');
  });

  it('holds up those after it when it is an init container', async () => {
    bench.runtime.gate('createContainer').fail(new Error('no room'));
    const pod = aSpecPod({ initContainers: [aSpecContainer({ name: 'one' })] });
    await expect(bench.sync(pod)).rejects.toThrow(
      'failed to "InitContainer" for "one" with CreateContainerError: "no room"',
    );
    expect(bench.changes()).toEqual(['runPodSandbox web-sandbox-0', 'createContainer web-one-0']);
  });

  it('is started, and not made again, when an earlier sync got as far as making it', async () => {
    bench.runtime.gate('startContainer').fail(new Error('busy'));
    await expect(bench.sync(aSpecPod())).rejects.toThrow('RunContainerError');
    bench.changes();
    bench.runtime.gate('startContainer').fail(undefined);
    await bench.sync(aSpecPod());
    expect(bench.changes()).toEqual(['startContainer web-app-0']);
  });

  it('is removed when it cannot be started a second time, so that a new one is made', async () => {
    bench.runtime.gate('startContainer').fail(new Error('broken'));
    await expect(bench.sync(aSpecPod())).rejects.toThrow();
    await expect(bench.sync(aSpecPod())).rejects.toThrow();
    bench.changes();
    bench.runtime.gate('startContainer').fail(undefined);
    await bench.sync(aSpecPod());
    expect(bench.changes()).toEqual(['createContainer web-app-0', 'startContainer web-app-0']);
  });

  it('waits for an object that its variables come from, and keeps the values that it was started with', async () => {
    const env = [{ name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } }];
    const pod = aSpecPod({ containers: [aSpecContainer({ env, args: ['$(LEVEL)'] })] });
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

  it('reports no failure where its variables are not resolved because the sync was aborted', async () => {
    const abort = new AbortController();
    bench.objects.findConfigMap = () => {
      abort.abort(new Error('enough'));
      throw new Error('cut short');
    };
    const env = [{ name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } }];
    const pod = aSpecPod({ containers: [aSpecContainer({ env })] });
    await expect(bench.sync(pod, abort.signal)).rejects.toThrow('enough');
    expect(bench.told.filter((line) => line.startsWith('Warning'))).toEqual([]);
  });

  it('is refused as root where it must not be', async () => {
    const pod = aSpecPod({ containers: [aSpecContainer({ securityContext: { runAsNonRoot: true } })] });
    await expect(bench.sync(pod)).rejects.toThrow(/CreateContainerConfigError: .*image will run as root/);
    expect(bench.changes()).toEqual(['runPodSandbox web-sandbox-0']);
  });
});

describe('a postStart hook', () => {
  const postStart = { exec: { command: ['hello'] } };

  it('holds up the next container', async () => {
    const first = aSpecContainer({ lifecycle: { postStart } });
    const pod = aSpecPod({ containers: [first, aSpecContainer({ name: 'next' })] });
    const release = bench.runtime.gate('execSync').hang();
    const synced = bench.sync(pod);
    while (bench.runtime.calls.at(-1) !== 'execSync web-app-0 hello 0') await bench.clock.settle();
    await bench.clock.advance(1_000);
    expect(bench.runtime.calls.at(-1)).toBe('execSync web-app-0 hello 0');
    release();
    await synced;
    expect(bench.changes().at(-1)).toBe('startContainer web-next-0');
  });

  it.each([1, 2, 3])('is not run again by an agent that starts while it runs, try %i', async (count) => {
    const others = Array.from({ length: count }, (_, index) => aSpecContainer({ name: `next${index}` }));
    const first = aSpecContainer({ lifecycle: { postStart } });
    const pod = aSpecPod({ containers: [first, ...others] });
    bench.runtime.gate('execSync').hang();
    const stop = new AbortController();
    const cut = bench.sync(pod, stop.signal).catch((error: unknown) => error);
    while (bench.runtime.calls.at(-1) !== 'execSync web-app-0 hello 0') await bench.clock.settle();
    stop.abort(new Error('the agent ends'));
    await cut;
    bench.changes();
    bench.restartAgent();
    await bench.sync(pod);
    expect(bench.container('app').state.running).toBeDefined();
    expect(bench.changes().filter((change) => !change.startsWith('createContainer'))).toEqual(
      others.map(({ name }) => `startContainer web-${name}-0`),
    );
  });

  it('that fails kills its container', async () => {
    bench.runtime.commands.set('hello', {
      exitCode: 1,
      stdout: Buffer.from('secret'),
      stderr: Buffer.alloc(0),
    });
    const pod = aSpecPod({ containers: [aSpecContainer({ lifecycle: { postStart } })] });
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
    const pod = aSpecPod();
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
    const pod = aSpecPod({ restartPolicy: 'Never' });
    await bench.sync(pod);
    bench.runtime.exit('web-app-0', 0);
    expect(await bench.sync(pod)).toEqual({ isTerminal: true });
    expect(bench.status().phase).toBe('Succeeded');
  });
});

it('kills and replaces a container whose liveness probe failed', async () => {
  const livenessProbe = { exec: { command: ['alive'] } };
  const pod = aSpecPod({ containers: [aSpecContainer({ livenessProbe })] });
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

it('starts a container again that its probe had ended, after the back-off, although it ended well', async () => {
  const livenessProbe = { exec: { command: ['alive'] } };
  const pod = aSpecPod({ restartPolicy: 'OnFailure', containers: [aSpecContainer({ livenessProbe })] });
  bench.runtime.stopContainer = (id) => {
    bench.runtime.exit(id, 0);
    return Promise.resolve();
  };
  await bench.sync(pod);
  bench.failedLiveness.add('web-app-0');
  await bench.sync(pod);
  bench.failedLiveness.add('web-app-1');
  await bench.sync(pod);
  expect(await bench.sync(pod)).toMatchObject({ isTerminal: false, requeueAfterMs: 10_000 });
  expect(bench.status().phase).toBe('Running');
  expect(bench.container('app')).toMatchObject({
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 0 } },
  });
  await bench.clock.advance(10_000);
  await bench.sync(pod);
  expect(bench.changes()).toContain('startContainer web-app-2');
  bench.runtime.exit('web-app-2', 0);
  expect(await bench.sync(pod)).toEqual({ isTerminal: true });
  expect(bench.status().phase).toBe('Succeeded');
});

it('shows a container as ready that was so under an earlier agent', async () => {
  const probe = { exec: { command: ['well'] } };
  const pod = aSpecPod({ containers: [aSpecContainer({ readinessProbe: probe, startupProbe: probe })] });
  await bench.sync(pod);
  bench.probing.length = 0;
  bench.statuses.forget('u1');
  await bench.sync(pod);
  expect(bench.container('app')).toMatchObject({ ready: true, started: true });
});

it('a volume that no pod gets is a reason on each container that waits for it', async () => {
  const message =
    'MountVolume.SetUp failed for volume "v" : volumes of the kind csi are not supported by podloop';
  bench.volumeProblem = new PodloopError('VOLUME_UNSUPPORTED', message);
  await expect(bench.sync(aSpecPod())).rejects.toThrow(message);
  expect(bench.container('app').state).toEqual({ waiting: { reason: 'UnsupportedVolume', message } });
});

describe('what a pod refers to', () => {
  it('is looked up before it is wanted, and forgotten with the pod', async () => {
    const pod = aSpecPod({});
    await bench.sync(pod);
    expect(bench.referred).toEqual(['volumes of u1', 'handler of u1', 'container app']);
    await bench.end(pod, 1);
    const observed = bench.runtime.observe('u1');
    await bench.syncer.syncTerminatedPod({ pod, observed }, NEVER);
    expect(bench.referred.at(-1)).toBe('forget u1');
  });

  it('may be a class of runtimes, without which there is no sandbox', async () => {
    await expect(bench.sync(aSpecPod({ runtimeClassName: 'none' }))).rejects.toThrow(
      'there is no such class',
    );
    expect(bench.told).toEqual([
      'Warning - FailedCreatePodSandBox: Failed to create pod sandbox: there is no such class',
    ]);
    expect(bench.changes().filter((call) => call.startsWith('runPodSandbox'))).toEqual([]);
  });
});
