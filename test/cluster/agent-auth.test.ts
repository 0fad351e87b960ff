import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMetricsPage } from '#support/builders/metrics-page.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { chaptersOf, namesInTables } from '../integration/metrics/kubelet-agent-metrics.js';
import { ClusterAgent } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

describe.skipIf('missing' in found)('who may ask an agent that is a node of a real control plane', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;
  let port: number;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    port = await findFreePort();
    agent = await ClusterAgent.start(
      plane,
      'lab-a',
      ...['--port', String(port), '--client-ca-file', plane.keys.file('ca.crt')],
      ...['--authentication-token-webhook-cache-ttl', '8s'],
      ...['--authorization-webhook-cache-authorized-ttl', '8s'],
      ...['--authorization-webhook-cache-unauthorized-ttl', '1s'],
    );
    await untilAsync('an agent that answers', async () => (await ask('/healthz')).startsWith('401'));
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const ask = async (path: string, token?: string, tls: object = {}, method = 'GET'): Promise<string> => {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const { code, text } = await askPort(port, path, { headers, tls, method });
    return `${code} ${text.trim()}`;
  };
  const tokenOf = async (account: string): Promise<string> => {
    await plane.admin.request({ method: 'POST', path: ACCOUNTS, body: { metadata: { name: account } } });
    const path = `${ACCOUNTS}/${account}/token`;
    const made = await plane.admin.request<{ status: { token: string } }>({ method: 'POST', path, body: {} });
    return made.status.token;
  };
  const grant = async (account: string, resource: string, verb: string): Promise<void> => {
    const name = `${account}-${verb}`;
    await plane.kubectl('create', 'clusterrole', name, `--resource=${resource}`, `--verb=${verb}`);
    const subject = `--serviceaccount=default:${account}`;
    await plane.kubectl('create', 'clusterrolebinding', name, `--clusterrole=${name}`, subject);
  };

  it('is nobody who has shown nothing, as with a kubelet, not even for health', async () => {
    for (const path of ['/healthz', '/metrics', '/pods', '/api/v1/pods']) {
      expect(await ask(path)).toMatch(/^401 /);
    }
    expect(await ask('/pods', 'made-up')).toBe('401 Unauthorized');
  });

  it('is a service account as far as rules for nodes/proxy let it, and no further', async () => {
    const token = await tokenOf('reader');
    const who = 'user=system:serviceaccount:default:reader';
    expect(await ask('/pods', token)).toBe(
      `403 Forbidden (${who}, verb=get, resource=nodes, subresource(s)=[pods proxy])`,
    );
    await grant('reader', 'nodes/proxy', 'get');
    await expect.poll(async () => ask('/pods', token), { timeout: 30_000 }).toMatch(/^200 .*"PodList"/);
    expect(await ask('/metrics', token)).toMatch(/^403 .*subresource\(s\)=\[metrics\]/);
    // Who may read a node may not run commands on it.
    expect(await ask('/exec/default/web/main?command=id', token)).toBe(
      `403 Forbidden (${who}, verb=create, resource=nodes, subresource(s)=[proxy])`,
    );
    expect(await ask('/api/v1/namespaces/default/pods/web', token, {}, 'DELETE')).toMatch(
      /^403 .*Objects of a node in a cluster are changed through its API server/,
    );
  });

  it('is counted: what the API server was asked, and what was known already', async () => {
    const token = await tokenOf('scraper');
    await grant('scraper', 'nodes/metrics', 'get');
    await expect.poll(async () => ask('/metrics', token), { timeout: 30_000 }).toMatch(/^200 /);
    const page = readMetricsPage((await ask('/metrics', token)).slice('200 '.length) + '\n');
    const total = (name: string, label: string, value: string): number =>
      page.get(name)?.samples.find(({ labels }) => labels[label] === value)?.value ?? 0;
    expect(total('apiserver_delegated_authn_request_total', 'code', '201')).toBeGreaterThan(0);
    expect(total('apiserver_delegated_authz_request_total', 'code', '201')).toBeGreaterThan(0);
    expect(total('authentication_token_cache_request_total', 'status', 'hit')).toBeGreaterThan(0);
  });

  it('finds every metric of a node of a cluster that the documentation explains, and no other', async () => {
    const token = await tokenOf('prometheus');
    await grant('prometheus', 'nodes/metrics', 'get');
    await expect.poll(async () => ask('/metrics', token), { timeout: 30_000 }).toMatch(/^200 /);
    const page = readMetricsPage((await ask('/metrics', token)).slice('200 '.length) + '\n');
    const ofCluster = namesInTables(chaptersOf('docs/reference/node.md').get('Metrics')!);
    const ofAll = [...chaptersOf('docs/reference/metrics.md')]
      .filter(([heading]) => /^(As the kubelet has them|podloop's own)$/.test(heading))
      .flatMap(([, body]) => namesInTables(body));
    const known = new Set([...ofAll, ...ofCluster]);
    expect([...page.keys()].filter((name) => !known.has(name))).toEqual([]);
    expect(ofCluster.filter((name) => !page.has(name))).toEqual([]);
  });

  it('is who was known before while the API server is away, for as long as that is kept', async () => {
    const token = await tokenOf('loyal');
    await grant('loyal', 'nodes/stats', 'get');
    await expect.poll(async () => ask('/stats/summary', token), { timeout: 30_000 }).toMatch(/^200 /);
    const viewer = await plane.keys.makeClient('viewer', 'viewer', 'viewers');
    expect(await ask('/stats/summary', undefined, viewer)).toMatch(/^403 /);
    await plane.components.apiServer.kill();
    try {
      expect(await ask('/stats/summary', token)).toMatch(/^200 /);
      await expect
        .poll(async () => ask('/stats/summary', token), { timeout: 60_000 })
        .toBe('401 Unauthorized');
      expect(agent.log).toContain('Unable to authenticate the request due to an error');
      // Of a certificate nobody has to be asked whose it is, but what he may do.
      expect(await ask('/stats/summary', undefined, viewer)).toBe(
        '500 Authorization error (user=viewer, verb=get, resource=nodes, subresource=stats)',
      );
      expect(agent.log).toMatch(/Request to the API failed.*Authorization error.*ECONNREFUSED/s);
    } finally {
      await plane.components.apiServer.start();
    }
    await expect.poll(async () => ask('/stats/summary', token), { timeout: 60_000 }).toMatch(/^200 /);
  });
});
