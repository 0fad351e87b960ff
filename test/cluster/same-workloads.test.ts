import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Node } from '../../src/cluster/client/kube-objects.js';
import { PodloopProcess, runPodloop } from '../integration/podloop-process.js';
import { untilNobodyNames } from '../integration/processes-naming.js';
import { ClusterAgent } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { MANY_WORKLOADS, type ShownObject, summarize } from './harness/many-workloads.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NODE = 'lab-s';
/** As long as something changes it is waited for, however slow the machine: nothing has to change for so long. */
const STUCK_MS = 600_000;
/** And when all is as expected, it has to stay so. */
const STILL_MS = 10_000;
const HOUR_MS = 60 * 60_000;
const KINDS = [
  ...['pods', 'deployments', 'replicasets', 'replicationcontrollers', 'statefulsets', 'daemonsets'],
  ...['jobs', 'cronjobs'],
].join();
const EXPECTED = Object.fromEntries(
  MANY_WORKLOADS.map(({ object: { kind, metadata }, end }): [string, string] => [
    `${kind}/${metadata.name}`,
    end,
  ]).sort(([one], [other]) => (one < other ? -1 : 1)),
);

describe.skipIf('missing' in found)('one folder of manifests', { timeout: HOUR_MS }, () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-same-'));
    await mkdir(join(folder, 'manifests'));
    for (const [index, { object }] of MANY_WORKLOADS.entries())
      await writeFile(join(folder, `manifests/${index}-${object.kind}.json`), JSON.stringify(object));
  });
  afterAll(async () => {
    await untilNobodyNames(folder, STUCK_MS);
    await rm(folder, { recursive: true });
  });

  it('has more than thirty workloads', () => {
    expect(MANY_WORKLOADS.length).toBeGreaterThan(30);
    expect(Object.keys(EXPECTED)).toHaveLength(MANY_WORKLOADS.length);
  });

  it('comes to the same on a real control plane', async () => {
    if ('missing' in found) return;
    await using plane = await ControlPlane.start(found);
    await using _agent = await ClusterAgent.start(plane, NODE);
    await untilAsync('a Node that is Ready', async () =>
      isReady(await plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${NODE}` })),
    );
    await plane.kubectl('apply', '-f', join(folder, 'manifests'));
    const read = async (): Promise<Record<string, string>> =>
      summarize(itemsOf(await plane.kubectl('get', KINDS, '-o', 'json')));
    await expectEnd(read);
    await plane.kubectl('delete', '-f', join(folder, 'manifests'), '--wait=false');
  });

  it('comes to the same with podloop run, without a control plane', async () => {
    const root = join(folder, 'node');
    const env = { PODLOOP_SOCKET: join(root, 'podloop.sock') };
    const place = ['--root-dir', root, '--pod-logs-dir', join(folder, 'logs'), '--node-name', NODE];
    const runtime = ['--runtime-endpoint', 'embedded', '--network', 'host', '--stop-pods'];
    const agent = new PodloopProcess(['run', join(folder, 'manifests'), ...place, ...runtime]);
    try {
      await agent.line('stderr', /Started node agent/);
      const read = async (): Promise<Record<string, string>> => {
        const { stdout } = await runPodloop(['get', KINDS, '-o', 'json'], { env });
        return summarize(itemsOf(stdout), (name) => name.replace(new RegExp(`-${NODE}$`), ''));
      };
      await expectEnd(read);
    } finally {
      await agent.end('SIGTERM');
    }
  });
});

/** Waits for the expected ends, and sees that they stay. */
async function expectEnd(read: () => Promise<Record<string, string>>): Promise<void> {
  let [last, changedAtMs] = [await read(), performance.now()];
  while (!isDeepStrictEqual(last, EXPECTED) && performance.now() < changedAtMs + STUCK_MS) {
    await sleep(1_000);
    const next = await read();
    if (!isDeepStrictEqual(next, last)) changedAtMs = performance.now();
    last = next;
  }
  expect(last).toEqual(EXPECTED);
  await sleep(STILL_MS);
  expect(await read()).toEqual(EXPECTED);
}

function itemsOf(text: string): readonly ShownObject[] {
  return (JSON.parse(text) as { readonly items: readonly ShownObject[] }).items;
}

it.runIf('missing' in found)('has no control plane to compare with', () => {
  console.warn(`the comparison with a control plane is skipped: ${'missing' in found ? found.missing : ''}`);
});
