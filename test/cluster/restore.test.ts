import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Node } from '../../src/cluster/client/kube-objects.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { COMPONENTS, ControlPlane } from './harness/control-plane.js';
import { CountingPods } from './harness/counting-pods.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NODE = 'lab-back';
const PODS = '/api/v1/namespaces/default/pods';
const MAPS = '/api/v1/namespaces/default/configmaps';
/** So far behind that the server does not catch up with what was seen before all is over. */
const LOST_WRITES = 3_000;
/** A watch in which nothing comes is given up after 150 s; what the server then says of the version takes it some seconds. */
const LIMIT_MS = 240_000;

describe.skipIf('missing' in found)('a control plane that was put back to a backup', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;
  let pods: CountingPods;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    agent = await ClusterAgent.start(plane, NODE);
    pods = new CountingPods({ admin: plane.admin, nodeName: NODE, folder: agent.folder });
    await untilAsync('a Node that is Ready', async () => isReady(await getNode()));
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const getNode = async (): Promise<Node> =>
    plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${NODE}` });
  const makeReady = async (name: string): Promise<void> => {
    await pods.make(name);
    await untilAsync(name, async () => isReady(await pods.get(name)));
  };
  const counts = async (name: string): Promise<boolean> => {
    const before = await pods.countOf(name);
    await sleep(1_500);
    return (await pods.countOf(name)) > before;
  };
  /** What `change` does to etcd's folder while nothing runs that uses it. */
  const withoutServers = async (change: (folder: string) => Promise<void>): Promise<void> => {
    for (const name of [...COMPONENTS].reverse()) await plane.components[name].kill();
    await change(plane.keys.file('etcd'));
    for (const name of COMPONENTS) await plane.components[name].start();
  };

  it(
    'is followed by its node, which leaves alone what was in the backup and is there',
    { timeout: 900_000 },
    async () => {
      for (const name of ['stays', 'deleted']) await makeReady(name);
      const before = (await pods.get('stays')).status?.containerStatuses;
      const backup = join(plane.folder, 'etcd-backup');
      await withoutServers(async (folder) => cp(folder, backup, { recursive: true }));
      await untilAsync('a Node that is Ready', async () => isReady(await getNode()));

      await makeReady('unknown');
      await pods.delete('deleted');
      await untilAsync('the deleted pod to go', async () => pods.isGone('deleted'));
      const map = { metadata: { name: 'versions' } };
      await plane.admin.request({ method: 'POST', path: MAPS, body: map });
      for (let turn = 0; turn < LOST_WRITES; turn += 50) {
        const patches = Array.from({ length: 50 }, async (_, at) => {
          const body = { data: { turn: String(turn + at) } };
          return plane.admin.request({ method: 'PATCH', path: `${MAPS}/versions`, body });
        });
        await Promise.all(patches);
      }

      await withoutServers(async (folder) => {
        await rm(folder, { recursive: true });
        await cp(backup, folder, { recursive: true });
      });
      const startedAtMs = performance.now();
      expect(await pods.isGone('unknown')).toBe(true);
      expect(await pods.isGone('deleted')).toBe(false);
      const count = await pods.countOf('stays');

      const metadata = { name: 'later' };
      const containers = [{ name: 'main', image: HOST_IMAGE, command: ['sh', '-c', 'exec sleep 1000'] }];
      await plane.admin.request({
        ...{ method: 'POST', path: PODS, body: { metadata, spec: { nodeName: NODE, containers } } },
      });
      await untilAsync('the new pod', async () => isReady(await pods.get('later')), LIMIT_MS);
      console.info(
        `the new pod is Ready ${Math.round((performance.now() - startedAtMs) / 1_000)}s after the restore`,
      );
      await untilAsync(
        'the one that is in no backup to end',
        async () => !(await counts('unknown')),
        LIMIT_MS,
      );
      // The server wants it again, or hears that it has ended: what it shows is so.
      const state = await untilAsync('the deleted one to be as it is shown', async () => {
        const { phase } = (await pods.get('deleted')).status ?? {};
        const isThere = await counts('deleted');
        return (phase === 'Running' ? isThere : !isThere) && phase;
      });
      console.info(`the pod that was deleted after the backup is ${state}`);
      expect(isReady(await getNode())).toBe(true);
      expect(await pods.countOf('stays')).toBeGreaterThan(count);
      expect((await pods.get('stays')).status?.containerStatuses).toEqual(before);
    },
  );
});

it.runIf('missing' in found)('has no control plane to be put back', () => {
  console.warn(`tests on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
