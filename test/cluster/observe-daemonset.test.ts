/**
 * The DaemonSet of the examples on a node of a real kubelet and a real containerd: with the rights that it asks for and no others it sees
 * pods, processes and the kubelet, and reports what is wrong with the runtime.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Event, type KubeList, type Node } from '../../src/cluster/client/kube-objects.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { type Containerd, startContainerd } from '../containerd/harness/containerd.js';
import { findInstaller, readInstalled } from '../containerd/harness/installed.js';
import { unmountBelow } from '../containerd/harness/leftovers.js';
import { ClusterAgent } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { type StartedKubelet, startKubelet } from './harness/kubelet.js';
import { findOwnIp } from './harness/own-ip.js';
import { packPodloopImage } from './harness/podloop-image.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const isInstalled = existsSync(join(findInstaller().folder, 'installed.json'));
const kubelet = 'missing' in found ? undefined : found.binaries.kubelet;
const EXAMPLES = fileURLToPath(new URL('../../examples/observe/', import.meta.url));
const NODE = 'lab-daemonset';
const IMAGE = 'podloop.test/podloop:1';
const LIMIT_MS = 180_000;
const SOCKET = '/var/lib/podloop-observe/podloop.sock';

interface Diagnosis {
  readonly facts: {
    readonly runtime: { readonly name: string; readonly population: { readonly known: boolean } };
    readonly machine: Readonly<Record<string, { readonly known: boolean; readonly why?: string }>>;
    readonly kubelet: Readonly<Record<string, { readonly known: boolean; readonly why?: string }>>;
  };
}

describe.skipIf(kubelet === undefined || !isInstalled)('the DaemonSet on a node of a kubelet', () => {
  let plane: ControlPlane;
  let containerd: Containerd;
  let place: ClusterAgent;
  let node: StartedKubelet;
  let kubeletFlags: readonly string[];

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    containerd = await startContainerd({ version: '1.7' });
    const archive = join(containerd.folder, 'podloop.tar');
    await writeFile(archive, await packPodloopImage(IMAGE, (await readInstalled()).busybox));
    await containerd.ctr('images', 'import', archive);
    await rm(archive);
    place = await ClusterAgent.prepare(plane, NODE);
    node = await startKubelet({
      ...{ kubelet: kubelet!, agent: place, endpoint: containerd.endpoint },
      ...{ nodeIp: findOwnIp(), clientCAFile: plane.keys.file('ca.crt') },
    });
    const path = `/api/v1/nodes/${NODE}`;
    const isUp = async (): Promise<boolean> =>
      isReady(await plane.admin.request<Node>({ method: 'GET', path }));
    await untilAsync('the node to be Ready', isUp, LIMIT_MS);
    kubeletFlags = ['--kubelet-url', `https://127.0.0.1:${node.port}`, '--healthz-url', ''];
    await apply();
  });
  afterAll(async () => {
    await plane.kubectl('delete', 'namespace', 'podloop', '--timeout=60s').catch(() => undefined);
    await node.component.stop();
    await containerd[Symbol.asyncDispose]();
    await unmountBelow(place.folder);
    await rm(place.folder, { recursive: true, force: true });
    await plane[Symbol.asyncDispose]();
  });

  /** Applies the example with the image, folders and ports of this test in the place of those of a usual node. */
  const apply = async (): Promise<void> => {
    const port = await findFreePort();
    const state = join(place.folder, 'observe');
    await mkdir(state);
    const api = new URL(plane.server);
    const more = [...kubeletFlags, '--metrics-bind-address', `127.0.0.1:${port}`];
    const changes: readonly (readonly [string, string])[] = [
      ['image: registry.example/podloop:0.1.0', `image: ${IMAGE}\n          imagePullPolicy: Never`],
      ['unix:///host/run/containerd/containerd.sock', `unix:///host${containerd.names.socket}`],
      [
        '            - --root-dir=',
        `${more.map((word) => `            - '${word}'\n`).join('')}            - --root-dir=`,
      ],
      ['{ path: /var/lib/podloop-observe,', `{ path: ${state},`],
      ['{ path: /var/log/pods }', `{ path: ${place.podLogsDir} }`],
      ['port: 10247', `port: ${port}`],
      [
        '          env:\n',
        `          env:\n            - { name: KUBERNETES_SERVICE_HOST, value: '${api.hostname}' }\n            - { name: KUBERNETES_SERVICE_PORT, value: '${api.port}' }\n`,
      ],
    ];
    // systemd makes the root of a machine a shared mount; a container that the tests run in may have none.
    const isShared = / \/ \/ \S+ (?:\S+ )*shared:/.test(await readFile('/proc/self/mountinfo', 'utf8'));
    let text = await readFile(join(EXAMPLES, 'daemonset.yaml'), 'utf8');
    if (!isShared) text = text.replace(', mountPropagation: HostToContainer', '');
    for (const [from, to] of changes) {
      expect(text).toContain(from);
      text = text.replace(from, to);
    }
    const file = join(place.folder, 'daemonset.yaml');
    await writeFile(file, text);
    await plane.kubectl('apply', '-f', file);
  };
  const inPod = async (...words: readonly string[]): Promise<string> =>
    plane.kubectl('exec', '--namespace', 'podloop', 'daemonset/podloop-observe', '--', 'podloop', ...words);
  const events = async (): Promise<readonly Event[]> => {
    const query = { fieldSelector: 'source=podloop-observe' };
    const path = '/api/v1/namespaces/default/events';
    return (await plane.admin.request<KubeList<Event>>({ method: 'GET', path, query })).items ?? [];
  };

  it('runs and shows the pods of the node', async () => {
    await plane
      .kubectl('rollout', 'status', 'daemonset/podloop-observe', '--namespace', 'podloop', '--timeout=120s')
      .catch(async (error: unknown) => {
        const pods = await plane.kubectl('describe', 'pods', '--namespace', 'podloop');
        throw new Error(`${String(error)}\n${pods}\n${node.component.logTail()}`);
      });
    await untilAsync('its own pod', async () =>
      (await inPod('get', 'pods', '-A', '--no-headers', '--socket', SOCKET)).includes('podloop-observe'),
    );
    expect(await inPod('events', '-A', '--no-headers', '--socket', SOCKET)).toContain('Container observe');
  });

  it('sees processes, the machine and the kubelet with the rights that it has', async () => {
    const text = await inPod(
      ...['doctor', '-o', 'json', '--no-disk-write', '--host-root', '/host', ...kubeletFlags],
      ...['-r', `unix:///host${containerd.names.socket}`, '--insecure-skip-tls-verify'],
      ...['--token-file', '/var/run/secrets/kubernetes.io/serviceaccount/token'],
    ).catch((error: unknown) => (error as { stdout?: string }).stdout ?? String(error));
    const { facts } = JSON.parse(text) as Diagnosis;
    expect(facts.runtime).toMatchObject({ name: 'containerd', population: { known: true } });
    for (const what of ['pressure', 'memory', 'processes', 'shims'])
      expect([what, facts.machine[what]]).toMatchObject([what, { known: true }]);
    expect(facts.machine['disks']).toMatchObject([{ holdsImages: true }]);
    expect(facts.kubelet['metrics']).toMatchObject({ known: true });
  });

  it('reports a runtime that is stopped, with the service account of its pod', async () => {
    process.kill(containerd.pid!, 'SIGSTOP');
    try {
      const isTold = async (): Promise<boolean> =>
        (await events()).some(({ reason }) => reason === 'RuntimeStopped');
      await untilAsync('the event', isTold, LIMIT_MS);
    } finally {
      process.kill(containerd.pid!, 'SIGCONT');
    }
    const isOver = async (): Promise<boolean> =>
      (await events()).some(({ reason, type }) => reason === 'RuntimeStopped' && type === 'Normal');
    await untilAsync('its end', isOver, LIMIT_MS);
    expect(await inPod('incidents', '--socket', SOCKET)).toContain('RuntimeStopped');
  });
});
