import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const run = promisify(execFile);
const found = findClusterBinaries();
const PODS = '/api/v1/namespaces/default/pods';
const CRITICAL = { priorityClassName: 'system-node-critical', priority: 2_000_001_000 };
const CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {nodefs.available: 40%}
evictionPressureTransitionPeriod: 15s
`;

interface Event {
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly name?: string };
}

/** A node whose root folder is on a disk of 200 MiB of its own, of which 80 have to be left. */
describe.skipIf('missing' in found)('a node of a real control plane that is short of disk', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;
  let folder: string;

  beforeAll(async () => {
    if ('missing' in found) return;
    folder = await mkdtemp(join(tmpdir(), 'podloop-eviction-'));
    const config = join(folder, 'kubelet.yaml');
    await writeFile(config, CONFIG);
    plane = await ControlPlane.start(found);
    agent = await ClusterAgent.prepare(plane, 'lab-a', '--config', config);
    await mkdir(agent.rootDir);
    await run('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'podloop-test', agent.rootDir]);
    agent.start();
    await untilAsync('a node that is ready', async () => isReady(await node()));
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const node = async (): Promise<Node> =>
    plane.admin.request<Node>({ method: 'GET', path: '/api/v1/nodes/lab-a' });
  const isShort = async (): Promise<boolean> =>
    (await node()).status?.conditions?.find(({ type }) => type === 'DiskPressure')?.status === 'True';
  /** A pod that writes so many MiB and then stays; onto the node, whatever a scheduler would say. */
  const bind = async (name: string, mebibytes: number, more: object = {}, limit?: string): Promise<void> => {
    const write = `head -c ${mebibytes}M /dev/zero > /data/file; trap "exit 0" TERM; while :; do sleep 0.2; done`;
    const container = {
      ...{ name: 'main', image: HOST_IMAGE, command: ['sh', '-c', write] },
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
  const statusOf = async (name: string) =>
    (await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}` })).status;
  const untilPhase = async (name: string, phase: string) =>
    untilAsync(`${name} to be ${phase}`, async () => {
      const status = await statusOf(name);
      return status?.phase === phase && status;
    });
  const untilEvent = async (name: string, reason: string): Promise<string> =>
    untilAsync(`the event ${reason} of ${name}`, async () => {
      const { items } = await plane.admin.request<{ items: Event[] }>({
        ...{ method: 'GET', path: '/api/v1/events' },
      });
      return items.find((each) => each.reason === reason && each.involvedObject?.name === name)?.message;
    });

  it('evicts who has written most, but nobody who is critical, and says why', async () => {
    await bind('critical', 70, CRITICAL);
    await bind('modest', 10);
    for (const name of ['critical', 'modest']) await untilPhase(name, 'Running');
    await bind('greedy', 50);
    const status = await untilPhase('greedy', 'Failed');
    const message = expect.stringMatching(
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: 80Mi, available: \d+Ki\. /,
    ) as string;
    expect(status).toMatchObject({ reason: 'Evicted', message });
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        ...{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
      }),
    );
    expect(await untilEvent('greedy', 'Evicted')).toEqual(message);
    expect(await untilEvent('lab-a', 'EvictionThresholdMet')).toBe('Attempting to reclaim ephemeral-storage');
    for (const name of ['critical', 'modest'])
      expect(await statusOf(name)).toMatchObject({ phase: 'Running' });
  });

  it('takes critical pods alone while it is short, and all of them again once it is not', async () => {
    await untilAsync('a node that says that it is short', isShort);
    await bind('late', 1);
    expect(await untilPhase('late', 'Failed')).toMatchObject({
      ...{ reason: 'Evicted', message: 'The node had condition: [DiskPressure]. ' },
    });
    await bind('critical-late', 1, CRITICAL);
    await untilPhase('critical-late', 'Running');
    await untilAsync('a node that is short no more', async () => !(await isShort()));
    await bind('welcome', 1);
    await untilPhase('welcome', 'Running');
  });

  it('evicts who is beyond its own limit, though it is short of nothing', async () => {
    await bind('limited', 6, {}, '5Mi');
    expect(await untilPhase('limited', 'Failed')).toMatchObject({
      reason: 'Evicted',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ',
    });
    await bind('within', 4, {}, '5Mi');
    await untilPhase('within', 'Running');
    expect(await isShort()).toBe(false);
  });
});
