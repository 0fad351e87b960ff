import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Container } from '#kube/container/container.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { SyncPodHarness } from '#support/harness/sync-pod-harness.js';
import { PodloopError } from '#base/errors/errors.js';

let bench: SyncPodHarness;
beforeEach(async () => {
  bench = await SyncPodHarness.open();
});
afterEach(() => bench[Symbol.asyncDispose]());

describe('a container that is stopped for an edit', () => {
  const lifecycle = (word: string) => ({ preStop: { exec: { command: [word] } } });

  it('has its hook run as the manifest says it now', async () => {
    const before = aSpecPod({ containers: [aSpecContainer({ lifecycle: lifecycle('bye') })] });
    await bench.sync(before);
    bench.changes();
    const command = ['other'];
    await bench.sync(
      aSpecPod({ containers: [aSpecContainer({ command, lifecycle: lifecycle('farewell') })] }),
    );
    expect(bench.changes().slice(0, 2)).toEqual([
      'execSync web-app-0 farewell 30',
      'stopContainer web-app-0 30',
    ]);
  });

  it('has its hook run as it bears it when the manifest no longer has it', async () => {
    const side = aSpecContainer({ name: 'side', lifecycle: lifecycle('bye') });
    await bench.sync(aSpecPod({ containers: [aSpecContainer(), side] }));
    bench.changes();
    await bench.sync(aSpecPod());
    const changes = bench.changes();
    expect(changes).toContain('execSync web-side-0 bye 30');
    expect(changes).toContain('stopContainer web-side-0 30');
  });
});

describe('a pod that is edited in what it is made of', () => {
  const before = aSpecPod({ containers: [aSpecContainer(), aSpecContainer({ name: 'side' })] });
  const after = aSpecPod({
    containers: [aSpecContainer({ command: ['other'] }), aSpecContainer({ name: 'side' })],
  });

  it('is ended and recreated, and begins as new', async () => {
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
    await bench.sync(after);
    // What the former life has left does not count as running.
    expect(bench.volumesSetUp).toEqual(['new', 'new', 'new', 'new', 'running']);
  });

  it('runs again although nothing is to be restarted in it', async () => {
    const once = (spec: object) => aSpecPod({ restartPolicy: 'Never', ...spec });
    await bench.sync(once({}));
    bench.changes();
    await bench.sync(once({ containers: [aSpecContainer({ args: ['x'] })] }));
    expect(bench.changes()).toContain('startContainer web-app-1');
  });

  it('has only the container recreated when its image is another', async () => {
    await bench.sync(before);
    bench.runtime.addImage('registry.example/app:2');
    bench.changes();
    const image = 'registry.example/app:2';
    await bench.sync(aSpecPod({ containers: [aSpecContainer({ image }), aSpecContainer({ name: 'side' })] }));
    expect(bench.changes()).toEqual([
      'stopContainer web-app-0 30',
      'createContainer web-app-1',
      'startContainer web-app-1',
    ]);
    expect(bench.told).toContain('Normal app Killing: Container app definition changed, will be restarted');
  });
});

describe('an edit that is taken back before anything was made for it', () => {
  const once = (spec: Partial<PodSpec> = {}) => aSpecPod({ restartPolicy: 'Never', ...spec });
  const before = once();
  const edited = once({ containers: [aSpecContainer({ args: ['x'] })] });
  const failure = new Error('it failed');
  const points: readonly (readonly [string, () => void])[] = [
    ['of which nothing could be ended', () => bench.runtime.gate('stopContainer').fail(failure)],
    ['whose sandbox could not be ended', () => bench.runtime.gate('stopPodSandbox').fail(failure)],
    ['that could not be made anew', () => void (bench.volumeProblem = failure)],
    ['of which there is no new sandbox', () => bench.runtime.gate('runPodSandbox').fail(failure)],
    ['of which there is a new sandbox alone', () => bench.runtime.gate('createContainer').fail(failure)],
  ];
  const repair = (): void => {
    bench.volumeProblem = undefined;
    for (const method of ['stopContainer', 'stopPodSandbox', 'runPodSandbox', 'createContainer'] as const) {
      bench.runtime.gate(method).fail(undefined);
    }
  };

  for (const isKilled of [false, true]) {
    const meanwhile = isKilled ? ', by an agent that was killed meanwhile' : '';
    it.each(points)(`has a pod that runs once run again %s${meanwhile}`, async (_, breakIt) => {
      await bench.sync(before);
      breakIt();
      await bench.sync(edited).catch(() => undefined);
      if (isKilled) bench.restartAgent();
      repair();
      bench.changes();
      expect(await bench.sync(before)).toMatchObject({ isTerminal: false });
      expect(bench.changes()).toContain('startContainer web-app-1');
      await bench.sync(before);
      expect(bench.changes()).toEqual([]);
      expect(bench.status()).toMatchObject({ phase: 'Running' });
    });
  }

  it('has a pod run again whose end was overtaken by it', async () => {
    const stop = new AbortController();
    await bench.sync(before);
    const release = bench.runtime.gate('stopPodSandbox').hang();
    const ended = expect(bench.sync(edited, stop.signal)).rejects.toThrow('overtaken');
    while (bench.runtime.calls.at(-1) !== 'stopPodSandbox web-sandbox-0') await bench.clock.settle();
    stop.abort(new Error('overtaken'));
    release();
    await ended;
    expect(await bench.sync(before)).toMatchObject({ isTerminal: false });
    expect(bench.changes()).toContain('startContainer web-app-1');
  });

  it('leaves the end of a pod alone that had run to it before', async () => {
    await bench.sync(before);
    bench.runtime.exit('web-app-0', 3);
    bench.changes();
    expect(await bench.sync(before)).toEqual({ isTerminal: true });
    expect(bench.status().phase).toBe('Failed');
  });

  it('has a container run again that was stopped for an image that is not to be had', async () => {
    const image = 'registry.example/typo:1';
    await bench.sync(before);
    await bench.sync(once({ containers: [aSpecContainer({ image })] })).catch(() => undefined);
    expect(bench.changes()).toContain('stopContainer web-app-0 30');
    bench.restartAgent();
    expect(await bench.sync(before)).toMatchObject({ isTerminal: false });
    expect(bench.changes()).toEqual(['createContainer web-app-1', 'startContainer web-app-1']);
  });

  it('has a container run again that an edit had taken out of the pod', async () => {
    const both = once({ containers: [aSpecContainer(), aSpecContainer({ name: 'side' })] });
    await bench.sync(both);
    await bench.sync(before);
    expect(bench.changes()).toContain('startContainer web-app-1');
    await bench.sync(both);
    expect(bench.changes()).toContain('startContainer web-side-1');
  });
});

it('does not take a pod for ended whose end for an edit fails half way', async () => {
  const once = (spec: Partial<PodSpec> = {}) => aSpecPod({ restartPolicy: 'Never', ...spec });
  const edited = once({ containers: [aSpecContainer({ args: ['x'] })] });
  await bench.sync(once());
  await bench.sync(once());
  bench.runtime.gate('stopPodSandbox').fail(new Error('it failed'));
  await expect(bench.sync(edited)).rejects.toThrow('it failed');
  await expect(bench.sync(edited)).rejects.toThrow('it failed');
  expect(bench.status().phase).toBe('Pending');
  bench.runtime.gate('stopPodSandbox').fail(undefined);
  bench.changes();
  await bench.sync(edited);
  expect(bench.changes()).toContain('startContainer web-app-1');
});

describe('limits of a container that runs', () => {
  const limited = (cpu: string, memory: string, fields: Partial<Container> = {}) =>
    aSpecPod({
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
