import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CertificateSigningRequest, type Node } from '../../src/cluster/client/kube-objects.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { PodloopProcess } from '../integration/podloop-process.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { untilAsync } from './harness/until-async.js';

const run = promisify(execFile);
const found = findClusterBinaries();
const kubeadm = 'missing' in found ? undefined : found.binaries.kubeadm;
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const NODE = 'joined-1';

/** What kubeadm itself sets up for nodes that come, and nothing of the tests' own. */
describe.skipIf('missing' in found || kubeadm === undefined)(
  'a node of a cluster that kubeadm has made',
  () => {
    let plane: ControlPlane;
    let folder: string;
    let agent: PodloopProcess | undefined;
    let token: string;

    const asAdmin = async (...args: readonly string[]): Promise<string> => {
      const all = [...args, '--kubeconfig', plane.adminKubeconfig];
      return (await run(kubeadm!, all, { timeout: 60_000, env: { ...process.env, HOME: folder } })).stdout;
    };

    beforeAll(async () => {
      if ('missing' in found) return;
      folder = await mkdtemp(join(tmpdir(), 'podloop-kubeadm-'));
      plane = await ControlPlane.start(found);
      await asAdmin('init', 'phase', 'bootstrap-token', '--skip-token-print');
    });

    afterAll(async () => {
      agent?.child.kill('SIGTERM');
      await agent?.ended;
      await plane[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });

    it('joins with what kubeadm token create prints, and is approved by nobody in person', async () => {
      token = (await asAdmin('token', 'create')).trim();
      const bootstrap = join(folder, 'bootstrap.kubeconfig');
      const authority = `--certificate-authority=${plane.keys.file('ca.crt')}`;
      const kubectl = async (...args: string[]) =>
        plane.kubectl('config', '--kubeconfig', bootstrap, ...args);
      await kubectl('set-cluster', 'cluster', `--server=${plane.server}`, authority, '--embed-certs');
      await kubectl('set-credentials', 'bootstrap', `--token=${token}`);
      await kubectl('set-context', 'cluster', '--cluster=cluster', '--user=bootstrap');
      await kubectl('use-context', 'cluster');
      const kubeconfig = join(folder, 'kubelet.conf');
      agent = new PodloopProcess([
        ...['run', '--bootstrap-kubeconfig', bootstrap, '--kubeconfig', kubeconfig, '--node-name', NODE],
        ...['--root-dir', join(folder, 'root'), '--pod-logs-dir', join(folder, 'logs')],
        ...['--cert-dir', join(folder, 'pki'), '--client-ca-file', plane.keys.file('ca.crt')],
        ...['--runtime-endpoint', 'embedded', '--network', 'host', '--stop-pods', '--read-only-port', '0'],
        ...['--port', String(await findFreePort())],
      ]);
      await untilAsync('a node that is ready', async () =>
        isReady(await plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${NODE}` })),
      );
      const { items } = await plane.admin.request<{ items: CertificateSigningRequest[] }>({
        ...{ method: 'GET', path: REQUESTS },
      });
      expect(items.map(({ spec }) => [spec.signerName, spec.username])).toContainEqual([
        ...['kubernetes.io/kube-apiserver-client-kubelet', `system:bootstrap:${token.split('.')[0]}`],
      ]);
      expect((await stat(kubeconfig)).mode & 0o777).toBe(0o600);
      expect(await plane.kubectl('--kubeconfig', kubeconfig, 'auth', 'whoami')).toMatch(
        new RegExp(`Username +system:node:${NODE}\\nGroups +\\[system:nodes system:authenticated\\]`),
      );
    });

    it('goes on when its token is deleted', async () => {
      await asAdmin('token', 'delete', token);
      expect(await asAdmin('token', 'list')).not.toContain(token);
      const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`;
      const renewTime = async () =>
        (await plane.admin.request<{ spec: { renewTime: string } }>({ method: 'GET', path: lease })).spec
          .renewTime;
      const last = await renewTime();
      await untilAsync('a sign of life', async () => (await renewTime()) !== last);
    });
  },
);
