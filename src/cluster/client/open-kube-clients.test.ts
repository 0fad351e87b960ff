import { createSecureContext } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConnectProxy } from '#support/clients/connect-proxy.js';
import { FakeClock } from '#testing/fake-clock.js';
import { KubeApiHarness } from '#support/harness/kube-api-harness.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { untilTrue } from '#support/until-true.js';
import { SystemClock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { Credentials } from './credentials.js';
import { readProxyUrl } from '#base/wire/find-proxy.js';
import { type Kubeconfig } from './kubeconfig.js';
import { type KubeClients, openKubeClients, readKubeconfigFile } from './open-kube-clients.js';
import { openSocket } from './open-socket.js';

const clock = new SystemClock();
const AUTHORIZATION = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
const GET = { method: 'GET', path: '/x' } as const;

describe.each([
  ['HTTP/2', 'http', true],
  ['HTTP/1.1', 'http', false],
  ['HTTP/2', 'https', true],
  ['HTTP/1.1', 'https', false],
])('clients of an API server that speaks %s behind a proxy of %s', (_, scheme, http2) => {
  const logger = new LogRecorder();
  const opened: KubeClients[] = [];
  let lab: KubeApiHarness;
  let proxy: ConnectProxy;

  beforeEach(async () => {
    lab = await KubeApiHarness.open({ http2 });
    const pair = await lab.makeServerPair('127.0.0.1');
    proxy = await ConnectProxy.open({ port: lab.port, ...(scheme === 'https' && { pair }) });
  });

  afterEach(async () => {
    for (const each of opened.splice(0)) each.close();
    logger.lines.length = 0;
    await proxy[Symbol.asyncDispose]();
    await lab[Symbol.asyncDispose]();
  });

  async function open(
    cluster: Partial<Kubeconfig>,
    environment: Record<string, string> = {},
  ): Promise<KubeClients> {
    const clients = await openKubeClients({
      file: { ...(await readKubeconfigFile(await lab.writeKubeconfig())), ...cluster },
      ...{ version: '1.2.3', environment, clock, logger },
      ...{ rateLimit: { perSecond: Infinity, burst: 1 }, heartbeatTimeoutMs: 10_000 },
    });
    opened.push(clients);
    return clients;
  }

  const url = (): string => `${scheme}://me:p%40ss@127.0.0.1:${proxy.port}`;

  it('go through the one of the kubeconfig, wherever the server is and whatever the environment says', async () => {
    const environment = { HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: '*' };
    const { api, heartbeat } = await open({ proxyUrl: url() }, environment);
    for (const client of [api, api, heartbeat]) await client.request(GET);
    const target = `127.0.0.1:${lab.port}`;
    const asked = { target, authorization: AUTHORIZATION };
    expect(proxy.asked).toEqual([asked, asked]);
    const version = http2 ? '2.0' : '1.1';
    expect(lab.requests.map(({ httpVersion }) => httpVersion)).toEqual([version, version, version]);
    // The proxy's credentials are for the proxy alone.
    expect(lab.requests[0]!.headers).not.toHaveProperty('proxy-authorization');
    expect(logger.lines).toMatchObject([
      {
        message: 'API server is reached through a proxy',
        fields: { server: `https://${target}`, proxy: `127.0.0.1:${proxy.port}` },
      },
    ]);
  });

  it('go through the one of the environment, but not to a server that it excepts', async () => {
    const server = 'https://api.lab:6443';
    const { api } = await open({ server }, { https_proxy: url() });
    await expect(api.request(GET)).resolves.toEqual({});
    expect(proxy.asked).toEqual([{ target: 'api.lab:6443', authorization: AUTHORIZATION }]);
    const own = await open({}, { https_proxy: url() });
    await expect(own.api.request(GET)).resolves.toEqual({});
    expect(proxy.asked).toHaveLength(1);
    expect(logger.lines).toHaveLength(1);
    await expect(open({ server }, { HTTPS_PROXY: 'socks5://127.0.0.1' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    });
  });

  it('say what the proxy answers, without a password', async () => {
    proxy.refusal = '407 Proxy Authentication Required';
    const { api } = await open({ proxyUrl: url() });
    const message = await api.request(GET).catch(messageOf);
    expect(message).toBe(
      `cannot connect to 127.0.0.1:${lab.port} through the proxy 127.0.0.1:${proxy.port}: ` +
        'the proxy answers 407 Proxy Authentication Required',
    );
    expect(lab.requests).toEqual([]);
    // As soon as it connects, the next request goes on.
    proxy.refusal = undefined;
    await expect(api.request(GET)).resolves.toEqual({});
  });

  it('verify the server behind the proxy', async () => {
    const { api } = await open({ proxyUrl: url(), serverName: 'other.lab' });
    await expect(api.request(GET)).rejects.toThrow(/through the proxy 127\.0\.0\.1:\d+: .*other\.lab/);
    expect(lab.requests).toEqual([]);
  });

  it('do not wait for ever for a proxy that says nothing', async () => {
    proxy.refusal = '';
    const held = new FakeClock();
    const address = { protocol: 'https:', host: 'api.lab', port: 6443, serverName: undefined } as const;
    const proxied = { ...address, insecure: true, proxy: readProxyUrl(url()) };
    const refused = expect(openSocket(proxied, createSecureContext(), held)).rejects.toThrow(
      /^cannot connect to api\.lab:6443 through the proxy .*: not connected within 10s$/,
    );
    await untilTrue(() => proxy.asked.length === 1);
    await held.advance(10_000);
    await refused;
    await untilTrue(() => proxy.connections === 0);
  });
});

it('does not ask a proxy that it cannot verify', async () => {
  await using lab = await KubeApiHarness.open();
  await using other = await KubeApiHarness.open();
  const pair = await other.makeServerPair('127.0.0.1');
  await using proxy = await ConnectProxy.open({ port: lab.port, pair });
  const cluster = `certificate-authority: ca.crt, proxy-url: "https://127.0.0.1:${proxy.port}"`;
  const clients = await openKubeClients({
    ...{ file: await lab.writeKubeconfig('{}', cluster), version: '1.2.3', environment: {}, clock },
    ...{ rateLimit: { perSecond: Infinity, burst: 1 }, heartbeatTimeoutMs: 10_000 },
    logger: new LogRecorder(),
  });
  await expect(clients.api.request(GET)).rejects.toThrow(/through the proxy .*certificate/);
  expect(proxy.asked).toEqual([]);
  clients.close();
});

it('tells a program that hands out credentials of the proxy, where it asks about the cluster', async () => {
  const apiVersion = 'client.authentication.k8s.io/v1';
  const credential = `{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":{"token":"%s"}}`;
  const script = `printf '${credential}' "$(printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d '\\n')"`;
  const exec = {
    apiVersion,
    command: '/bin/sh',
    args: ['-c', script],
    env: {},
    installHint: '',
    provideClusterInfo: true,
  } as const;
  const kubeconfig = {
    ...{ file: '/kubeconfig', server: 'https://api.lab', proxyUrl: 'http://proxy.lab:3128', insecure: false },
    user: { exec, impersonation: {} },
  };
  const environment = { PATH: process.env['PATH'] };
  const credentials = await Credentials.open({ kubeconfig, environment, clock, logger: new LogRecorder() });
  const { authorization } = await credentials.headers();
  const info = Buffer.from((authorization as string).replace('Bearer ', ''), 'base64').toString();
  expect(JSON.parse(info)).toMatchObject({
    spec: { cluster: { server: 'https://api.lab', 'proxy-url': 'http://proxy.lab:3128' } },
  });
});
