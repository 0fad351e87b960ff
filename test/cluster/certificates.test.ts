import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CertificateSigningRequest, type Node } from '../../src/cluster/client/kube-objects.js';
import { readMetricsPage } from '#support/builders/metrics-page.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { LocalApiClient } from '../integration/local-api-client.js';
import { PodloopProcess } from '../integration/podloop-process.js';
import { HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const RBAC = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' };
/** So that a rotation is really seen: at 28 to 36 s of it. */
const LIFETIME = '40s';
const isRoot = process.getuid?.() === 0;
/** An address of this machine that a node can have. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

describe.skipIf('missing' in found || !isRoot)('the certificates of a node of a real control plane', () => {
  let plane: ControlPlane;
  let folder: string;
  let bootstrap: string;
  let agent: PodloopProcess | undefined;
  const agents: PodloopProcess[] = [];
  let nodeName: string;
  let nodes = 0;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start({
      ...found,
      args: { controllerManager: [`--cluster-signing-duration=${LIFETIME}`] },
    });
    const expiration = new Date(Date.now() + 3_600_000).toISOString();
    await plane.admin.request({
      ...{ method: 'POST', path: '/api/v1/namespaces/kube-system/secrets' },
      body: {
        metadata: { name: `bootstrap-token-${TOKEN.id}` },
        type: 'bootstrap.kubernetes.io/token',
        stringData: {
          ...{ 'token-id': TOKEN.id, 'token-secret': TOKEN.secret, expiration },
          ...{ 'usage-bootstrap-authentication': 'true' },
        },
      },
    });
  });
  afterAll(async () => {
    await plane[Symbol.asyncDispose]();
  });

  beforeEach(async ({ onTestFailed }) => {
    onTestFailed(() =>
      console.error(agents.map(({ stderr }) => stderr.slice(0, 60).join('\n')).join('\n\n')),
    );
    folder = await mkdtemp(join(tmpdir(), 'podloop-certs-'));
    agents.length = 0;
    nodeName = `certs-${++nodes}`;
    bootstrap = join(folder, 'bootstrap.conf');
    await writeBootstrap(`${TOKEN.id}.${TOKEN.secret}`);
    await plane.admin.request({ method: 'DELETE', path: REQUESTS });
  });
  afterEach(async () => {
    await kill();
    // Nothing of its runtime is to be left: it goes with the last agent that stops its pods.
    start('--stop-pods');
    await Promise.race([agent!.line('stderr', /Started node agent/), agent!.ended]).catch(() => undefined);
    agent!.child.kill('SIGTERM');
    await agent!.ended;
    // The runtime ends by itself once the agent has, and may write until then.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  });

  const at = (...names: string[]): string => join(folder, ...names);
  const kubeconfig = (): string => at('etc', 'kubelet.conf');
  const current = (use: 'client' | 'server'): string => at('pki', `kubelet-${use}-current.pem`);

  async function writeBootstrap(token: string): Promise<void> {
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'lab' },
      clusters: [
        {
          name: 'lab',
          cluster: { server: plane.server, 'certificate-authority': plane.keys.file('ca.crt') },
        },
      ],
      users: [{ name: 'lab', user: { token } }],
      contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab' } }],
    };
    await writeFile(bootstrap, JSON.stringify(config), { mode: 0o600 });
  }

  function start(...more: string[]): void {
    agent = new PodloopProcess([
      ...['run', '--bootstrap-kubeconfig', bootstrap, '--kubeconfig', kubeconfig(), '--cert-dir', at('pki')],
      ...['--node-name', nodeName, '--node-ip', ADDRESS ?? '', '--root-dir', at('root')],
      ...['--pod-logs-dir', at('logs'), '--runtime-endpoint', 'embedded', '--network', 'host', '-v', '3'],
      ...['--read-only-port', '0', '--port', '0', ...more],
    ]);
    agents.push(agent);
  }

  async function kill(): Promise<void> {
    agent?.child.kill('SIGKILL');
    await agent?.ended;
  }

  /** What kubeadm sets up. */
  async function bind(name: string, role: string, group: string): Promise<void> {
    const apiGroup = 'rbac.authorization.k8s.io';
    const body = {
      ...{ metadata: { name }, roleRef: { apiGroup, kind: 'ClusterRole', name: role } },
      subjects: [{ apiGroup, kind: 'Group', name: group }],
    };
    await plane.admin.request({ method: 'POST', path: RBAC, body }).catch((error: unknown) => {
      if (!String(error).includes('already exists')) throw error;
    });
  }
  const letAsk = async () => bind('test:ask', 'system:node-bootstrapper', 'system:bootstrappers');
  const approveClients = async () => {
    const role = 'system:certificates.k8s.io:certificatesigningrequests';
    await bind('test:new', `${role}:nodeclient`, 'system:bootstrappers');
    await bind('test:renewed', `${role}:selfnodeclient`, 'system:nodes');
  };

  async function requests(signer: string): Promise<CertificateSigningRequest[]> {
    const list = await plane.admin.request<{ items: CertificateSigningRequest[] }>({
      ...{ method: 'GET', path: REQUESTS },
    });
    return list.items.filter(({ spec }) => spec.signerName === `kubernetes.io/${signer}`);
  }
  const clientRequests = async () => requests('kube-apiserver-client-kubelet');

  async function isNodeReady(): Promise<boolean> {
    return isReady(await plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${nodeName}` }));
  }

  const readCurrent = async (use: 'client' | 'server') =>
    new X509Certificate(await readFile(current(use), 'utf8'));

  /** For how long it is good, as the agent's metrics have it and as the certificate itself says. */
  async function expectTold(use: 'client' | 'server', validTo: string): Promise<void> {
    const { text } = await new LocalApiClient(at('root', 'podloop.sock')).ask('/metrics');
    const metric = readMetricsPage(text).get(`kubelet_certificate_manager_${use}_ttl_seconds`);
    const leftS = (Date.parse(validTo) - Date.now()) / 1_000;
    expect(Math.abs(metric!.samples[0]!.value - leftS)).toBeLessThan(5);
  }

  it('are had with a bootstrap token, by an agent that is killed while it waits, and renewed while it runs', async () => {
    await letAsk();
    start();
    // Nobody approves yet.
    const [first] = await untilAsync('a request', async () => {
      const all = await clientRequests();
      return all.length > 0 && all;
    });
    expect(first!.spec).toMatchObject({ username: 'system:bootstrap:abcdef' });
    expect(first!.metadata?.name).toMatch(/^node-csr-/);
    await kill();
    start();
    await agent!.line('stderr', /Taking up the request for a certificate from before/);
    expect(await clientRequests()).toHaveLength(1);
    await expect(stat(kubeconfig())).rejects.toThrow('ENOENT');
    await plane.kubectl('certificate', 'approve', first!.metadata!.name!);
    await untilAsync('the node', isNodeReady);
    expect((await stat(kubeconfig())).mode & 0o777).toBe(0o600);
    expect(await readFile(kubeconfig(), 'utf8')).toContain(current('client'));
    const before = await readCurrent('client');
    expect(before.subject).toBe(`O=system:nodes\nCN=system:node:${nodeName}`);
    await expectTold('client', before.validTo);
    await approveClients();
    // Not even once is anybody turned away.
    const after = await untilAsync('another certificate', async () => {
      const now = await readCurrent('client');
      return now.serialNumber !== before.serialNumber && now;
    });
    expect(after.checkIssued(new X509Certificate(plane.keys.authority))).toBe(true);
    const renewal = (await clientRequests()).find(({ spec }) => spec.username === `system:node:${nodeName}`);
    expect(renewal).toBeDefined();
    await untilAsync('the end of the first one', async () =>
      Promise.resolve(Date.now() > Date.parse(before.validTo) + 5_000),
    );
    const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;
    const renewTime = async () =>
      (await plane.admin.request<{ spec: { renewTime: string } }>({ method: 'GET', path: lease })).spec
        .renewTime;
    const last = await renewTime();
    await untilAsync('a sign of life', async () => (await renewTime()) !== last);
    expect(agent!.stderr.filter((line) => /Unauthorized|certificate has expired/.test(line))).toEqual([]);
  });

  it('that have ended while no agent ran are had anew, with the bootstrap kubeconfig as it is then', async () => {
    await letAsk();
    await approveClients();
    start();
    await untilAsync('the node', isNodeReady);
    await kill();
    const before = await readCurrent('client');
    await writeBootstrap('abcdef.wrongwrongwrong0');
    await untilAsync('its end', async () => Promise.resolve(Date.now() > Date.parse(before.validTo)));
    start();
    await agent!.line('stderr', /Certificate of the node as a client cannot be had.*Unauthorized/);
    await writeBootstrap(`${TOKEN.id}.${TOKEN.secret}`);
    // The request that the killed agent had just made is taken up first; what was signed for it has ended, too.
    await untilAsync('another certificate, which is good', async () => {
      const now = await readCurrent('client');
      return now.serialNumber !== before.serialNumber && Date.parse(now.validTo) > Date.now();
    });
    await agent!.line('stderr', /Kubeconfig of the node written/);
  });

  it('let an agent keep static pods running while it waits for one', async () => {
    const manifests = at('manifests');
    const { mkdir } = await import('node:fs/promises');
    await mkdir(manifests);
    const container = { name: 'main', image: HOST_IMAGE, command: ['sh', '-c', 'sleep 3600'] };
    const pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'static' } },
      spec: { containers: [{ ...container, imagePullPolicy: 'Never' }] },
    };
    await writeFile(join(manifests, 'pod.json'), JSON.stringify(pod));
    await letAsk();
    start('--pod-manifest-path', manifests);
    await agent!.line('stderr', /event for pod.*static.*ContainerStarted/);
  });

  it.skipIf(ADDRESS === undefined)(
    'are signed for the port with TLS, swapped while it serves, and renewed',
    async () => {
      await letAsk();
      await approveClients();
      const port = await findFreePort();
      const common = [
        '--port',
        String(port),
        '--address',
        '0.0.0.0',
        '--client-ca-file',
        plane.keys.file('ca.crt'),
      ];
      start(...common, '--rotate-server-certificates');
      const [request] = await untilAsync('a request', async () => {
        const all = await requests('kubelet-serving');
        return all.length > 0 && all;
      });
      expect(request!.spec.username).toBe(`system:node:${nodeName}`);
      // Until then it shows one of its own.
      expect((await shownAt(port)).issuer.CN).not.toBe('kubernetes');
      await plane.kubectl('certificate', 'approve', request!.metadata!.name!);
      const first = await untilAsync('a signed one at the port', async () => {
        const shown = await shownAt(port, plane.keys.authority);
        return shown.issuer.CN === 'kubernetes' && shown;
      });
      expect(first.subject).toMatchObject({ O: 'system:nodes', CN: `system:node:${nodeName}` });
      expect(first.subjectaltname).toBe(`DNS:${nodeName}, IP Address:${ADDRESS}`);
      await expectTold('server', first.valid_to);
      const second = await untilAsync('another request', async () =>
        (await requests('kubelet-serving')).find(
          ({ metadata }) => metadata?.name !== request!.metadata?.name,
        ),
      );
      await plane.kubectl('certificate', 'approve', second.metadata!.name!);
      await untilAsync('another one at the port', async () => {
        const shown = await shownAt(port, plane.keys.authority);
        return shown.serialNumber !== first.serialNumber;
      });
    },
  );

  /** The certificate that is shown at a port; verified against an authority where one is told. */
  async function shownAt(port: number, ca?: string): Promise<PeerCertificate> {
    return await new Promise((resolve, reject) => {
      const socket = connectTls(
        { host: ADDRESS!, port, ...(ca === undefined ? { rejectUnauthorized: false } : { ca }) },
        () => {
          resolve(socket.getPeerCertificate());
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });
  }
});
