import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/client.js';
import { type SpawnedSyntheticRuntime, spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { PODLOOP_MAIN, PodloopProcess } from './podloop-process.js';

/** The keys of an event as JSON that these tests look at. */
interface EventRecord {
  readonly time: string;
  readonly type: string;
  readonly kind?: string;
  readonly pod: { readonly uid: string; readonly namespace: string; readonly name: string };
  readonly containerId?: string;
  readonly container?: string;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly trigger: string;
  readonly latencyMs?: number;
}

async function startNode(pods = 2): Promise<SpawnedSyntheticRuntime> {
  return spawnSyntheticRuntime({ pods, containersPerPod: 2 });
}

function watch(node: { endpoint: string }, ...flags: string[]): PodloopProcess {
  return new PodloopProcess([
    'watch',
    '--runtime-endpoint',
    node.endpoint,
    '--relist-period',
    '100ms',
    ...flags,
  ]);
}

/** Whether a line is an event of that container, and of that type. */
function isEvent(type: string, containerId: string): (line: string) => boolean {
  return (line) => line.includes(`"${type}"`) && line.includes(containerId);
}

describe('podloop watch', () => {
  it('prints each event as one line of JSON on standard output, and nothing else there', async () => {
    await using node = await startNode();
    await using podloop = watch(node, '-o', 'json');
    const [pod] = await node.control.pods();
    const [container] = pod!.containers;
    const started = JSON.parse(
      await podloop.line('stdout', isEvent('ContainerStarted', container!.id)),
    ) as EventRecord;
    expect(started).toMatchObject({
      kind: 'container',
      pod: { uid: pod!.uid, namespace: pod!.namespace, name: pod!.name },
      container: container!.name,
      trigger: 'initial',
    });
    await node.control.kill({ containerIds: [container!.id] }, { exitCode: 3 });
    const died = JSON.parse(
      await podloop.line('stdout', isEvent('ContainerDied', container!.id)),
    ) as EventRecord;
    expect(died).toMatchObject({
      containerId: container!.id,
      exitCode: 3,
      reason: 'Error',
      trigger: 'relist',
    });
    expect(died.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
    expect(died.latencyMs).toBeTypeOf('number');
    await node.control.remove({ containerIds: [container!.id] });
    await podloop.line('stdout', isEvent('ContainerRemoved', container!.id));
    expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
    const records = podloop.stdout.map((line) => JSON.parse(line) as EventRecord);
    // Two sandboxes and four containers that were there, a death and a removal.
    expect(records.map((record) => record.type).sort()).toEqual([
      'ContainerDied',
      'ContainerRemoved',
      ...Array<string>(6).fill('ContainerStarted'),
    ]);
    expect(podloop.stderr.filter((line) => !line.startsWith('I'))).toEqual([]);
  });

  it('reads like the kubelet’s log as text, so that one finds a pod by its uid', async () => {
    await using node = await startNode(1);
    await using podloop = watch(node);
    const [pod] = await node.control.pods();
    const [container] = pod!.containers;
    await node.control.kill({ containerIds: [container!.id] }, { exitCode: 137, reason: 'OOMKilled' });
    const line = await podloop.line('stdout', isEvent('ContainerDied', container!.id));
    const name = `${pod!.namespace}/${pod!.name}`;
    expect(line.replace(/^I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ event-text\.js:\d+\] /, '')).toBe(
      `"SyncLoop (PLEG): event for pod" pod="${name}" event={"ID":"${pod!.uid}","Type":"ContainerDied","Data":"${container!.id}"}` +
        ` podUID="${pod!.uid}" containerName="${container!.name}" exitCode=137 reason="OOMKilled"`,
    );
    expect(await podloop.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('shows one pod or one namespace only, when told', async () => {
    await using node = await startNode(3);
    const [wanted, other] = await node.control.pods();
    await using ofPod = watch(node, '--pod', wanted!.name, '-o', 'json');
    await using ofNowhere = watch(node, '--namespace', 'no-such-namespace');
    await using ofAll = watch(node, '-o', 'wide');
    await ofPod.line('stdout', isEvent('ContainerStarted', wanted!.containers[0]!.id));
    await ofNowhere.line('stderr', /"Watching"/);
    await ofAll.line('stdout', isEvent('ContainerStarted', other!.containers[0]!.id));
    await node.control.kill({ podUids: [other!.uid] });
    await node.control.kill({ podUids: [wanted!.uid], count: 1 });
    await ofPod.line('stdout', isEvent('ContainerDied', wanted!.containers[0]!.id));
    const wide = await ofAll.line('stdout', isEvent('ContainerDied', other!.containers[1]!.id));
    expect(wide).toMatch(/ kind="container" owner="kubernetes" trigger="relist" latency="[0-9.]+[mµ]?s"$/);
    for (const podloop of [ofPod, ofNowhere, ofAll]) {
      expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
    }
    expect(new Set(ofPod.stdout.map((line) => (JSON.parse(line) as EventRecord).pod.uid))).toEqual(
      new Set([wanted!.uid]),
    );
    expect(ofNowhere.stdout).toEqual([]);
  });

  it('ends quietly when its reader goes away', async () => {
    await using node = await startNode(1);
    await using podloop = watch(node);
    await podloop.line('stdout', /ContainerStarted/);
    podloop.child.stdout!.destroy();
    await node.control.addPods({ count: 1, containersPerPod: 1 });
    expect(await podloop.ended).toEqual({ code: 0, signal: null });
    expect(podloop.stderr.filter((line) => !line.startsWith('I'))).toEqual([]);
  });

  it('ends when it is told to even if its reader does not read', async () => {
    await using node = await startNode(400);
    const args = [PODLOOP_MAIN, 'watch', '--runtime-endpoint', node.endpoint];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    try {
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      let told = '';
      child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
      // Its queue is full and the pipe too: status calls of all pods have been made, and nobody has read a line.
      await expect.poll(() => told, { timeout: 30_000 }).toContain('"Watching"');
      await expect
        .poll(async () => (await node.control.counters()).calls['PodSandboxStatus'], { timeout: 30_000 })
        .toBeGreaterThanOrEqual(400);
      child.kill('SIGINT');
      expect(await ended).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('goes on while a pod hangs, names it, and says when it is over', async () => {
    await using node = await startNode(2);
    const [stuck, other] = await node.control.pods();
    await using podloop = watch(node);
    await podloop.line('stdout', isEvent('ContainerStarted', stuck!.containers[0]!.id));
    await node.control.setFaults({ hungPods: [stuck!.uid] });
    await node.control.kill({ podUids: [stuck!.uid], count: 1 });
    const line = await podloop.line('stderr', /"Pod is stuck in the runtime/);
    expect(line).toMatch(/^W.* podUID="/);
    expect(line).toContain(`pod="${stuck!.namespace}/${stuck!.name}" podUID="${stuck!.uid}" state="hung"`);
    await node.control.kill({ podUids: [other!.uid], count: 1 });
    await podloop.line('stdout', isEvent('ContainerDied', other!.containers[0]!.id));
    await node.control.setFaults({ hungPods: [] });
    await podloop.line('stdout', isEvent('ContainerDied', stuck!.containers[0]!.id));
    await podloop.line('stderr', /"Pod is no longer stuck"/);
    expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
    expect(podloop.stderr.filter((one) => one.includes('"Pod is stuck'))).toHaveLength(1);
  });

  it('says when the list of pods is not answered, and when it is again', async () => {
    await using node = await startNode(1);
    await using podloop = watch(node);
    await podloop.line('stdout', /ContainerStarted/);
    await node.control.setFaults({ listsHang: true });
    await podloop.line('stderr', /"The runtime does not answer the list of pods" for="\d+s"/);
    await node.control.setFaults({ listsHang: false });
    await podloop.line('stderr', /"The runtime answers the list of pods again"/);
    expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
  });

  it('falls back to polling when events are asked of a runtime without them, and says so', async () => {
    await using node = await startNode(1);
    await node.control.setFaults({ events: 'unimplemented' });
    await using podloop = watch(node, '--mode', 'evented', '-o', 'json');
    await podloop.line('stderr', /has no container events; falling back to polling/);
    const [pod] = await node.control.pods();
    await podloop.line('stdout', isEvent('ContainerStarted', pod!.containers[0]!.id));
    await node.control.kill({ podUids: [pod!.uid], count: 1 });
    const died = JSON.parse(
      await podloop.line('stdout', isEvent('ContainerDied', pod!.containers[0]!.id)),
    ) as EventRecord;
    expect(died.trigger).toBe('relist');
    expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
  });

  it('uses events when it is asked to', async () => {
    await using node = await startNode(30);
    await using podloop = watch(node, '--mode', 'evented', '--relist-period', '1h', '-o', 'json');
    await podloop.line('stdout', /ContainerStarted/);
    const triggers: string[] = [];
    // The looks that belong to the start see the first deaths, maybe; with such a period no later look does.
    for (const { containers } of await node.control.pods()) {
      const { id } = containers[0]!;
      await node.control.kill({ containerIds: [id] });
      const died = await podloop.line('stdout', isEvent('ContainerDied', id));
      triggers.push((JSON.parse(died) as EventRecord).trigger);
      if (triggers.includes('event')) break;
    }
    expect(triggers.at(-1)).toBe('event');
    expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
  });
});

describe('podloop watch while the runtime is killed and started again', () => {
  it('says once that it is gone, goes on when it is back, and shows what happened since', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-watch-'));
    const endpoint = `unix://${join(folder, 'cri.sock')}`;
    const runtimeArgs = ['runtime', '--listen', endpoint, '--root', join(folder, 'root')];
    try {
      await using client = new CriClient({ endpoint });
      await using first = new PodloopProcess(runtimeArgs);
      await first.line('stderr', /Listening/);
      await using podloop = watch({ endpoint }, '-o', 'json');
      const sandbox = { metadata: { uid: 'u1', namespace: 'default', name: 'web', attempt: 0 } };
      const { podSandboxId } = await client.runPodSandbox({ config: sandbox });
      await podloop.line('stdout', isEvent('ContainerStarted', podSandboxId));
      await first.end('SIGKILL');
      const gone = await podloop.line('stderr', /"Runtime is gone, waiting for it to come back"/);
      expect(gone).toContain(`endpoint="${endpoint}"`);

      await using second = new PodloopProcess(runtimeArgs);
      await second.line('stderr', /Listening/);
      await podloop.line('stderr', /"Runtime is back"/);
      await client.stopPodSandbox({ podSandboxId });
      await client.removePodSandbox({ podSandboxId });
      await podloop.line('stdout', isEvent('ContainerRemoved', podSandboxId));
      expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
      expect(podloop.stderr.filter((line) => line.includes('Runtime is gone'))).toHaveLength(1);
      expect(podloop.stdout.filter(isEvent('ContainerStarted', podSandboxId))).toHaveLength(1);
      await second.end('SIGTERM');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
