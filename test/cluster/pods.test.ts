import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/cluster/client/kube-client.js';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NODE = 'lab-p';
const PODS = '/api/v1/namespaces/default/pods';

describe.skipIf('missing' in found)('pods of a real API server', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    agent = await ClusterAgent.start(plane, NODE, '--node-labels', 'disk=ssd');
    await untilAsync('a Node', async () =>
      plane.admin.request({ method: 'GET', path: `/api/v1/nodes/${NODE}` }),
    );
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const get = async (name: string): Promise<Pod> =>
    plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}` });
  const remove = async (name: string, gracePeriodSeconds?: number): Promise<unknown> =>
    plane.admin.request({ method: 'DELETE', path: `${PODS}/${name}`, body: { gracePeriodSeconds } });
  const until = async (name: string, wanted: (pod: Pod) => boolean): Promise<Pod> =>
    untilAsync(name, async () => {
      const pod = await get(name);
      return wanted(pod) && pod;
    });
  const untilGone = async (name: string): Promise<void> => {
    await untilAsync(`${name} to go`, async () => {
      const error: unknown = await get(name).then(
        () => undefined,
        (failure: unknown) => failure,
      );
      return error instanceof ApiError && error.code === 404;
    });
  };
  /** Writes a line to a file again and again, so that its life shows. */
  const make = async (name: string, spec: object = {}): Promise<void> => {
    const script = `trap "exit 0" TERM; while :; do date +%s%N >${agent.folder}/${name}; sleep 0.2; done`;
    const container = { name: 'main', image: HOST_IMAGE, command: ['sh', '-c', script] };
    const body = {
      metadata: { name },
      spec: { nodeName: NODE, terminationGracePeriodSeconds: 2, containers: [container], ...spec },
    };
    await plane.admin.request({ method: 'POST', path: PODS, body });
  };
  const untilStill = async (name: string): Promise<void> => {
    const file = join(agent.folder, name);
    await untilAsync(`${name} to end`, async () => {
      await rm(file, { force: true });
      await sleep(1_500);
      return writeFile(file, '', { flag: 'wx' }).then(
        () => true,
        () => false,
      );
    });
  };

  it('that the node may not have fail with the reason', async () => {
    await make('picky', { nodeSelector: { disk: 'hdd' } });
    const { status } = await until('picky', (pod) => pod.status?.phase === 'Failed');
    expect(status).toMatchObject({
      reason: 'NodeAffinity',
      message:
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
  });

  it('that ask for what the node has not fail with what that is', async () => {
    await make('alien', { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] });
    const { status } = await until('alien', (pod) => pod.status?.phase === 'Failed');
    expect(status?.reason).toBe('PodFeatureNotSupported');
    expect(status?.message).toContain('spec.resourceClaims');
  });

  it('with resources of their own are of the class that the API server says', async () => {
    await make('whole', { resources: { limits: { cpu: '100m', memory: '64Mi' } } });
    const { status } = await until('whole', (pod) => pod.status?.phase === 'Running');
    expect(status?.qosClass).toBe('Guaranteed');
  });

  it('stand for static pods there, and come back when they are deleted', async () => {
    const manifest = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'static' } },
      spec: { containers: [{ name: 'main', image: HOST_IMAGE, command: ['sleep', '1000'] }] },
    };
    const file = join(agent.manifests, 'static.json');
    await writeFile(file, JSON.stringify(manifest));
    const name = `static-${NODE}`;
    const first = await until(name, isReady);
    await remove(name);
    const second = await until(name, (pod) => pod.metadata?.uid !== first.metadata?.uid && isReady(pod));
    expect(second.status?.containerStatuses).toEqual(first.status?.containerStatuses);
    const line = new RegExp(`"Creating a mirror pod for static pod" pod="default/${name}" podUID="`, 'g');
    expect(agent.log.match(line)?.length).toBeGreaterThanOrEqual(2);
    await rm(file);
    await untilGone(name);
  });

  it('are told of no second time by an agent that starts anew', async () => {
    await make('stays');
    await until('stays', isReady);
    await sleep(3_000);
    const before = await get('stays');
    const rejected = await get('picky');
    await agent.kill();
    agent.start();
    // Longer than it takes until all pods are held against what the server has, twice.
    await sleep(25_000);
    expect(await get('stays')).toEqual(before);
    expect(await get('picky')).toEqual(rejected);
  });

  it('that are deleted while no agent runs are ended by the next, also when they are gone by force', async () => {
    await make('soft');
    await make('hard');
    await until('soft', isReady);
    await until('hard', isReady);
    await agent.kill();
    await remove('soft');
    await remove('hard', 0);
    agent.start();
    await untilGone('soft');
    await untilStill('soft');
    await untilStill('hard');
  });

  it('that are deleted by force are ended, though nobody waits for it', async () => {
    await make('forced');
    await until('forced', isReady);
    await remove('forced', 0);
    await untilGone('forced');
    await untilStill('forced');
  });

  it('are started again while the API server is away, which is told of it later', async () => {
    const [starts, end] = [join(agent.folder, 'starts'), join(agent.folder, 'end')];
    const script = `echo here >>${starts}; while [ ! -e ${end} ]; do sleep 0.2; done; rm ${end}; exit 3`;
    await make('again', { containers: [{ name: 'main', image: HOST_IMAGE, command: ['sh', '-c', script] }] });
    const { containerID } = (await until('again', isReady)).status!.containerStatuses![0]!;
    await plane.components.apiServer.kill();
    await writeFile(end, '');
    await untilAsync('another start', async () => (await readFile(starts, 'utf8')) === 'here\nhere\n');
    await plane.components.apiServer.start();
    const { status } = await until(
      'again',
      (pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({ exitCode: 3, containerID });
  });

  it('are in step again each time that the API server is back', async () => {
    for (const turn of [1, 2]) {
      await plane.components.apiServer.kill();
      await sleep(4_000);
      await plane.components.apiServer.start();
      await make(`later-${turn}`);
      await until(`later-${turn}`, isReady);
    }
  });
});

it.runIf('missing' in found)('has no control plane to be tried on', () => {
  console.warn(`tests on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
