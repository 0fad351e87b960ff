import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ContainerState } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { CriClient } from '../../src/watch/cri/index.js';
import { type PodLifecycleEvent } from '../../src/watch/pleg/pod-lifecycle-event.js';
import { Pleg } from '../../src/watch/pleg/index.js';
import { CriRuntime } from '../../src/watch/observed/index.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { runtimeService } from './harness/cri-driver.js';
import { containerConfig, sandboxConfig } from './harness/pod-configs.js';

const PODS = 12;
/** In each pod, besides one that runs. */
const EXITED = Number(process.env['PODLOOP_EXITED'] ?? 240) / PODS;
/** Far fewer than there are events to tell. */
const QUEUE_CAPACITY = 40;

interface NodePod {
  readonly uid: string;
  readonly running: string;
  readonly exited: readonly string[];
}

describe('a generator restarted on a node with many exited containers', () => {
  let containerd: Containerd;
  let pods: NodePod[];

  beforeAll(async () => {
    containerd = await startContainerd({ version: '1.7' });
    pods = await Promise.all(Array.from({ length: PODS }, (_, index) => fill(containerd, index)));
    await allExited(containerd, PODS * EXITED);
  }, 600_000);

  afterAll(async () => {
    await containerd[Symbol.asyncDispose]();
  }, 300_000);

  it.each(['generic', 'evented', 'auto'] as const)(
    'hears of every pod and of every later death, with queues far too small: %s',
    async (mode) => {
      await using client = new CriClient({ endpoint: containerd.endpoint });
      const pleg = new Pleg({ runtime: new CriRuntime({ client }), mode, queueCapacity: QUEUE_CAPACITY });
      const subscription = pleg.subscribe();
      const stopping = new AbortController();
      const running = pleg.run(stopping.signal);
      const heard: PodLifecycleEvent[] = [];
      // Nobody reads until everything has been looked at: the queue must overflow, and nothing may wait for it.
      await expect.poll(() => pleg.state().runningPods, { timeout: 60_000 }).toBe(PODS);
      await expect.poll(() => pleg.state().inspections.due, { timeout: 60_000 }).toBe(0);
      expect(pleg.health().healthy).toBe(true);
      const reading = (async () => {
        for await (const event of subscription) heard.push(event);
      })();

      const resynced = (): boolean => heard.some(({ type }) => type === 'Resync');
      const heardOf = (uid: string): boolean =>
        heard.some((event) => 'pod' in event && event.pod.uid === uid);
      await expect
        .poll(() => resynced() || pods.every(({ uid }) => heardOf(uid)), { timeout: 30_000 })
        .toBe(true);
      expect(heard.reduce((sum, event) => sum + ('folded' in event ? event.folded : 0), 0)).toBeGreaterThan(
        0,
      );
      for (const { uid, exited } of pods) {
        const { status } = pleg.cache.get(uid);
        expect(status.containers.map(({ id }) => id)).toEqual(expect.arrayContaining([...exited]));
      }

      for (const pod of pods) {
        await containerd.driver.call(runtimeService.stopContainer, { containerId: pod.running, timeout: 0n });
      }
      const diedOf = (id: string): (number | undefined)[] =>
        heard.flatMap((event) =>
          event.type === 'ContainerDied' && event.containerId === id ? [event.exitCode] : [],
        );
      await expect
        .poll(() => pods.filter((pod) => diedOf(pod.running).length === 0), { timeout: 30_000 })
        .toEqual([]);
      for (const pod of pods) expect(diedOf(pod.running)).toEqual([137]);

      stopping.abort();
      await running;
      subscription.close();
      await reading;
      // The next mode finds as many running ones again.
      pods = await Promise.all(pods.map((pod) => replaceRunning(containerd, pod)));
    },
  );

  const sandboxes = new Map<string, ReturnType<typeof sandboxConfig>>();

  async function fill(target: Containerd, index: number): Promise<NodePod> {
    const { driver, names } = target;
    const sandbox = sandboxConfig({ name: `old-${index}`, cgroupParent: names.cgroupParent });
    const sandboxId = await driver.runSandbox(sandbox);
    sandboxes.set(sandboxId, sandbox);
    const exited: string[] = [];
    for (let attempt = 0; attempt < EXITED; attempt++) {
      const config = containerConfig(sandbox, { name: 'main', attempt, script: `exit ${attempt % 3}` });
      exited.push(await driver.runContainer(sandboxId, config, sandbox));
    }
    return { uid: sandbox.metadata!.uid, running: await runOne(target, sandboxId, EXITED), exited };
  }

  async function replaceRunning(target: Containerd, pod: NodePod): Promise<NodePod> {
    const { status } = await target.driver.call(runtimeService.containerStatus, {
      containerId: pod.running,
      verbose: false,
    });
    const { containers } = await target.driver.call(runtimeService.listContainers, {
      filter: { id: pod.running, state: undefined, podSandboxId: '', labelSelector: {} },
    });
    const attempt = (status?.metadata?.attempt ?? 0) + 1;
    return { ...pod, running: await runOne(target, containers[0]!.podSandboxId, attempt) };
  }

  async function runOne(target: Containerd, sandboxId: string, attempt: number): Promise<string> {
    const sandbox = sandboxes.get(sandboxId)!;
    const config = containerConfig(sandbox, { name: 'main', attempt, script: 'exec sleep 100000' });
    return target.driver.runContainer(sandboxId, config, sandbox);
  }
});

async function allExited(containerd: Containerd, count: number): Promise<void> {
  for (;;) {
    const { containers } = await containerd.driver.call(runtimeService.listContainers, { filter: undefined });
    if (containers.filter(({ state }) => state === ContainerState.CONTAINER_EXITED).length >= count) return;
    await sleep(100);
  }
}
