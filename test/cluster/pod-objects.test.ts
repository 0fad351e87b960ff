import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilEvent } from './harness/pods-seen.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const OURS = '/api/v1/namespaces/default';
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** On a machine with other things to do. */
const AT_ONCE_MS = 30_000;

describe.skipIf('missing' in found)('pods on a node of a real control plane', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;
  let disk: string;

  beforeAll(async () => {
    if ('missing' in found) return;
    disk = await mkdtemp(join(tmpdir(), 'podloop-disk-'));
    plane = await ControlPlane.start(found);
    agent = await ClusterAgent.start(plane, 'lab-o');
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
    await rm(disk, { recursive: true, force: true });
  });

  async function admin<T>(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<T> {
    const contentType = method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {};
    return plane.admin.request<T>({ method, path, ...contentType, ...(body !== undefined && { body }) });
  }

  /** Waits; what never comes is told with the end of the agent's log. */
  async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    try {
      return await untilAsync(what, look, 90_000);
    } catch (error) {
      throw new Error(`${(error as Error).message}; the agent said:\n${agent.log.slice(-8_000)}`, {
        cause: error,
      });
    }
  }

  /** Prints again and again what the script does. */
  async function makePod(name: string, script: string, spec: object = {}, more: object = {}): Promise<void> {
    const loop = `trap "exit 0" TERM; while :; do ${script}; sleep 0.2; done`;
    const container = { name: 'main', image: HOST_IMAGE, command: ['sh', '-c', loop], ...more };
    await until('a pod that is admitted', async () =>
      admin('POST', `${OURS}/pods`, {
        metadata: { name },
        spec: { terminationGracePeriodSeconds: 1, containers: [container], ...spec },
      }),
    );
  }

  const getPod = async (name: string): Promise<Pod> => admin<Pod>('GET', `${OURS}/pods/${name}`);
  async function outputOf(name: string): Promise<string> {
    const uid = (await getPod(name)).metadata!.uid!;
    return readFile(join(agent.folder, 'logs', `default_${name}_${uid}`, 'main/0.log'), 'utf8');
  }
  const untilPrinted = async (name: string, text: string): Promise<boolean> =>
    until(`${name} to print ${text}`, async () => (await outputOf(name)).includes(text));
  const mountOf = (name: string, mountPath: string) => ({ volumeMounts: [{ name, mountPath }] });

  it('see a Secret change in its file while they run', async () => {
    await admin('POST', `${OURS}/secrets`, {
      metadata: { name: 'login' },
      stringData: { word: 'first one' },
    });
    const volumes = [{ name: 'login', secret: { secretName: 'login' } }];
    await makePod('reader', 'cat /login/word; echo', { volumes }, mountOf('login', '/login'));
    await untilPrinted('reader', 'first one');
    await admin('PATCH', `${OURS}/secrets/login`, { stringData: { word: 'second one' } });
    await untilPrinted('reader', 'second one');
    expect((await getPod('reader')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  it('start when the ConfigMap comes that they wait for', async () => {
    const volumes = [{ name: 'late', configMap: { name: 'late' } }];
    await makePod('waiter', 'cat /late/key; echo', { volumes }, mountOf('late', '/late'));
    await until('word that it waits', async () =>
      /FailedMount.*configmap \\*"late\\*" not found/.test(agent.log),
    );
    await admin('POST', `${OURS}/configmaps`, { metadata: { name: 'late' }, data: { key: 'here now' } });
    await untilPrinted('waiter', 'here now');
  });

  it('start at once when the Secret comes that they wait for, and not with the next try of a kubelet', async () => {
    const volumes = [{ name: 'keys', secret: { secretName: 'keys' } }];
    await makePod('expectant', 'cat /keys/one; echo', { volumes }, mountOf('keys', '/keys'));
    expect(await untilEvent(plane, 'expectant', 'FailedMount')).toBe(
      'MountVolume.SetUp failed for volume "keys" : secret "keys" not found',
    );
    const startedMs = performance.now();
    await admin('POST', `${OURS}/secrets`, {
      metadata: { name: 'keys' },
      stringData: { one: 'it is there' },
    });
    await untilPrinted('expectant', 'it is there');
    // That may be 2 min 2 s.
    expect(performance.now() - startedMs).toBeLessThan(AT_ONCE_MS);
  });

  it('are given the token of their account, and are told where the API server is', async () => {
    await makePod(
      'client',
      `cut -c1-3 ${ACCOUNT}/token; cat ${ACCOUNT}/namespace; echo; echo at $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT_HTTPS`,
    );
    await untilPrinted('client', 'eyJ');
    await untilPrinted('client', 'default');
    expect(await outputOf('client')).toMatch(/at \d+\.\d+\.\d+\.\d+:443/);
  });

  it('see their labels change in files', async () => {
    const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }];
    const volumes = [{ name: 'facts', downwardAPI: { items } }];
    await makePod('labelled', 'cat /facts/labels; echo', { volumes }, mountOf('facts', '/facts'));
    await admin('PATCH', `${OURS}/pods/labelled`, { metadata: { labels: { tier: 'gold' } } });
    await untilPrinted('labelled', 'tier="gold"');
  });

  it('find a persistent volume that lies on the node', async () => {
    const path = join(disk, 'data');
    await mkdir(path);
    await writeFile(join(path, 'file'), 'from the disk\n');
    const common = { accessModes: ['ReadWriteOnce'], storageClassName: 'by-hand' };
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['lab-o'] }];
    await admin('POST', '/api/v1/persistentvolumes', {
      metadata: { name: 'disk' },
      spec: {
        ...{ ...common, capacity: { storage: '1Mi' }, local: { path } },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchFields }] } },
      },
    });
    await admin('POST', `${OURS}/persistentvolumeclaims`, {
      metadata: { name: 'data' },
      spec: { ...common, volumeName: 'disk', resources: { requests: { storage: '1Mi' } } },
    });
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    await makePod('keeper', 'cat /data/file', { volumes }, mountOf('data', '/data'));
    await untilPrinted('keeper', 'from the disk');
  });

  it('that ask for what no pod gets here say so', async () => {
    const volumes = [{ name: 'shared', nfs: { server: '192.0.2.1', path: '/' } }];
    await makePod('sharer', 'true', { volumes }, mountOf('shared', '/shared'));
    const pod = await until('a reason on the pod', async () => {
      const each = await getPod('sharer');
      return each.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'UnsupportedVolume' && each;
    });
    const message =
      'MountVolume.SetUp failed for volume "shared" : volumes of the kind nfs are not supported by podloop';
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe(message);
    expect(await untilEvent(plane, 'sharer', 'FailedMount')).toBe(message);
  });

  it('say so, too, when it is a claim that leads there', async () => {
    const common = { accessModes: ['ReadWriteOnce'], storageClassName: 'by-hand' };
    const csi = { driver: 'csi.example.com', volumeHandle: 'one' };
    await admin('POST', '/api/v1/persistentvolumes', {
      metadata: { name: 'far' },
      spec: { ...common, capacity: { storage: '1Mi' }, csi },
    });
    await admin('POST', `${OURS}/persistentvolumeclaims`, {
      metadata: { name: 'far' },
      spec: { ...common, volumeName: 'far', resources: { requests: { storage: '1Mi' } } },
    });
    const volumes = [{ name: 'far', persistentVolumeClaim: { claimName: 'far' } }];
    await makePod('traveller', 'true', { volumes, nodeName: 'lab-o' }, mountOf('far', '/far'));
    const waiting = await until('a reason on the pod', async () => {
      const each = (await getPod('traveller')).status?.containerStatuses?.[0]?.state?.waiting;
      return each?.reason === 'UnsupportedVolume' && each;
    });
    expect(waiting.message).toContain('PV far is of the kind csi, which is not supported by podloop');
    await until('an event of it', async () => {
      const about = 'involvedObject.name=traveller';
      const events = await plane.kubectl('get', 'events', '--field-selector', about);
      return /Warning +FailedMount .*PV far is of the kind csi/.test(events);
    });
  });

  it('ask for nothing that is forbidden', () => {
    const lines = agent.log
      .split('\n')
      .filter((line) => /forbidden/i.test(line) && /secret|configmap|token/i.test(line));
    expect(lines).toEqual([]);
  });
});
