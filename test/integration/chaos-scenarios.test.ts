/**
 * The scenarios of examples/chaos against `podloop watch`: each shows what its comment promises.
 *
 * @module
 */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { parseRules } from '../../src/proxy/chaos/index.js';
import { CriClient } from '../../src/watch/cri/client.js';
import { ChaosNode, deathsIn, eventsOf, readScenario } from './chaos-node.js';
import { type PodloopProcess } from './podloop-process.js';

/** A loaded machine gets time, a hang does not. */
const LIMIT_MS = 45_000;
vi.setConfig({ testTimeout: 4 * LIMIT_MS });

async function eventually(check: () => void): Promise<void> {
  await vi.waitFor(check, { timeout: LIMIT_MS, interval: 20 });
}

async function untilAsync(condition: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: LIMIT_MS, interval: 20 });
}

/** Waits until the watcher has told of so many running containers and sandboxes. */
async function untilStarted(watcher: PodloopProcess, count: number): Promise<void> {
  await eventually(() =>
    expect(eventsOf(watcher).filter(({ type }) => type === 'ContainerStarted').length).toBe(count),
  );
}

const idsOf = (containers: readonly { readonly id: string }[]): string[] =>
  containers.map(({ id }) => id).sort();

describe('examples/chaos', () => {
  it('has a scenario for each incident, and all of them can be read', async () => {
    const files = await readdir('examples/chaos');
    expect(files.sort()).toEqual([
      'full-event-channel.yaml',
      'list-over-the-limit.yaml',
      'lost-events.yaml',
      'one-hung-container.yaml',
      'runtime-restart.yaml',
      'slow-inspect.yaml',
    ]);
    for (const file of files) {
      const text = await readScenario(file.replace('.yaml', ''));
      expect(parseRules(text, file).length).toBeGreaterThan(0);
      for (const word of ['The incident', 'The kubelet', 'podloop'])
        expect(text, file).toContain(`# ${word}`);
    }
  });
});

describe('one hung container', () => {
  it('is named while it hangs, holds up nobody, and its death comes out once when it answers', async () => {
    await using node = await ChaosNode.start({ pods: 20, containersPerPod: 2 });
    const watcher = node.watch('--relist-period', '200ms');
    await untilStarted(watcher, 60);
    const [hung, ...others] = await node.control.pods();
    const name = `${hung!.namespace}/${hung!.name}`;
    node.replaceRules(await readScenario('one-hung-container', { 'default/web': name }));

    const [missed] = await node.control.kill({ podUids: [hung!.uid], count: 1 }, { exitCode: 7 });
    await eventually(() => expect(node.injections.length).toBeGreaterThan(0));
    for (const { pod, method } of node.injections) {
      expect(`${pod?.namespace}/${pod?.name}`).toBe(name);
      expect(method).toMatch(/Status$/);
    }
    const killed = await node.control.kill({ podUids: others.map(({ uid }) => uid) }, { exitCode: 3 });
    await eventually(() => expect(deathsIn(watcher).sort()).toEqual(idsOf(killed)));
    await watcher.line(
      'stderr',
      (line) => line.includes('Pod is stuck in the runtime') && line.includes(name),
    );
    expect(watcher.stderr.join('\n')).not.toContain('unhealthy');

    node.replaceRules('rules: []');
    await eventually(() => expect(deathsIn(watcher)).toContain(missed!.id));
    await watcher.line('stderr', /Pod is no longer stuck/);
    expect(deathsIn(watcher).sort()).toEqual(idsOf([...killed, missed!]));
    expect(
      eventsOf(watcher).find((event) => event.containerId === missed!.id && event.exitCode === 7),
    ).toBeDefined();
  });
});

describe('slow inspect of 300 pods', () => {
  it('takes a fraction of the time that the calls take one after another', async () => {
    await using node = await ChaosNode.start({ pods: 300, containersPerPod: 1 });
    const watcher = node.watch('--relist-period', '200ms');
    await untilStarted(watcher, 600);
    node.replaceRules(await readScenario('slow-inspect'));
    const startedMs = performance.now();
    const killed = await node.control.kill({});
    await eventually(() => expect(deathsIn(watcher).sort()).toEqual(idsOf(killed)));
    const tookMs = performance.now() - startedMs;
    // What the kubelet would have needed for the same calls.
    const inSeriesMs = node.injections.length * 100;
    expect(node.injections.length).toBeGreaterThanOrEqual(600);
    expect(inSeriesMs / tookMs).toBeGreaterThan(1.2);
    expect(watcher.stderr.join('\n')).not.toContain('unhealthy');
  });
});

describe('lost events', () => {
  it('are made up for by looking: every death is seen once although nobody tells of it', async () => {
    await using node = await ChaosNode.start({ pods: 10, containersPerPod: 2 });
    node.replaceRules(await readScenario('lost-events'));
    const watcher = node.watch('--mode', 'auto');
    await untilStarted(watcher, 30);
    const expected: string[] = [];
    for (const { uid } of await node.control.pods()) {
      expected.push(...idsOf(await node.control.kill({ podUids: [uid], count: 1 })));
      await node.control.restart({ podUids: [uid] });
    }
    await eventually(() => expect(deathsIn(watcher).sort()).toEqual([...expected].sort()));
    const dropped = node.injections.filter(({ fault }) => fault === 'drop-events');
    expect(dropped.map(({ containerId }) => containerId).sort()).toEqual([...expected].sort());
    await untilStarted(watcher, 40);
    // What comes late says nothing new.
    await sleepFor(2_000);
    expect(deathsIn(watcher)).toHaveLength(expected.length);
    expect(eventsOf(watcher).filter(({ type }) => type === 'ContainerStarted')).toHaveLength(40);
  });
});

describe('a runtime restart', () => {
  it('is told of, is over by itself, and makes nothing die that goes on running', async () => {
    await using node = await ChaosNode.start({ pods: 30, containersPerPod: 2 });
    const watcher = node.watch('--mode', 'auto');
    await untilStarted(watcher, 90);
    node.replaceRules(await readScenario('runtime-restart', { '5s': '1s', '8s': '3s' }));
    await watcher.line('stderr', /"Runtime is gone, waiting for it to come back"/);
    // While nobody can see it.
    const killed = await node.control.kill({ count: 5 });
    await watcher.line('stderr', /"Runtime is back"/);
    await eventually(() => expect(deathsIn(watcher).sort()).toEqual(idsOf(killed)));
    expect(node.injections.filter(({ fault }) => fault === 'truncate-list').length).toBeGreaterThan(0);
    // Events flow again after it.
    const more = await node.control.kill({ count: 1 });
    await eventually(() => expect(deathsIn(watcher).sort()).toEqual(idsOf([...killed, ...more])));
    expect(eventsOf(watcher).filter(({ type }) => type === 'ContainerRemoved')).toEqual([]);
    expect(eventsOf(watcher).filter(({ type }) => type === 'ContainerStarted')).toHaveLength(90);
  });
});

describe('the full event channel', () => {
  it('folds what does not fit, forgets no pod, and goes on', async () => {
    await using node = await ChaosNode.start({ pods: 400, containersPerPod: 2 });
    const watcher = node.watch('--mode', 'auto', '--relist-period', '200ms');
    // A reader that does not read: what is printed piles up in the pipe, then in the queue.
    watcher.child.stdout!.pause();
    const calls = async (method: string): Promise<number> =>
      (await node.control.counters()).calls[method] ?? 0;
    await untilAsync(async () => (await calls('GetContainerEvents')) === 1);
    await untilAsync(async () => (await calls('ContainerStatus')) >= 800);
    node.replaceRules(await readScenario('full-event-channel', { '10s': '0s', '12s': '1h' }));
    await node.control.kill({ count: 300 });
    const injected = (fault: string): number => node.injections.filter((each) => each.fault === fault).length;
    await eventually(() => expect(injected('duplicate-events')).toBe(300));
    await eventually(() => expect(injected('truncate-list')).toBeGreaterThan(1));
    node.replaceRules('rules: []');
    // All of it has been looked at again.
    await untilAsync(async () => (await calls('ContainerStatus')) >= 1_600);
    watcher.child.stdout!.resume();
    const pods = await node.control.pods();
    await eventually(() => {
      const heardOf = new Set(eventsOf(watcher).map(({ pod }) => pod.uid));
      expect(pods.filter(({ uid }) => !heardOf.has(uid))).toEqual([]);
    });
    await eventually(() => {
      const folds = eventsOf(watcher).filter(({ folded = 0 }) => folded > 0);
      expect(new Set(folds.map(({ type }) => type))).toContain('PodSync');
    });
    // It is as wide awake as before.
    const [last] = await node.control.kill({ count: 1 }, { exitCode: 9 });
    await eventually(() => expect(deathsIn(watcher)).toContain(last!.id));
    expect(watcher.stderr.join('\n')).not.toContain('unhealthy');
  });
});

describe('a list over the message limit', () => {
  it('is said for what it is, removes nothing, and is over with the next list', async () => {
    await using node = await ChaosNode.start({ pods: 10, containersPerPod: 2 });
    const watcher = node.watch('--relist-period', '100ms', '-v', '2');
    await untilStarted(watcher, 30);
    node.replaceRules(await readScenario('list-over-the-limit'));
    await watcher.line('stderr', /list_containers.*ResourceExhausted.*larger than max/);
    const killed = await node.control.kill({ count: 3 });
    expect(deathsIn(watcher)).toEqual([]);
    node.replaceRules('rules: []');
    await eventually(() => expect(deathsIn(watcher).sort()).toEqual(idsOf(killed)));
    expect(eventsOf(watcher).filter(({ type }) => type === 'ContainerRemoved')).toEqual([]);
  });

  it('is not noticed where the runtime has streaming lists', async () => {
    await using node = await ChaosNode.start({ pods: 10, containersPerPod: 2 });
    await node.control.setFaults({ streamingLists: true });
    node.replaceRules(await readScenario('list-over-the-limit'));
    const watcher = node.watch('--relist-period', '100ms');
    await untilStarted(watcher, 30);
    const killed = await node.control.kill({ count: 3 });
    await eventually(() => expect(deathsIn(watcher).sort()).toEqual(idsOf(killed)));
    await using client = clientOf(node.proxy.endpoint);
    await expect(client.listContainers()).rejects.toMatchObject({ code: 'CRI_RESOURCE_EXHAUSTED' });
  });
});

function clientOf(endpoint: string): CriClient & AsyncDisposable {
  const client = new CriClient({ endpoint });
  return Object.assign(client, { [Symbol.asyncDispose]: async () => client.close() });
}
