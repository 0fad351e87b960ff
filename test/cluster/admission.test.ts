import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeList, type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { findProgram } from '../build-state.js';
import { PodloopProcess } from '../integration/podloop-process.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { PODS, statusOf, untilEvent, untilPhase } from './harness/pods-seen.js';
import { untilAsync } from './harness/until-async.js';

const run = promisify(execFile);
const found = findClusterBinaries();
const STAY = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.2; done'];

describe.skipIf('missing' in found)('what a node of a real control plane takes', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;
  let disk: string;

  beforeAll(async () => {
    if ('missing' in found) return;
    disk = await mkdtemp(join(tmpdir(), 'podloop-admission-'));
    plane = await ControlPlane.start(found);
    agent = await ClusterAgent.start(plane, 'lab-a');
    await untilAsync('a node that is ready', async () =>
      isReady(await plane.admin.request<Node>({ method: 'GET', path: '/api/v1/nodes/lab-a' })),
    );
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
    await rm(disk, { recursive: true, force: true });
  });

  /** Puts a pod onto the node, whatever a scheduler would say. */
  const bind = async (name: string, requests: Record<string, string>, more: object = {}): Promise<void> => {
    const limits = Object.fromEntries(Object.entries(requests).filter(([key]) => key.includes('/')));
    const container = { name: 'main', image: HOST_IMAGE, command: STAY, resources: { requests, limits } };
    const spec = { nodeName: 'lab-a', terminationGracePeriodSeconds: 2, containers: [container], ...more };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
    await plane.admin.request({ method: 'POST', path: PODS, body });
  };

  it('is told of where nobody can reach it', async () => {
    expect(await untilEvent(plane, 'lab-a', 'InvalidNodeIP')).toMatch(
      /^--node-ip 127\.0\.0\.1: nodeIP can't be a loopback address: the Node has no addresses, and kubectl logs/,
    );
    expect(agent.log).toContain('"Node has no addresses"');
  });

  it('is no more than it has, of everything', async () => {
    await bind('large', { 'ephemeral-storage': '100Ti' });
    expect(await untilPhase(plane, 'large', 'Failed')).toMatchObject({ reason: 'OutOfephemeral-storage' });
    await bind(
      'pages',
      { 'hugepages-2Mi': '2Gi', memory: '1Mi' },
      {
        containers: [
          {
            ...{ name: 'main', image: HOST_IMAGE, command: STAY },
            resources: { limits: { 'hugepages-2Mi': '200Gi', memory: '1Mi' } },
          },
        ],
      },
    );
    expect(await untilPhase(plane, 'pages', 'Failed')).toMatchObject({ reason: 'OutOfhugepages-2Mi' });
  });

  it('is as many of the resources of others as its Node says', async () => {
    const body = [{ op: 'add', path: '/status/capacity/example.com~1seat', value: '1' }];
    await plane.kubectl(
      ...['patch', 'node', 'lab-a', '--subresource=status', '--type=json', '-p', JSON.stringify(body)],
    );
    await untilAsync('a Node with a seat', async () => {
      const node = await plane.admin.request<{ status?: { allocatable?: Record<string, string> } }>({
        ...{ method: 'GET', path: '/api/v1/nodes/lab-a' },
      });
      return node.status?.allocatable?.['example.com/seat'] === '1';
    });
    await bind('seated', { 'example.com/seat': '1' });
    await untilPhase(plane, 'seated', 'Running');
    await bind('standing', { 'example.com/seat': '1' });
    expect(await untilPhase(plane, 'standing', 'Failed')).toMatchObject({ reason: 'OutOfexample.com/seat' });
  });

  it('is a critical pod in the place of one that is not', async () => {
    const node = await plane.admin.request<{ status: { allocatable: Record<string, string> } }>({
      ...{ method: 'GET', path: '/api/v1/nodes/lab-a' },
    });
    const cores = Number(node.status.allocatable['cpu']);
    await bind('usual', { cpu: `${cores * 1_000 - 100}m` });
    await untilPhase(plane, 'usual', 'Running');
    await bind(
      'critical',
      { cpu: '500m' },
      { priorityClassName: 'system-node-critical', priority: 2_000_001_000 },
    );
    expect(await untilPhase(plane, 'usual', 'Failed')).toMatchObject({
      ...{ reason: 'Preempting', message: 'Preempted in order to admit critical pod' },
    });
    await untilPhase(plane, 'critical', 'Running');
    expect(await untilEvent(plane, 'usual', 'Preempting')).toBe('Preempted in order to admit critical pod');
  });

  it('is a static pod that was rejected, once there is room to be made for it', async () => {
    const node = await plane.admin.request<{ status: { allocatable: Record<string, string> } }>({
      ...{ method: 'GET', path: '/api/v1/nodes/lab-a' },
    });
    const milli = Number(node.status.allocatable['cpu']) * 1_000;
    const write = async (name: string, cpu: string): Promise<void> => {
      const container = { name: 'main', image: HOST_IMAGE, command: STAY, resources: { requests: { cpu } } };
      const spec = { terminationGracePeriodSeconds: 2, containers: [container] };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
      await writeFile(join(agent.manifests, `${name}.json`), JSON.stringify(pod));
    };
    // Beside the critical one, which no manifest without a priority goes before.
    await bind('filling', { cpu: '300m' });
    await untilPhase(plane, 'filling', 'Running');
    await write('first', `${milli - 900}m`);
    await untilPhase(plane, 'first-lab-a', 'Running');
    await write('late', `${milli - 600}m`);
    expect(await untilPhase(plane, 'late-lab-a', 'Failed')).toMatchObject({ reason: 'OutOfcpu' });
    await rm(join(agent.manifests, 'first.json'));
    expect(await untilPhase(plane, 'filling', 'Failed')).toMatchObject({ reason: 'Preempting' });
    // The first one may not quite have ended.
    expect(await untilEvent(plane, 'late-lab-a', 'WaitingForRoom')).toMatch(
      /^Waiting for (?:default\/filling to end: it|2 pods to end: default\/filling) still has cpu\b/,
    );
    expect(await untilPhase(plane, 'late-lab-a', 'Running')).not.toHaveProperty('reason');
    await rm(join(agent.manifests, 'late.json'));
  });

  it('is not told to take what a pod still has that was deleted by force, and that pod is named', async () => {
    const ports = [{ containerPort: 8080, hostPort: 38_080 }];
    const container = { name: 'main', image: HOST_IMAGE, ports };
    const stubborn = ['sh', '-c', 'trap "" TERM; while :; do sleep 0.2; done'];
    await bind(
      'holder',
      {},
      { terminationGracePeriodSeconds: 8, containers: [{ ...container, command: stubborn }] },
    );
    await untilPhase(plane, 'holder', 'Running');
    const socket = ['--socket', join(agent.rootDir, 'podloop.sock')];
    // It waits for two seconds, which a loaded machine may need to look: so others look from before that.
    await using watching = new PodloopProcess(['get', 'pods', '-w', '-o', 'json', ...socket]);
    await watching.line('stdout', /holder/);
    const { metadata } = await plane.admin.request<KubeList<Pod>>({ method: 'GET', path: PODS });
    await plane.kubectl('delete', 'pod', 'holder', '--force', '--grace-period=0');
    await bind('heir', {}, { containers: [{ ...container, command: STAY }] });
    const message = 'Waiting for default/holder to end: it still has host port 38080';
    expect(await untilEvent(plane, 'heir', 'WaitingForRoom')).toBe(message);
    await watching.line('stdout', new RegExp(`"message": "${message}"`));
    await untilPhase(plane, 'heir', 'Running');
    const shown: unknown[] = [];
    const query = { fieldSelector: 'metadata.name=heir', resourceVersion: metadata?.resourceVersion ?? '' };
    const stopping = new AbortController();
    for await (const { object } of plane.admin.watch<Pod>({ path: PODS, query, signal: stopping.signal })) {
      const { phase, containerStatuses: [main] = [] } = object.status ?? {};
      if (main !== undefined) shown.push([phase, main.state?.waiting]);
      if (phase === 'Running') break;
    }
    stopping.abort();
    expect(shown[0]).toEqual(['Pending', { reason: 'ContainerCreating', message }]);
    expect(shown.at(-1)).toEqual(['Running', undefined]);
    const description = await run(process.execPath, [findProgram(), 'describe', 'pod', 'heir', ...socket]);
    expect(description.stdout).toMatch(new RegExp(`WaitingForRoom .*${message}`));
    const { items } = await plane.admin.request<{ items: { reason?: string; count?: number }[] }>({
      ...{ method: 'GET', path: '/api/v1/events', query: { fieldSelector: 'involvedObject.name=heir' } },
    });
    expect(items.filter(({ reason }) => reason === 'WaitingForRoom')).toMatchObject([{ count: 1 }]);
  });

  it('says why a static pod cannot be seen there', async () => {
    const container = { name: 'main', image: HOST_IMAGE, command: STAY };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'own' }, stringData: { a: 'b' } };
    const spec = { containers: [container], volumes: [{ name: 'own', secret: { secretName: 'own' } }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'hidden' }, spec };
    const list = { apiVersion: 'v1', kind: 'List', items: [secret, pod] };
    await writeFile(join(agent.manifests, 'hidden.json'), JSON.stringify(list));
    expect(await untilEvent(plane, 'hidden-lab-a', 'FailedMirrorPod')).toMatch(/forbidden.*secret/i);
  });

  it('leaves the end of its pods to their cluster', async () => {
    await bind('kept', {});
    await untilPhase(plane, 'kept', 'Running');
    const args = [
      findProgram(),
      'delete',
      'pod',
      'kept',
      '--socket',
      join(agent.folder, 'root/podloop.sock'),
    ];
    await expect(run(process.execPath, args, { timeout: 60_000 })).rejects.toMatchObject({
      stderr: expect.stringContaining('delete it there: kubectl delete pod kept') as string,
    });
    expect((await statusOf(plane, 'kept'))?.phase).toBe('Running');
  });

  it('goes on soon after a claim is there that a pod has waited for', async () => {
    const path = join(disk, 'volume');
    await mkdir(path);
    const mounts = [{ name: 'data', mountPath: '/data' }];
    await bind(
      'waiting',
      {},
      {
        containers: [{ name: 'main', image: HOST_IMAGE, command: STAY, volumeMounts: mounts }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'late' } }],
      },
    );
    await untilEvent(plane, 'waiting', 'FailedMount');
    const [capacity, accessModes] = [{ storage: '1Gi' }, ['ReadWriteOnce']];
    const volume = { capacity, accessModes, storageClassName: '', hostPath: { path } };
    await plane.admin.request({
      ...{ method: 'POST', path: '/api/v1/persistentvolumes' },
      body: { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'late' }, spec: volume },
    });
    const claim = {
      accessModes,
      storageClassName: '',
      volumeName: 'late',
      resources: { requests: capacity },
    };
    await plane.admin.request({
      ...{ method: 'POST', path: '/api/v1/namespaces/default/persistentvolumeclaims' },
      body: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'late' }, spec: claim },
    });
    await untilPhase(plane, 'waiting', 'Running');
  });

  it('goes on soon after an account is there whose token a pod has waited for', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts';
    const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'late' } };
    // The API server takes no pod whose account is not there; it may go before the pod has a node.
    await plane.admin.request({ method: 'POST', path, body });
    await bind('homeless', {}, { nodeName: undefined, schedulerName: 'nobody', serviceAccountName: 'late' });
    await plane.admin.request({ method: 'DELETE', path: `${path}/late` });
    const target = { apiVersion: 'v1', kind: 'Node', name: 'lab-a' };
    await plane.admin.request({
      ...{ method: 'POST', path: `${PODS}/homeless/binding` },
      body: { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'homeless' }, target },
    });
    expect(await untilEvent(plane, 'homeless', 'FailedMount')).toMatch(/kube-api-access.*"late" not found/s);
    expect((await statusOf(plane, 'homeless'))?.phase).toBe('Pending');
    await plane.admin.request({ method: 'POST', path, body });
    await untilPhase(plane, 'homeless', 'Running');
  });
});
