import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { PODS, statusOf, untilEvent, untilPhase } from './harness/pods-seen.js';
import { untilAsync } from './harness/until-async.js';

const run = promisify(execFile);
const found = findClusterBinaries();
const CRITICAL = { priorityClassName: 'system-node-critical', priority: 2_000_001_000 };
const CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {nodefs.available: 40%, nodefs.inodesFree: 40%}
evictionPressureTransitionPeriod: 15s
`;

const MEBIBYTE = 2 ** 20;
const INODES = 20_000;

/** A node whose root folder is on a disk of 200 MiB of its own, of which 80 have to be left, as 8,000 of its inodes. Each test begins with an empty one. */
describe.skipIf('missing' in found)('a node of a real control plane that is short of disk', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;
  /** Of what there is, the last one first. */
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    if ('missing' in found) return;
    const folder = await mkdtemp(join(tmpdir(), 'podloop-eviction-'));
    ends.unshift(async () => rm(folder, { recursive: true, force: true }));
    const config = join(folder, 'kubelet.yaml');
    await writeFile(config, CONFIG);
    plane = await ControlPlane.start(found);
    ends.unshift(async () => plane[Symbol.asyncDispose]());
    agent = await ClusterAgent.prepare(plane, 'lab-a', '--config', config);
    ends.unshift(async () => agent[Symbol.asyncDispose]());
    await mkdir(agent.rootDir);
    await run('mount', ['-t', 'tmpfs', '-o', `size=200m,nr_inodes=${INODES}`, 'podloop-test', agent.rootDir]);
    agent.start();
    await untilAsync('a node that is ready', async () => isReady(await node()));
  });

  afterAll(async () => {
    for (const end of ends) await end();
  });

  beforeEach(async () => {
    await plane.admin.request({ method: 'DELETE', path: PODS });
    await untilAsync('a node without pods', async () => {
      const { items } = await plane.admin.request<{ items: Pod[] }>({ method: 'GET', path: PODS });
      return items.length === 0;
    });
    await untilAsync('a node that is short of nothing', async () => !(await isShort()));
  });

  const node = async (): Promise<Node> =>
    plane.admin.request<Node>({ method: 'GET', path: '/api/v1/nodes/lab-a' });
  const isShort = async (): Promise<boolean> =>
    (await node()).status?.conditions?.find(({ type }) => type === 'DiskPressure')?.status === 'True';
  /** A pod that writes so many MiB, or does something else, and then stays; onto the node, whatever a scheduler would say. */
  const bind = async (
    name: string,
    what: number | string,
    more: object = {},
    limit?: string,
  ): Promise<void> => {
    const write = typeof what === 'string' ? what : `head -c ${what}M /dev/zero > /data/file`;
    const script = `${write}; trap "exit 0" TERM; while :; do sleep 0.2; done`;
    const container = {
      ...{ name: 'main', image: HOST_IMAGE, command: ['sh', '-c', script] },
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      ...(limit !== undefined && { resources: { limits: { 'ephemeral-storage': limit } } }),
    };
    const spec = {
      ...{ nodeName: 'lab-a', terminationGracePeriodSeconds: 2, containers: [container] },
      ...{ volumes: [{ name: 'data', emptyDir: {} }], ...more },
    };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
    await plane.admin.request({ method: 'POST', path: PODS, body });
  };

  /** A pod that was evicted so that others can go on. */
  const disruption = (message: unknown): unknown =>
    expect.objectContaining({
      ...{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
    });

  it('evicts who has written most, but nobody who is critical, and says why', async () => {
    await bind('critical', 70, CRITICAL);
    await bind('modest', 10);
    for (const name of ['critical', 'modest']) await untilPhase(plane, name, 'Running');
    await bind('greedy', 50);
    const status = await untilPhase(plane, 'greedy', 'Failed');
    const message = expect.stringMatching(
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: 80Mi, available: \d+Ki\. /,
    ) as string;
    expect(status).toMatchObject({ reason: 'Evicted', message });
    expect(status.conditions).toContainEqual(disruption(message));
    expect(await untilEvent(plane, 'greedy', 'Evicted')).toEqual(message);
    expect(await untilEvent(plane, 'lab-a', 'EvictionThresholdMet')).toBe(
      'Attempting to reclaim ephemeral-storage',
    );
    await untilAsync('a node that is short no more', async () => !(await isShort()));
    for (const name of ['critical', 'modest'])
      expect(await statusOf(plane, name)).toMatchObject({ phase: 'Running' });
  });

  it('evicts who has made most files, when it is short of inodes', async () => {
    const files = (count: number): string => `cd /data && seq ${count} | xargs touch`;
    await bind('tidy', files(500));
    await untilPhase(plane, 'tidy', 'Running');
    await bind('files', files(INODES * 0.65));
    const message = expect.stringMatching(/^The node was low on resource: inodes\. /) as string;
    const status = await untilPhase(plane, 'files', 'Failed');
    expect(status).toMatchObject({ reason: 'Evicted', message });
    expect(await untilEvent(plane, 'files', 'Evicted')).toEqual(message);
    await untilAsync('a node that is short no more', async () => !(await isShort()));
    expect(await statusOf(plane, 'tidy')).toMatchObject({ phase: 'Running' });
  });

  it('takes critical pods alone while it is short, and all of them again once it is not', async () => {
    const ballast = join(agent.rootDir, 'ballast');
    await writeFile(ballast, Buffer.alloc(130 * MEBIBYTE));
    await untilAsync('a node that says that it is short', isShort);
    await bind('late', 1);
    expect(await untilPhase(plane, 'late', 'Failed')).toMatchObject({
      ...{ reason: 'Evicted', message: 'The node had condition: [DiskPressure]. ' },
    });
    await bind('critical-late', 1, CRITICAL);
    await untilPhase(plane, 'critical-late', 'Running');
    expect(await isShort()).toBe(true);
    await rm(ballast);
    await untilAsync('a node that is short no more', async () => !(await isShort()));
    await bind('welcome', 1);
    await untilPhase(plane, 'welcome', 'Running');
    expect(await statusOf(plane, 'critical-late')).toMatchObject({ phase: 'Running' });
  });

  it('evicts who is beyond its own limit, though it is short of nothing', async () => {
    await bind('within', 4, {}, '5Mi');
    await untilPhase(plane, 'within', 'Running');
    await bind('limited', 6, {}, '5Mi');
    await bind('critical-limited', 6, CRITICAL, '5Mi');
    const status = await untilPhase(plane, 'limited', 'Failed');
    expect(status).toMatchObject({
      reason: 'Evicted',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ',
    });
    expect(status.conditions?.map(({ type }) => type)).not.toContain('DisruptionTarget');
    for (const name of ['within', 'critical-limited'])
      expect(await statusOf(plane, name)).toMatchObject({ phase: 'Running' });
    expect(await isShort()).toBe(false);
  });

  it('leaves an evicted pod as it is after the agent was killed', async () => {
    await bind('hog', 130);
    await untilPhase(plane, 'hog', 'Failed');
    await agent.kill();
    agent.start();
    await untilAsync('a node that is short no more', async () => !(await isShort()));
    await bind('after', 1);
    await untilPhase(plane, 'after', 'Running');
    const { metadata, status } = await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/hog` });
    const message = expect.stringContaining('The node was low on resource: ephemeral-storage. ') as string;
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    expect(status?.conditions).toContainEqual(disruption(message));
    expect(status?.containerStatuses?.filter(({ state }) => state?.running)).toEqual([]);
    const volume = join(agent.rootDir, 'pods', metadata!.uid!, 'volumes/kubernetes.io~empty-dir/data');
    await untilAsync('its volume to be gone', async () =>
      access(volume).then(
        () => false,
        () => true,
      ),
    );
  });
});
