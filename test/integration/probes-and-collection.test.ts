/**
 * Probes and collectors on a real runtime: commands that run in containers, logs that are written while they are
 * rotated, containers that are gone for good.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ContainerCollector } from '../../src/node/resources/gc/container-collector.js';
import { LogRotator } from '../../src/node/resources/gc/log-rotator.js';
import { ownedBy } from '../../src/watch/observed/ownership.js';
import { type Probe } from '#kube/container/container.js';
import { ProbeManager } from '../../src/node/probes/probe-manager.js';
import { probeRunner } from '../../src/node/probes/probe-runner.js';
import { observedTargets } from '../../src/node/probes/probe-targets.js';
import { CriRuntimeChanges } from '../../src/node/runtime/cri-runtime-changes.js';
import { CriRuntime } from '../../src/watch/observed/cri-runtime.js';
import { LABELS } from '../../src/watch/observed/labels.js';
import { PodPaths } from '../../src/watch/observed/pod-paths.js';
import { emptyPodStatus, type PodStatus } from '../../src/watch/observed/runtime.js';
import { aProbe, aProbedPod } from '#support/harness/probe-harness.js';
import { SystemClock } from '#base/time/clock.js';
import { type ProbeEnd, probeEnded, probeNotRun } from '#base/channels/probe-channels.js';
import { EmbeddedNode, until } from './embedded-node.js';

const never = new AbortController().signal;
const clock = new SystemClock();
const MINE = { [LABELS.nodeInstance]: 'me' };

let node: EmbeddedNode;
let runtime: CriRuntime;
let changes: CriRuntimeChanges;
beforeAll(async () => {
  node = await EmbeddedNode.start();
  runtime = new CriRuntime({ client: node.client });
  changes = new CriRuntimeChanges({ client: node.client });
});
afterEach(async () => {
  await node.clear();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** What the runtime shows now, as a cache would have it. */
class View {
  readonly #pods = new Map<string, PodStatus>();

  async look(): Promise<this> {
    this.#pods.clear();
    for (const pod of await runtime.listPods()) this.#pods.set(pod.uid, await runtime.getPodStatus(pod));
    return this;
  }

  uids(): Iterable<string> {
    return this.#pods.keys();
  }

  get(uid: string): { status: PodStatus; error: undefined } {
    return { status: this.getLastKnown(uid), error: undefined };
  }

  getLastKnown(uid: string): PodStatus {
    return this.#pods.get(uid) ?? emptyPodStatus(uid);
  }
}

describe('a probe that runs a command in a container', () => {
  it('finds out what the command does, when it fails and when it hangs', async () => {
    const sandbox = await node.runPod('web');
    const id = await node.run(sandbox, 'main', 'exec sleep 1000');
    const view = await new View().look();
    await using probes = new ProbeManager({
      clock,
      targets: observedTargets(view, () => ''),
      runProbe: probeRunner({ clock, commands: changes }),
    });
    const ends: ProbeEnd[] = [];
    const stop = probeEnded.subscribe((end) => ends.push(end));
    const endOf = (type: ProbeEnd['type']): Promise<ProbeEnd | undefined> =>
      until(
        () => ends.find((end) => end.type === type && end.outcome !== 'void'),
        (end) => end !== undefined,
      );
    const exec = (script: string): Probe => {
      const { tcpSocket: _, ...probe } = aProbe({ exec: { command: ['sh', '-c', script] } });
      return probe;
    };
    probes.addPod(
      aProbedPod({
        readinessProbe: exec('echo fine'),
        livenessProbe: exec('sleep 30'),
        startupProbe: exec('exit 0'),
      }),
    );
    expect(await endOf('startup')).toMatchObject({ outcome: 'success', containerId: id });
    expect(await endOf('readiness')).toMatchObject({ outcome: 'success', message: 'fine\n' });
    expect(await endOf('liveness')).toMatchObject({
      outcome: 'failure',
      message: 'command timed out: "sh -c sleep 30" timed out after 1s',
    });
    await until(
      () => probes.failure(id),
      (failure) => failure !== undefined,
    );
    stop();
    expect([probes.readiness(id), probes.started(id)]).toEqual([true, true]);
  });
});

it.each([['/no/such/program'], ['no-such-program'], ['/etc/passwd'], ['/etc'], ['']])(
  'a probe whose command is %j counts neither way, and is published after failureThreshold',
  async (program) => {
    const sandbox = await node.runPod('web');
    await node.run(sandbox, 'main', 'exec sleep 1000');
    const view = await new View().look();
    await using probes = new ProbeManager({
      clock,
      targets: observedTargets(view, () => ''),
      runProbe: probeRunner({ clock, commands: changes }),
    });
    const ends: string[] = [];
    const notRun: string[] = [];
    const leaveEnds = probeEnded.subscribe(({ outcome }) => ends.push(outcome));
    const leaveNotRun = probeNotRun.subscribe(({ type, times }) => notRun.push(`${type} ${times}`));
    const { tcpSocket: _, ...probe } = aProbe({ exec: { command: [program] }, failureThreshold: 2 });
    probes.addPod(aProbedPod({ livenessProbe: probe }));
    await until(
      () => notRun,
      (published) => published.length > 0,
    );
    leaveEnds();
    leaveNotRun();
    expect(notRun).toEqual(['liveness 2']);
    expect(new Set(ends.filter((outcome) => outcome !== 'void'))).toEqual(new Set(['error']));
  },
);

describe('a log that is rotated while it is written', () => {
  it('has every line once, in order, over all its files', async () => {
    const sandbox = await node.runPod('web');
    const script = 'i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done; exec sleep 1000';
    await mkdir(node.logs, { recursive: true });
    await node.run(sandbox, 'main', script, { labels: MINE, logPath: '0.log' });
    const path = join(node.logs, '0.log');
    const view = new View();
    const rotator = new LogRotator({
      clock,
      pods: view,
      isOurs: ownedBy('me'),
      changes,
      podLogsDir: node.logs,
      maxSizeBytes: 4_096,
      maxFiles: 1_000,
    });
    let rotations = 0;
    const lines = await until(
      async () => {
        await view.look();
        await rotator.rotate(never);
        rotations++;
        return await linesOf(path);
      },
      (all) => all.includes('line 3999'),
    );
    expect(lines).toEqual(Array.from({ length: 4_000 }, (_, index) => `line ${index}`));
    const files = (await readdir(node.logs)).filter((name) => name.startsWith('0.log.'));
    expect(files.length).toBeGreaterThan(0);
    expect(files.some((name) => name.endsWith('.tmp'))).toBe(false);
    expect(rotations).toBeGreaterThan(0);
  });
});

/** All lines of a log, from its oldest file to its newest. */
async function linesOf(path: string): Promise<string[]> {
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(`${basename(path)}.`)).sort();
  const texts = await Promise.all(
    [...names, basename(path)].map(async (name) => {
      const bytes = await readFile(join(dirname(path), name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    }),
  );
  const lines = texts.join('').split('\n').slice(0, -1);
  return lines.map((line) => line.split(' ').slice(3).join(' '));
}

describe('what is dead', () => {
  it('goes beyond the newest, and all of it once the pod is gone; what others made stays', async () => {
    const mine = await node.runPod('mine', { labels: MINE });
    const foreign = await node.runPod('foreign');
    for (const [sandbox, labels] of [[mine, MINE] as const, [foreign, {}] as const]) {
      for (const attempt of [0, 1, 2]) {
        const metadata = { name: 'main', attempt };
        const id = await node.run(sandbox, `main-${attempt}`, 'exit 3', { labels, metadata });
        await node.exited(id);
      }
    }
    const view = await new View().look();
    const gone = new Set<string>();
    const collector = new ContainerCollector({
      clock,
      pods: view,
      isOurs: ownedBy('me'),
      mayRemove: (uid) => gone.has(uid),
      changes,
      paths: new PodPaths({ rootDir: join(node.folder, 'agent'), podLogsDir: node.logs }),
    });
    expect(await collector.collect(never)).toEqual({ containers: 2, sandboxes: 0, failed: 0 });
    const left = async (name: string): Promise<number[]> =>
      (await view.look()).get(`uid-${name}`).status.containers.map(({ attempt }) => attempt);
    expect([await left('mine'), await left('foreign')]).toEqual([[2], [0, 1, 2]]);

    await changes.stopPodSandbox(mine);
    await changes.stopPodSandbox(foreign);
    await view.look();
    for (const name of ['mine', 'foreign']) gone.add(`uid-${name}`);
    expect(await collector.collect(never)).toEqual({ containers: 1, sandboxes: 1, failed: 0 });
    const { items } = await node.client.listPodSandbox({});
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(['foreign']);
    expect(await left('foreign')).toEqual([0, 1, 2]);
  });
});
