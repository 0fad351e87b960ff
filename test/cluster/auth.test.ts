import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentServers } from '../../src/node/api/agent/agent-servers.js';
import { resolveAgentOptions } from '../../src/node/options/resolve-agent-options.js';
import { ClusterAuth } from '../../src/cluster/auth/cluster-auth.js';
import { type KubeClients, openKubeClients } from '../../src/cluster/client/open-kube-clients.js';
import { ApiRouter } from '../../src/node/api/http/api-router.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane, TEST_TOKEN } from './harness/control-plane.js';

const found = findClusterBinaries();
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

describe.skipIf('missing' in found)('who may ask a node of a real control plane', () => {
  let plane: ControlPlane;
  let clients: KubeClients;
  let servers: AgentServers;
  let folder: string;
  let port: number;

  beforeAll(async () => {
    if ('missing' in found) return;
    folder = await mkdtemp(join(tmpdir(), 'podloop-auth-'));
    plane = await ControlPlane.start(found);
    const clock = new SystemClock();
    clients = await openKubeClients({
      ...{ file: await plane.nodeKubeconfig('lab-a'), version: 'test', environment: {}, clock },
      ...{ rateLimit: { perSecond: 50, burst: 100 }, heartbeatTimeoutMs: 10_000, logger: SILENT_LOGGER },
    });
    // Nobody is told anything until the API server is asked again.
    const settings = { unauthorizedTtlMs: 0 };
    const cluster = new ClusterAuth({ client: clients.api, nodeName: 'lab-a', clock, settings });
    port = await findFreePort();
    const router = new ApiRouter();
    for (const path of ['/pods', '/metrics', '/stats/summary', '/healthz'])
      router.answer('GET', path, () => ({ kind: 'text', body: `at ${path}` }));
    servers = await AgentServers.start({
      ...{
        clock,
        logger: SILENT_LOGGER,
        nodeNames: () => ['lab-a'],
        router,
        rootDir: folder,
        pages: new Map(),
      },
      ...{ checks: { healthz: [], livez: [], readyz: [] }, cluster },
      options: resolveAgentOptions({
        ...{ port, readOnlyPort: 0, anonymousAuth: false, authorizationMode: 'Webhook' },
        clientCaFile: plane.keys.file('ca.crt'),
      }),
    });
  });

  afterAll(async () => {
    await servers.close();
    clients.close();
    await plane[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = async (path: string, token?: string, tls: object = {}) => {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const { code, text } = await askPort(port, path, { headers, tls });
    return `${code} ${text.trim()}`;
  };
  const grant = async (name: string, user: string, resources: readonly string[]): Promise<void> => {
    const apiGroup = 'rbac.authorization.k8s.io';
    const rules = [{ apiGroups: [''], resources, verbs: ['get'] }];
    await plane.admin.request({
      ...{ method: 'POST', path: `${RBAC}/clusterroles` },
      body: { metadata: { name }, rules },
    });
    await plane.admin.request({
      ...{ method: 'POST', path: `${RBAC}/clusterrolebindings` },
      body: {
        metadata: { name },
        ...{
          roleRef: { apiGroup, kind: 'ClusterRole', name },
          subjects: [{ apiGroup, kind: 'User', name: user }],
        },
      },
    });
  };
  const tokenOf = async (account: string): Promise<string> => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await plane.admin.request({ method: 'POST', path: accounts, body: { metadata: { name: account } } });
    const path = `${accounts}/${account}/token`;
    const made = await plane.admin.request<{ status: { token: string } }>({ method: 'POST', path, body: {} });
    return made.status.token;
  };

  it('is nobody who has shown nothing, or a token that nobody has', async () => {
    expect(await ask('/metrics')).toBe('401 Unauthorized');
    expect(await ask('/healthz')).toBe('401 Unauthorized');
    expect(await ask('/metrics', 'made-up')).toBe('401 Unauthorized');
  });

  it('is who has a token, as far as rules let him', async () => {
    expect(await ask('/metrics', TEST_TOKEN)).toBe(
      '403 Forbidden (user=token-user, verb=get, resource=nodes, subresource(s)=[metrics])',
    );
    await grant('sees-metrics', 'token-user', ['nodes/metrics']);
    await expect.poll(async () => ask('/metrics', TEST_TOKEN), { timeout: 30_000 }).toBe('200 at /metrics');
    expect(await ask('/pods', TEST_TOKEN)).toBe(
      '403 Forbidden (user=token-user, verb=get, resource=nodes, subresource(s)=[pods proxy])',
    );
  });

  it('is a service account with its token, by the narrow right or the wide one', async () => {
    const [narrow, wide] = [await tokenOf('narrow'), await tokenOf('wide')];
    expect(await ask('/pods', narrow)).toMatch(/^403 .*user=system:serviceaccount:default:narrow,/);
    await grant('sees-pods', 'system:serviceaccount:default:narrow', ['nodes/pods']);
    await grant('sees-all', 'system:serviceaccount:default:wide', ['nodes/proxy']);
    await expect.poll(async () => ask('/pods', narrow), { timeout: 30_000 }).toBe('200 at /pods');
    await expect.poll(async () => ask('/pods', wide), { timeout: 30_000 }).toBe('200 at /pods');
    expect(await ask('/stats/summary', wide)).toMatch(/^403 /);
  });

  it('is who has a certificate of the cluster, as far as rules let him', async () => {
    const viewer = await plane.keys.makeClient('viewer', 'viewer', 'viewers');
    expect(await ask('/stats/summary', undefined, viewer)).toBe(
      '403 Forbidden (user=viewer, verb=get, resource=nodes, subresource(s)=[stats])',
    );
    await grant('sees-stats', 'viewer', ['nodes/stats']);
    await expect
      .poll(async () => ask('/stats/summary', undefined, viewer), { timeout: 30_000 })
      .toBe('200 at /stats/summary');
    const masters = await plane.keys.makeClient('root', 'root', 'system:masters');
    expect(await ask('/pods', undefined, masters)).toBe('200 at /pods');
  });

  it('is who was let in before while the API server is away, and nobody new', async () => {
    await plane.components.apiServer.kill();
    try {
      expect(await ask('/metrics', TEST_TOKEN)).toBe('200 at /metrics');
      expect(await ask('/metrics', 'another')).toBe('401 Unauthorized');
      const viewer = await plane.keys.makeClient('viewer', 'viewer', 'viewers');
      expect(await ask('/metrics', undefined, viewer)).toBe(
        '500 Authorization error (user=viewer, verb=get, resource=nodes, subresource=metrics)',
      );
    } finally {
      await plane.components.apiServer.start();
    }
  });
});
