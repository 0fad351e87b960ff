import { accessSync, constants } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { Component } from './harness/component.js';
import { ControlPlane } from './harness/control-plane.js';
import { findOwnIp } from './harness/own-ip.js';
import { ResourceMetricsApi } from './harness/resource-metrics-api.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const PODS = '/api/v1/namespaces/default/pods';
const SERVICES = '/api/v1/namespaces/kube-system/services';
const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const HELD_MIB = 80;
/** What they do is what `kubectl top` is to show. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  idle: ['sleep', '100000'],
  busy: ['sh', '-c', 'while :; do :; done'],
  holding: [
    ...[process.execPath, '-e'],
    `global.held = Buffer.alloc(${HELD_MIB} * 1048576, 1); setInterval(() => 0, 1e6)`,
  ],
};
const metricsServer = findMetricsServer();

/** metrics-server itself, where somebody has put it beside the programs of the control plane. */
function findMetricsServer(): string | undefined {
  const file = join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'metrics-server');
  try {
    accessSync(file, constants.X_OK);
    return file;
  } catch {
    return undefined;
  }
}

describe.skipIf('missing' in found || found.binaries.kubectl === undefined)(
  "kubectl top, by metrics-server's protocol",
  () => {
    let plane: ControlPlane;
    let agent: ClusterAgent;
    let token: string;

    beforeAll(async () => {
      if ('missing' in found) return;
      plane = await ControlPlane.start(found);
      agent = await ClusterAgent.start(
        plane,
        'lab-a',
        ...['--port', String(await findFreePort()), '--client-ca-file', plane.keys.file('ca.crt')],
        ...['--address', '0.0.0.0', '--node-ip', findOwnIp()],
      );
      for (const [name, command] of Object.entries(COMMANDS)) {
        const container = { name: 'main', image: HOST_IMAGE, command };
        const spec = { terminationGracePeriodSeconds: 0, containers: [container] };
        const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
        await plane.admin.request({ method: 'POST', path: PODS, body });
      }
      for (const name of Object.keys(COMMANDS)) {
        await untilAsync(`${name}, that it runs`, async () => {
          const pod = await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}` });
          return pod.status?.phase === 'Running';
        });
      }
      token = await makeScraper();
    });

    afterAll(async () => {
      await agent[Symbol.asyncDispose]();
      await plane[Symbol.asyncDispose]();
    });

    /** The service account of metrics-server, with the rights that its manifests give it; its token. */
    const makeScraper = async (): Promise<string> => {
      const account = '--serviceaccount=kube-system:metrics-server';
      await plane.kubectl('-n', 'kube-system', 'create', 'serviceaccount', 'metrics-server');
      await plane.kubectl('create', 'clusterrole', 'scrapes', '--verb=get', '--resource=nodes/metrics');
      await plane.kubectl('create', 'clusterrole', 'looks', '--verb=get,list,watch', '--resource=pods,nodes');
      for (const role of ['scrapes', 'looks', 'system:auth-delegator']) {
        const name = `metrics-server-${role}`;
        await plane.kubectl('create', 'clusterrolebinding', name, `--clusterrole=${role}`, account);
      }
      await plane.kubectl(
        ...['-n', 'kube-system', 'create', 'rolebinding', 'metrics-server-auth-reader', account],
        '--role=extension-apiserver-authentication-reader',
      );
      return (await plane.kubectl('-n', 'kube-system', 'create', 'token', 'metrics-server')).trim();
    };
    /** Has the API server ask at this port of this machine for `metrics.k8s.io`. */
    const register = async (port: number): Promise<void> => {
      const service = { name: 'metrics-server', namespace: 'kube-system', port };
      await plane.admin.request({
        ...{ method: 'POST', path: SERVICES },
        body: {
          metadata: { name: service.name },
          spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
        },
      });
      await plane.admin.request({
        ...{ method: 'POST', path: API_SERVICES },
        body: {
          metadata: { name: 'v1beta1.metrics.k8s.io' },
          spec: {
            ...{ service, group: 'metrics.k8s.io', version: 'v1beta1', insecureSkipTLSVerify: true },
            ...{ groupPriorityMinimum: 100, versionPriority: 100 },
          },
        },
      });
    };
    const unregister = async (): Promise<void> => {
      await plane.admin.request({ method: 'DELETE', path: `${API_SERVICES}/v1beta1.metrics.k8s.io` });
      await plane.admin.request({ method: 'DELETE', path: `${SERVICES}/metrics-server` });
    };
    /** Numbers of `kubectl top`, in thousandths of a core and in MiB, by name. */
    const top = async (...args: string[]): Promise<Map<string, readonly [number, number]>> => {
      const lines = (await plane.kubectl('top', ...args, '--no-headers')).trim().split('\n');
      return new Map(
        lines.map((line) => {
          const numbers = [...line.matchAll(/ (\d+)(?:m|Mi)\b/g)].map(([, number]) => Number(number));
          return [line.split(' ')[0]!, [numbers[0]!, numbers[1]!]];
        }),
      );
    };
    /** That what is shown is what there is. */
    const checkTop = async (more: () => Promise<unknown> = () => Promise.resolve()): Promise<void> => {
      const pods = await untilAsync(
        'numbers of all pods',
        async () => {
          await more();
          const shown = await top('pod');
          return shown.size === 3 && shown;
        },
        120_000,
      );
      const [[idle], [busy], [, held]] = [pods.get('idle')!, pods.get('busy')!, pods.get('holding')!];
      expect(busy).toBeGreaterThan(idle);
      expect(held).toBeGreaterThan(HELD_MIB);
      expect(held).toBeLessThan(HELD_MIB * 4);
      const [cores, memory] = (await top('node')).get('lab-a')!;
      expect(cores).toBeGreaterThanOrEqual(busy);
      expect(memory).toBeGreaterThan(held);
    };

    it('finds every series that it takes, with the times at which they were measured', async () => {
      await using api = await ResourceMetricsApi.start(plane.admin, token);
      await untilAsync('a page', async () => {
        await api.scrape();
        return true;
      });
      const points = api.pointsOf('lab-a')!;
      expect([...points.keys()].sort()).toEqual([
        ...['default/busy/main', 'default/holding/main', 'default/idle/main', 'node'],
      ]);
      const now = Date.now();
      for (const [key, { atMs, cpuSeconds, memoryBytes, startedAtSeconds }] of points) {
        expect(cpuSeconds, key).toBeGreaterThan(0);
        expect(memoryBytes, key).toBeGreaterThan(0);
        expect(now - atMs, key).toBeLessThan(60_000);
        if (key !== 'node') expect(startedAtSeconds! * 1_000, key).toBeLessThanOrEqual(atMs);
      }
    });

    it('needs the right to nodes/metrics, and nothing else of the node', async () => {
      const { kubeletEndpoint } = JSON.parse(
        await plane.kubectl('get', 'node', 'lab-a', '-o', 'jsonpath={.status.daemonEndpoints}'),
      ) as { kubeletEndpoint: { Port: number } };
      const ask = async (path: string): Promise<number> =>
        (
          await askPort(kubeletEndpoint.Port, path, {
            ...{ tls: {}, headers: { Authorization: `Bearer ${token}` } },
          })
        ).code;
      expect(await ask('/metrics/resource')).toBe(200);
      expect(await ask('/stats/summary')).toBe(403);
      expect(await ask('/pods')).toBe(403);
    });

    it('shows what node and pods use', async () => {
      await using api = await ResourceMetricsApi.start(plane.admin, token);
      await register(api.port);
      try {
        await checkTop(async () => api.scrape());
      } finally {
        await unregister();
      }
    });

    it.skipIf(metricsServer === undefined)('shows it through metrics-server itself', async () => {
      const port = await findFreePort();
      const config = {
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'lab' },
        clusters: [
          {
            name: 'lab',
            cluster: { server: plane.server, 'certificate-authority': plane.keys.file('ca.crt') },
          },
        ],
        users: [{ name: 'scraper', user: { token } }],
        contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'scraper' } }],
      };
      const kubeconfig = plane.keys.file('metrics-server.kubeconfig');
      await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
      const server = new Component({
        ...{ name: 'metrics-server', program: metricsServer! },
        args: [
          ...[`--kubeconfig=${kubeconfig}`, `--authentication-kubeconfig=${kubeconfig}`],
          ...[`--authorization-kubeconfig=${kubeconfig}`, `--secure-port=${port}`, '--metric-resolution=10s'],
          ...['--kubelet-preferred-address-types=InternalIP', '--kubelet-use-node-status-port'],
          ...['--kubelet-insecure-tls', '--kubelet-request-timeout=5s'],
          ...[`--cert-dir=${plane.keys.file('metrics-server-certs')}`],
        ],
        logFile: plane.keys.file('metrics-server.log'),
        isReady: async () => (await askPort(port, '/livez', { tls: {} })).code === 200,
      });
      await server.start();
      try {
        await register(port);
        await checkTop().catch((error: unknown) => {
          throw new Error(`${String(error)}; metrics-server said:\n${server.logTail()}`, { cause: error });
        });
        await unregister();
      } finally {
        await server.stop();
      }
    });
  },
);
