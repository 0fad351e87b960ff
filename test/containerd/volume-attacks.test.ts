/**
 * Containers that attack the node through volumes while a real containerd mounts them.
 *
 * @module
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AgentNode } from '../integration/pod-stories/agent-node.js';
import { type StoryRuntime } from '../integration/pod-stories/story-suite.js';
import { startStoryRuntime } from './harness/story-runtime.js';

const IMAGE = 'podloop.test/programs:1';
const VICTIMS = 12;

describe('volumes on containerd 1.7', () => {
  let folder: string;
  let runtime: StoryRuntime;
  let node: AgentNode;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-volume-attacks-'));
    runtime = await startStoryRuntime('1.7');
    const agent = { maxContainerRestartPeriodMs: 1_000 };
    node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent });
  }, 120_000);
  afterAll(async () => {
    for (const name of await readdir(node.manifestFolder)) await rm(join(node.manifestFolder, name));
    await until(() => node.agent.statuses().length === 0, 60_000).catch(() => undefined);
    await node.stop();
    await runtime.end();
    await rm(folder, { recursive: true, force: true });
  }, 120_000);

  async function put(name: string, spec: object): Promise<void> {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { hostNetwork: true, ...spec } };
    await writeFile(join(node.manifestFolder, `${name}.json`), JSON.stringify(pod));
  }
  /** Waits until a condition holds; else tells what has become of the pods. */
  async function until(isSo: () => boolean | Promise<boolean>, timeout: number): Promise<void> {
    const look = async (): Promise<void> => {
      const pods = node.agent.statuses().map(({ pod, status }) => `${pod.name} ${status.phase}`);
      const told = ['swapped', 'keeper', 'peeper'].flatMap((name) => node.eventsOf(name).slice(-4));
      expect(await isSo(), [...pods, ...told].join('\n')).toBe(true);
    };
    await vi.waitFor(look, { timeout, interval: 100 });
  }
  const phaseOf = (name: string): string | undefined =>
    node.agent.statuses().find(({ pod }) => pod.name === `${name}-test`)?.status.phase;
  const restartsOf = (name: string): number =>
    (node.agent.statuses().find(({ pod }) => pod.name === `${name}-test`)?.status.containerStatuses ?? [])
      .map(({ restartCount }) => restartCount)
      .reduce((sum, count) => sum + count, 0);

  it('never show a container the node when a part of them is swapped for a link while it is mounted', async () => {
    await mkdir(join(folder, 'of-the-node'));
    await writeFile(join(folder, 'of-the-node', 'precious'), 'precious');
    const swap = `cd /data; while :; do mkdir -p part 2>/dev/null; rmdir part 2>/dev/null; ln -s ${folder}/of-the-node part 2>/dev/null; rm -f part; done`;
    const look = 'if [ -e /part/precious ]; then echo ESCAPED; else echo inside; fi; exit 1';
    const victims = Array.from({ length: VICTIMS }, (_, at) => ({
      ...{ name: `victim-${at}`, image: IMAGE, command: ['sh', '-c', look] },
      volumeMounts: [{ name: 'data', mountPath: '/part', subPath: 'part' }],
    }));
    const swapper = {
      ...{ name: 'swapper', image: IMAGE, command: ['sh', '-c', swap] },
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    };
    const volumes = [{ name: 'data', emptyDir: {} }];
    await put('swapped', { terminationGracePeriodSeconds: 0, containers: [swapper, ...victims], volumes });
    await until(() => restartsOf('swapped') >= 2 * VICTIMS, 120_000);
    const seen = await Promise.all(victims.map(async ({ name }) => node.logOf('swapped', name)));
    const lines = seen.flat();
    expect(lines.filter((line) => line.includes('ESCAPED'))).toEqual([]);
    expect(lines.filter((line) => line.includes('inside')).length).toBeGreaterThan(0);
    expect(await readdir(join(folder, 'of-the-node'))).toEqual(['precious']);
    await rm(join(node.manifestFolder, 'swapped.json'));
    await until(() => phaseOf('swapped') === undefined, 60_000);
  }, 240_000);

  it('of a pod are cleared without following what another pod has planted in them', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'key' },
      stringData: { key: 'swordfish' },
    };
    await writeFile(join(node.manifestFolder, 'key.json'), JSON.stringify(secret));
    const stay = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
    const main = { name: 'main', image: IMAGE, command: ['sh', '-c', stay] };
    await put('keeper', {
      containers: [
        {
          ...main,
          volumeMounts: [
            { name: 'data', mountPath: '/data' },
            { name: 'key', mountPath: '/key' },
          ],
        },
      ],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'key', secret: { secretName: 'key' } },
      ],
    });
    await until(() => phaseOf('keeper') === 'Running', 60_000);
    const uid = node.agent.statuses().find(({ pod }) => pod.name === 'keeper-test')!.pod.uid;
    const pods = join(folder, 'node', 'pods');
    // It has the volumes of all pods, mounts included, and stands in one of them.
    const plant = [
      `d=/pods/${uid}/volumes/kubernetes.io~empty-dir/data`,
      `ln -s ${folder}/of-the-node $d/link`,
      `mkdir $d/deep; ln -s / $d/deep/root`,
      `cat /pods/${uid}/volumes/kubernetes.io~secret/key/key; echo`,
      `cd /pods/${uid}/volumes/kubernetes.io~secret/key`,
      stay,
    ].join('\n');
    await put('peeper', {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...main,
          command: ['sh', '-c', plant],
          volumeMounts: [{ name: 'pods', mountPath: '/pods' }],
        },
      ],
      volumes: [{ name: 'pods', hostPath: { path: pods, type: 'Directory' } }],
    });
    await until(async () => (await node.logOf('peeper', 'main')).length > 0, 60_000);
    await rm(join(node.manifestFolder, 'keeper.json'));
    await until(async () => !(await readdir(pods)).includes(uid), 90_000);
    expect(await readFile(join(folder, 'of-the-node', 'precious'), 'utf8')).toBe('precious');
    expect(phaseOf('peeper')).toBe('Running');
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(uid);
  }, 240_000);
});
