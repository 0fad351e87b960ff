/**
 * Services of a folder on the embedded runtime, with a network of its own: what pods and the machine reach by their names
 * and addresses, also after the agent was killed.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BridgeNode, NODE_LIMIT, visit } from './bridge-node.js';
import { whyNoNetworkHarness } from './network-harness.js';

const lacking = whyNoNetworkHarness();
const title = `Services and names on one machine${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;
const execute = promisify(execFile);

let manifests: string;
let node: BridgeNode;

const printed = (...args: string[]): Promise<string> => node.printed(...args);

/** Says who it is to everybody who asks. */
const SERVER = `require('http').createServer((_, answer) => answer.end(require('os').hostname())).listen(8080)`;
const container = (script: string, more: object = {}) => ({
  ...{ name: 'main', image: 'podloop.local/host', command: [process.execPath, '-e', script], ...more },
});
const serving = (app: string) => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      container(SERVER, {
        ports: [{ name: 'http', containerPort: 8080 }],
        readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1 },
      }),
    ],
  },
});
const service = (name: string, spec: object) => ({
  ...{ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec },
});
const PORT = { name: 'http', port: 80, targetPort: 'http' };
const OBJECTS = [
  {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
    spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: serving('web') },
  },
  service('web', { type: 'NodePort', selector: { app: 'web' }, ports: [PORT] }),
  {
    ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' } },
    spec: {
      ...{ replicas: 1, serviceName: 'db', selector: { matchLabels: { app: 'db' } } },
      template: serving('db'),
    },
  },
  service('db', { clusterIP: 'None', selector: { app: 'db' }, ports: [{ ...PORT, port: 8080 }] }),
  service('nobody', { selector: { app: 'nobody' }, ports: [PORT] }),
  service('away', { type: 'ExternalName', externalName: 'db.example.org' }),
];
const BOX = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'box' } },
  spec: { terminationGracePeriodSeconds: 0, containers: [container('setInterval(() => 0, 1e6)')] },
};

/** Runs it in the pod `box`: the body of an async function; `dns` and `get` are there. Returns what it returns. */
async function inBox(body: string): Promise<unknown> {
  const script = `
    const dns = require('dns').promises;
    const get = (url) => new Promise((resolve) => {
      require('http').get(url, { agent: false, timeout: 5000 }, async (answer) => {
        let said = '';
        for await (const part of answer) said += part;
        resolve(said);
      }).on('error', ({ code }) => resolve(code)).on('timeout', function () { this.destroy(new Error('late')); });
    });
    (async () => { ${body} })().then((value) => console.log(JSON.stringify(value)), ({ code, message }) => console.log(JSON.stringify(code ?? message)));`;
  return JSON.parse(await printed('exec', 'box-n1', '--', process.execPath, '-e', script));
}

const podsOf = async (app: string): Promise<string[]> =>
  (await printed('get', 'pods', '-l', `app=${app}`, '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
const addressesOf = async (app: string): Promise<string[]> =>
  (await printed('get', 'pods', '-l', `app=${app}`, '-o', 'jsonpath={.items[*].status.podIP}')).split(' ');
const clusterIp = (name: string) => printed('get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}');

/** The interfaces of addresses of Services; other agents of this machine may have some, too. */
async function listLinks(): Promise<string[]> {
  const { stdout } = await execute('ip', ['-j', 'link']);
  const links = JSON.parse(stdout) as { readonly ifname: string }[];
  return links.map(({ ifname }) => ifname).filter((name) => name.startsWith('pls'));
}

describe.skipIf(lacking !== undefined)(title, () => {
  let own: readonly string[];

  beforeAll(async () => {
    const others = await listLinks();
    manifests = await mkdtemp(join(tmpdir(), 'podloop-services-test-'));
    for (const [index, object] of [...OBJECTS, BOX].entries())
      await writeFile(join(manifests, `${index}.json`), JSON.stringify(object));
    node = await BridgeNode.start(manifests);
    await node.untilReady(4);
    own = (await listLinks()).filter((name) => !others.includes(name));
    expect(own).not.toEqual([]);
  }, 200_000);

  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    const left = await listLinks();
    expect(own.filter((name) => left.includes(name))).toEqual([]);
    await rm(manifests, { recursive: true });
  }, 200_000);

  it('a Service has an address, and its ready pods as endpoints', async () => {
    expect(await clusterIp('web')).toMatch(/^10\./);
    const [endpoints, ...others] = (await printed('get', 'endpoints', 'web', '--no-headers')).split('\n');
    expect(others).toEqual([]);
    for (const ip of await addressesOf('web')) expect(endpoints).toContain(`${ip}:8080`);
  });

  it('a pod finds it by each of its names, and so the other way round', async () => {
    const address = await clusterIp('web');
    const names = ['web', 'web.default', 'web.default.svc', 'web.default.svc.cluster.local'];
    const found = `Promise.all(${JSON.stringify(names)}.map(async (name) => (await dns.lookup(name)).address))`;
    expect(await inBox(`return ${found}`)).toEqual(names.map(() => address));
    expect(await inBox(`return dns.reverse(${JSON.stringify(address)})`)).toEqual([
      'web.default.svc.cluster.local',
    ]);
  });

  it('a pod finds what is behind a Service without an address, and names that lead elsewhere', async () => {
    const [ip] = await addressesOf('db');
    expect(await inBox(`return (await dns.lookup('db-0.db')).address`)).toBe(ip);
    expect(await inBox(`return dns.resolve4('db.default.svc.cluster.local')`)).toEqual([ip]);
    expect(await inBox(`return dns.resolveSrv('_http._tcp.db.default.svc.cluster.local')`)).toMatchObject([
      { name: 'db-0.db.default.svc.cluster.local', port: 8080 },
    ]);
    expect(await inBox(`return dns.resolveCname('away.default.svc.cluster.local')`)).toEqual([
      'db.example.org',
    ]);
    expect(await inBox(`return dns.resolve4('none.default.svc.cluster.local')`)).toBe('ENOTFOUND');
  });

  it('connections reach every pod of it, from pods, from its own pods and from the machine', async () => {
    const pods = (await podsOf('web')).sort();
    const answers = (await inBox(
      `const all = []; for (let i = 0; i < 30; i++) all.push(await get('http://web/')); return all`,
    )) as string[];
    expect([...new Set(answers)].sort()).toEqual(pods);
    const own = `require('http').get('http://web/', async (answer) => { for await (const part of answer) console.log(String(part)); })`;
    expect(pods).toContain(await printed('exec', pods[0]!, '--', process.execPath, '-e', own));
    expect(pods).toContain(await visit(await clusterIp('web'), 80));
    const port = Number(await printed('get', 'service', 'web', '-o', 'jsonpath={.spec.ports[0].nodePort}'));
    expect(pods).toContain(await visit('127.0.0.1', port));
  });

  it('one without pods refuses connections', async () => {
    expect(await inBox(`return get('http://nobody/')`)).toBe('ECONNREFUSED');
  });

  it('pods have the variables of Services that were there before them', async () => {
    const address = await clusterIp('web');
    const variables = `return [process.env.WEB_SERVICE_HOST, process.env.WEB_SERVICE_PORT]`;
    expect(await inBox(variables)).toEqual([address, '80']);
  });

  it('an address stays over kill -9 of the agent, and leads to the same pods', async () => {
    const before = { address: await clusterIp('web'), pods: (await podsOf('web')).sort() };
    await node.killAgent();
    await vi.waitFor(async () => {
      expect(await clusterIp('web')).toBe(before.address);
      expect(before.pods).toContain(await inBox(`return get('http://web/')`));
    }, NODE_LIMIT);
    expect((await podsOf('web')).sort()).toEqual(before.pods);
  });
});
