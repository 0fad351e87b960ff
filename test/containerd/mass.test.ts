/**
 * Many manifests put down at once, and all of their containers killed at once, on a real containerd.
 *
 * A few in each run of the tests; PODLOOP_MASS_PODS says how many else, and then what it took is written down.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { AgentNode } from '../integration/pod-stories/agent-node.js';
import { recordResult } from '../integration/results-page.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { BUSYBOX_IMAGE } from './harness/image.js';
import { findLeftovers } from './harness/leftovers.js';
import { CallShare, seconds, type Shares } from './mass/call-share.js';

const PODS = Number(process.env['PODLOOP_MASS_PODS'] ?? '20');
const LIMIT_MS = 300_000;
/** Looks at one container, however its changes and the events about them fall together. */
const STATUS_CALLS_PER_POD = 8;

describe(`${PODS} pods at once on containerd 1.7`, () => {
  let containerd: Containerd;
  let client: CriClient;
  let folder: string;
  let node: AgentNode;
  const values: Record<string, string | number> = {};

  beforeAll(async () => {
    containerd = await startContainerd({ version: '1.7' });
    client = new CriClient({ endpoint: containerd.endpoint });
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-mass-'));
    await mkdir(path.join(folder, 'manifests'));
    const { endpoint } = containerd;
    node = await AgentNode.start({ folder, endpoint, agent: { maxPods: 1_000, stopPods: true } });
  }, LIMIT_MS);

  afterAll(async () => {
    if (process.env['PODLOOP_MASS_PODS'] !== undefined) await record();
    await node.stop();
    client.close();
    await containerd[Symbol.asyncDispose]();
    expect(await findLeftovers(containerd.names)).toEqual([]);
    await rm(folder, { recursive: true, force: true });
  }, LIMIT_MS);

  async function record(): Promise<void> {
    await recordResult('agent', 'The node agent', {
      name: `${PODS} manifests put down at once, then ${PODS} containers killed at once, on containerd ${containerd.packageVersion}`,
      what: 'Pods of one busybox container on the host network. With no CRI call under way and something to do it is the agent alone that takes its time, but for 0.2 s at the beginning, waited for on purpose as a manifest may be half written. After the kill there is something to do as long as the runtime has told of an end and not yet of the new start. CPU is that of the whole process, in which the test runs too.',
      values,
    });
  }

  /** Restarts of all containers, once all of them run; undefined before. */
  function restartsOfRunning(): number | undefined {
    const statuses = node.agent.statuses().flatMap(({ status }) => status.containerStatuses);
    const running = statuses.filter(({ state }) => state.running !== undefined);
    if (running.length < PODS) return undefined;
    return running.reduce((sum, { restartCount }) => sum + restartCount, 0);
  }

  async function untilRestarts(count: number): Promise<void> {
    await expect.poll(restartsOfRunning, { timeout: LIMIT_MS, interval: 20 }).toBe(count);
  }

  it(
    'all run, and what the agent itself takes for that is little',
    async () => {
      await CallShare.settle();
      using share = new CallShare(containerd.pid!);
      for (let at = 0; at < PODS; at++) await writeFile(manifestFile(at), manifest(`mass-${at}`));
      await untilRestarts(0);
      const spent = await share.spent();
      Object.assign(values, spent.describe('brought up'));
      expect(spent.calls.get('ContainerStatus')).toBeLessThan(STATUS_CALLS_PER_POD * PODS);
      expect(spent.calls.get('StartContainer')).toBe(PODS);
      expect(spent.calls.get('RunPodSandbox')).toBe(PODS);
      // Whatever waits for the next look at everything, or for a tick, shows here.
      const { wallMs, queuedMs } = spent.besideCalls;
      expect(wallMs - queuedMs).toBeLessThan(spent.all.wallMs / 2);
    },
    LIMIT_MS,
  );

  it(
    'run again when all of them were killed',
    async () => {
      const pids = await containerPids();
      expect(pids).toHaveLength(PODS);
      await using events = node.agent.subscribe();
      const untilDeaths: Shares[] = [];
      await CallShare.settle();
      using share = new CallShare(containerd.pid!);
      // What no one has told the agent of is not its to work on.
      const dead = new Set<string>();
      share.noteWork(false);
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      const reading = (async () => {
        for await (const event of events) {
          if (!('kind' in event) || event.kind !== 'container') continue;
          if (event.type === 'ContainerDied') {
            untilDeaths.push(share.shares());
            dead.add(event.pod.uid);
          } else if (event.type === 'ContainerStarted') dead.delete(event.pod.uid);
          share.noteWork(dead.size > 0);
          if (untilDeaths.length === PODS && dead.size === 0) return;
        }
      })();
      await untilRestarts(PODS);
      const spent = await share.spent();
      await reading;
      const at = (part: number): string =>
        seconds(untilDeaths[Math.max(1, Math.ceil(PODS * part)) - 1]!.all.wallMs);
      Object.assign(values, {
        'killed: first death seen, half, last, s': `${at(0)}, ${at(0.5)}, ${at(1)}`,
        ...spent.describe('killed to running again'),
      });
      expect(spent.calls.get('ContainerStatus')).toBeLessThan(STATUS_CALLS_PER_POD * PODS);
      expect(spent.calls.get('StartContainer')).toBe(PODS);
      expect(spent.calls.has('RunPodSandbox')).toBe(false);
    },
    LIMIT_MS,
  );

  function manifestFile(at: number): string {
    return path.join(folder, 'manifests', `mass-${at}.json`);
  }

  /** Of the programs of the containers, as the runtime tells them. */
  async function containerPids(): Promise<number[]> {
    const { containers } = await client.listContainers({});
    return await Promise.all(
      containers.map(async ({ id }) => {
        const { info } = await client.containerStatus({ containerId: id, verbose: true });
        return (JSON.parse(info['info']!) as { pid: number }).pid;
      }),
    );
  }
});

function manifest(name: string): string {
  const container = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '100000'] };
  const spec = { hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [container] };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
}
