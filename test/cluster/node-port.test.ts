import { once } from 'node:events';
import { type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { findOwnIp } from './harness/own-ip.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const PODS = '/api/v1/namespaces/default/pods';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

describe.skipIf('missing' in found)("a node's port, asked as a kubelet's is", () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;
  let port: number;
  let uid: string;
  let masters: object;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    port = await findFreePort();
    const logs = plane.keys.file('node-logs');
    await mkdir(logs);
    await writeFile(join(logs, 'syslog'), 'a line of the node\n');
    agent = await ClusterAgent.start(
      plane,
      'lab-a',
      ...['--port', String(port), '--client-ca-file', plane.keys.file('ca.crt')],
      ...['--authorization-webhook-cache-unauthorized-ttl', '1s', '--node-logs-dir', logs],
      ...['--address', '0.0.0.0', '--node-ip', findOwnIp()],
    );
    const container = {
      name: 'main',
      image: HOST_IMAGE,
      command: ['sh', '-c', 'echo here; exec sleep 1000'],
    };
    const body = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
      spec: { terminationGracePeriodSeconds: 0, containers: [container] },
    };
    await plane.admin.request({ method: 'POST', path: PODS, body });
    const pod = await untilAsync('a pod that runs', async () => {
      const seen = await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/web` });
      return seen.status?.phase === 'Running' && seen;
    });
    uid = pod.metadata?.uid ?? '';
    masters = await plane.keys.makeClient('root', 'root', 'system:masters');
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const ask = async (method: string, path: string, token?: string): Promise<string> => {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const tls = token === undefined ? masters : {};
    const { code, text } = await askPort(port, path, { headers, tls, method });
    return `${code} ${text.trim()}`;
  };
  /** A service account that has these rights, and its token. */
  const granted = async (account: string, verb: string, resource: string): Promise<string> => {
    await plane.admin.request({ method: 'POST', path: ACCOUNTS, body: { metadata: { name: account } } });
    await plane.kubectl('create', 'clusterrole', account, `--resource=${resource}`, `--verb=${verb}`);
    const subject = `--serviceaccount=default:${account}`;
    await plane.kubectl('create', 'clusterrolebinding', account, `--clusterrole=${account}`, subject);
    const path = `${ACCOUNTS}/${account}/token`;
    const made = await plane.admin.request<{ status: { token: string } }>({ method: 'POST', path, body: {} });
    return made.status.token;
  };

  it('runs a command by one request, with the UID of the pod or without', async () => {
    const script = 'cmd=echo%20hello%20there';
    expect(await ask('POST', `/run/default/web/main?${script}`)).toBe('200 hello there');
    expect(await ask('POST', `/run/default/web/${uid}/main?${script}`)).toBe('200 hello there');
    expect(await ask('POST', '/run/default/web/main?cmd=ls%20/none')).toMatch(
      /^500 command 'ls \/none' exited with 2: /,
    );
    expect(await ask('POST', '/run/default/web/main?cmd=/none')).toMatch(/^500 rpc error: code = /);
    expect(await ask('POST', `/run/default/web/another/main?${script}`)).toBe('404 pod not found');
    expect(await ask('POST', `/run/default/db/main?${script}`)).toBe('404 pod does not exist');
    expect(await ask('POST', `/run/default/web/side?${script}`)).toBe('500 container not found ("side")');
    expect(await ask('GET', `/run/default/web/main?${script}`)).toMatch(/^405 /);
  });

  it('runs it through the API server, too', async () => {
    const path = '/api/v1/nodes/lab-a/proxy/run/default/web/main?cmd=echo%20proxied';
    expect(await plane.kubectl('create', '--raw', path, '-f', '/dev/null')).toBe('proxied\n');
  });

  it('joins a pod by its UID, and no other of its name', async () => {
    const dial = async (path: string): Promise<number | undefined> => {
      const call = request({
        ...{ host: '127.0.0.1', port, path, agent: false, rejectUnauthorized: false, ...masters },
        headers: {
          ...{ Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' },
          ...{
            'Sec-WebSocket-Key': 'bm9uY2Ugb2Ygc2l4dGVlbg==',
            'Sec-WebSocket-Protocol': 'v5.channel.k8s.io',
          },
        },
      });
      call.end();
      const [response] = (await Promise.race([once(call, 'upgrade'), once(call, 'response')])) as [
        IncomingMessage,
      ];
      call.destroy();
      return response.statusCode;
    };
    for (const path of [
      '/exec/default/web/UID/main?command=true&output=1',
      '/attach/default/web/UID/main?output=1',
    ]) {
      expect(await dial(path.replace('UID', uid)), path).toBe(101);
      expect(await dial(path.replace('UID', 'another')), path).toBe(404);
    }
    expect(await dial('/portForward/default/web/another?port=80')).toBe(404);
  });

  it('says of a checkpoint what the runtime says', async () => {
    expect(await ask('POST', '/checkpoint/default/web/main?timeout=1')).toMatch(
      /^500 checkpointing of default\/web\/main failed \(rpc error: code = Unimplemented desc = .+\)$/,
    );
    expect(await ask('POST', '/checkpoint/default/web/side')).toBe('404 container side does not exist');
    expect(await ask('GET', '/checkpoint/default/web/main')).toMatch(/^405 /);
  });

  it('shows logs of containers by their old option as well', async () => {
    expect(await ask('GET', '/containerLogs/default/web/main?tail=1')).toBe('200 here');
    expect(await ask('GET', '/containerLogs/default/web/side')).toBe(
      '404 container "side" not found in pod "web"',
    );
  });

  it.each([
    ['get', 'nodes/configz', 'GET', '/configz', /^200 \{"kubeletconfig":/],
    ['get', 'nodes/log', 'GET', '/logs/syslog', /^200 a line of the node$/],
    ['get', 'nodes/healthz', 'GET', '/healthz', /^200 ok$/],
    ['get', 'nodes/pods', 'GET', '/runningpods/', /^200 .*"kind":"PodList".*"name":"web"/],
    ['get', 'nodes/stats', 'GET', '/stats/summary', /^200 /],
    ['get', 'nodes/metrics', 'GET', '/metrics/resource', /^200 /],
    ['create', 'nodes/checkpoint', 'POST', '/checkpoint/default/web/main', /^500 checkpointing of /],
    ['create', 'nodes/proxy', 'POST', '/run/default/web/main?cmd=echo', /^200 $/],
    ['get', 'nodes/proxy', 'GET', '/containerLogs/default/web/main', /^200 here$/],
  ])('lets in who has %s %s, to that alone: %s %s', async (verb, resource, method, path, answer) => {
    const account = `has-${verb}-${resource.replace('/', '-')}`;
    const token = await granted(account, verb, resource);
    await expect.poll(async () => ask(method, path, token), { timeout: 30_000 }).toMatch(answer);
    const other = resource === 'nodes/log' ? '/metrics' : '/logs/';
    expect(await ask('GET', other, token)).toMatch(
      /^403 Forbidden \(user=system:serviceaccount:default:has-/,
    );
  });
});
