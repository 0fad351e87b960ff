/**
 * `podloop observe` with the rights of its examples at a real API server: findings are Events and a condition of the Node, and
 * nothing else may be done with these rights.
 *
 * @module
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Event, type KubeList, type Node } from '../../src/cluster/client/kube-objects.js';
import { PodloopProcess } from '../integration/podloop-process.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const kubectl = 'missing' in found ? undefined : found.binaries.kubectl;
const EXAMPLES = fileURLToPath(new URL('../../examples/observe/', import.meta.url));
const NODE = 'lab-o';
const TYPE = 'PodloopProblem';
const ACCOUNT = 'system:serviceaccount:podloop:podloop-observe';

describe.skipIf(kubectl === undefined)('podloop observe in a cluster', () => {
  let plane: ControlPlane;
  let folder: string;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    folder = await mkdtemp(join(tmpdir(), 'podloop-observe-cluster-'));
    const path = '/api/v1/nodes';
    await plane.admin.request({ method: 'POST', path, body: { metadata: { name: NODE } } });
    // The control plane changes those of a kubelet that is silent.
    const other = { type: 'KernelDeadlock', status: 'False', reason: 'NoDeadlock', message: 'none' };
    await plane.admin.request({
      ...{ method: 'PATCH', path: `${path}/${NODE}/status`, body: { status: { conditions: [other] } } },
    });
    await plane.kubectl('apply', '-f', join(EXAMPLES, 'daemonset.yaml'));
  });
  afterAll(async () => {
    await plane[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** A kubeconfig of the service account of the example. */
  const makeKubeconfig = async (): Promise<string> => {
    const token = await plane.kubectl('create', 'token', 'podloop-observe', '--namespace', 'podloop');
    await writeFile(join(folder, 'token'), token, { mode: 0o600 });
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'lab' },
      clusters: [
        {
          name: 'lab',
          cluster: { server: plane.server, 'certificate-authority': plane.keys.file('ca.crt') },
        },
      ],
      users: [{ name: 'observe', user: { tokenFile: 'token' } }],
      contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'observe' } }],
    };
    const file = join(folder, 'kubeconfig');
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  };
  /** Beside a runtime that is not there, which is a critical finding. */
  const observe = async (name: string): Promise<PodloopProcess> =>
    new PodloopProcess([
      ...['observe', '--runtime-endpoint', `unix://${folder}/nobody.sock`, '--root-dir', join(folder, name)],
      ...['--node-name', NODE, '--metrics-bind-address', '0', '--kubelet-url', '', '--healthz-url', ''],
      ...['--kubeconfig', await makeKubeconfig(), '--node-condition', TYPE],
    ]);
  const conditions = async (): Promise<NonNullable<NonNullable<Node['status']>['conditions']>> => {
    const { status } = await plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${NODE}` });
    return status?.conditions ?? [];
  };
  const events = async (): Promise<readonly Event[]> => {
    const query = { fieldSelector: 'source=podloop-observe' };
    const path = '/api/v1/namespaces/default/events';
    return (await plane.admin.request<KubeList<Event>>({ method: 'GET', path, query })).items ?? [];
  };

  it('writes Events of the Node with the rights of the DaemonSet, and says which are missing for a condition', async () => {
    await using observer = await observe('events');
    await untilAsync('an event', async () => (await events()).length > 0);
    expect(await plane.kubectl('describe', 'node', NODE)).toMatch(
      /Warning\s+Runtime\w+\s+.*podloop-observe\s+\S/,
    );
    await observer.line(
      'stderr',
      /"The condition of the Node cannot be written: it takes the rights to get nodes/,
    );
    expect((await conditions()).map(({ type }) => type)).not.toContain(TYPE);
    expect(await observer.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('has its condition beside those of others while it runs, and takes it away at its end', async () => {
    await plane.kubectl('apply', '-f', join(EXAMPLES, 'node-condition.yaml'));
    await using observer = await observe('condition');
    const isThere = async (): Promise<boolean> => (await conditions()).some(({ type }) => type === TYPE);
    await untilAsync('the condition', isThere);
    const all = await conditions();
    expect(all.find(({ type }) => type === TYPE)).toMatchObject({
      ...{ status: 'True', reason: expect.stringMatching(/^Runtime/) as string },
    });
    expect(all.find(({ type }) => type === 'KernelDeadlock')).toMatchObject({ reason: 'NoDeadlock' });
    expect(await observer.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await isThere()).toBe(false);
  });

  it('may do nothing else in the cluster', async () => {
    const can = async (...words: readonly string[]): Promise<string> =>
      (await plane.kubectl('auth', 'can-i', ...words, '--as', ACCOUNT).catch(() => 'no')).trim();
    expect(await can('create', 'events', '--namespace', 'default')).toBe('yes');
    for (const words of [
      ...[
        ['create', 'events', '--namespace', 'kube-system'],
        ['get', 'events', '--namespace', 'default'],
      ],
      ...[
        ['list', 'pods'],
        ['get', 'secrets'],
        ['delete', 'nodes'],
        ['patch', 'nodes'],
        ['list', 'nodes'],
      ],
      ['create', 'pods', '--namespace', 'podloop'],
    ])
      expect([words.join(' '), await can(...words)]).toEqual([words.join(' '), 'no']);
  });
});
