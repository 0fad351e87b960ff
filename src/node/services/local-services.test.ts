import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type Service } from '#kube/workloads/workload.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { aService, anEndpointPod } from '#support/builders/service-builder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LocalServices, type LocalServicesOptions } from './local-services.js';
import { type EndpointPod } from './service-endpoints.js';

const WAIT = { timeout: 30_000, interval: 5 };
const PORT = 28_080;

let folder: string;
let pods: EndpointPod[];
let events: string[];
let uids: number;
const ending: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-local-services-'));
  pods = [];
  events = [];
  uids = 0;
});
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
  await rm(folder, { recursive: true });
});

/** Services of an agent that finds no programs, so that it has nothing but its own addresses of the loopback. */
async function open(more: Partial<LocalServicesOptions> = {}): Promise<LocalServices> {
  return LocalServices.open({
    ...{ rootDir: folder, isEnabled: true, cidr: '', podDns: undefined, domain: 'cluster.local' },
    pods: () => pods,
    readPodNetwork: async () => Promise.resolve('host'),
    nameServers: () => [],
    hasPods: () => false,
    onEvent: ({ service }, { reason, message }) => {
      events.push(`${service.metadata.name} ${reason}: ${message}`);
    },
    newUid: () => `uid-${++uids}`,
    ...{ clock: new FakeClock(), logger: SILENT_LOGGER, toolPath: join(folder, 'no-tools') },
    ...more,
  });
}

/** Lets them run until the test ends. */
async function run(services: LocalServices): Promise<() => Promise<void>> {
  const over = new AbortController();
  await services.prepare(over.signal);
  const running = services.run(over.signal);
  let isOver = false;
  const end = async (): Promise<void> => {
    if (isOver) return;
    isOver = true;
    over.abort();
    await running;
    await services.close();
  };
  ending.push(end);
  return end;
}

/** A pod's server that says its name. */
async function aServer(name: string): Promise<number> {
  const server: Server = createServer((socket) => socket.on('error', () => undefined).end(name));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ending.push(async () => void (await new Promise((resolve) => server.close(resolve))));
  return (server.address() as AddressInfo).port;
}

const addressOf = (services: LocalServices, name: string): string | undefined =>
  services
    .objects()
    .filter(({ kind }) => kind === 'Service')
    .map((each) => each as unknown as Service)
    .find(({ metadata }) => metadata.name === name)?.spec.clusterIP;
const ask = async (host: string, port = PORT): Promise<string> =>
  text(connect({ host, port })).catch((error: unknown) => (error as NodeJS.ErrnoException).code ?? '');
const recorded = async (): Promise<unknown> =>
  JSON.parse(await readFile(join(folder, 'services.json'), 'utf8')) as unknown;

describe('the Services of a node', () => {
  it('have addresses as soon as they are delivered, and pods have variables with them', async () => {
    const services = await open();
    services.deliver('file', [aService('web', { ports: [{ port: 80 }] })], true);
    const variables = services.variablesFor(aNodePod({ name: 'box' }));
    expect(variables?.get('WEB_SERVICE_HOST')).toBe(addressOf(services, 'web'));
    expect(variables?.get('WEB_SERVICE_PORT')).toBe('80');
    expect(services.variablesFor(aNodePod({ namespace: 'shop' }))).toEqual(new Map());
    expect(services.variablesFor(aNodePod({ spec: { enableServiceLinks: false } }))).toBeUndefined();
  });

  it('have the same address in the next agent, and lose it when they are gone', async () => {
    const first = await open();
    first.deliver('file', [aService('web'), aService('db')], true);
    const end = await run(first);
    await vi.waitFor(recorded, WAIT);
    const before = { web: addressOf(first, 'web'), db: addressOf(first, 'db') };
    await end();
    const second = await open();
    // Until everything was read, nobody knows that the other is gone.
    second.deliver('file', [aService('web')], false);
    await run(second);
    expect(addressOf(second, 'web')).toBe(before.web);
    second.deliver('file', [aService('db'), aService('web')], true);
    expect({ web: addressOf(second, 'web'), db: addressOf(second, 'db') }).toEqual(before);
    second.deliver('file', [aService('web')], true);
    await vi.waitFor(async () => {
      expect(Object.keys(((await recorded()) as { services: object }).services)).toEqual(['default/web']);
    }, WAIT);
  });

  it('lead to their ready pods, follow them, and refuse connections without any', async () => {
    const [one, two] = [await aServer('one'), await aServer('two')];
    const services = await open();
    const leadsTo = (targetPort: number) =>
      services.deliver('file', [aService('web', { ports: [{ port: PORT, targetPort }] })], true);
    pods = [anEndpointPod('web', '127.0.0.1')];
    leadsTo(one);
    await run(services);
    await vi.waitFor(async () => expect(await ask(addressOf(services, 'web')!)).toBe('one'), WAIT);
    expect(services.report()).toMatchObject({ kind: 'loopback', services: 1, proxied: 1, dns: undefined });
    leadsTo(two);
    await vi.waitFor(async () => expect(await ask(addressOf(services, 'web')!)).toBe('two'), WAIT);
    pods = [anEndpointPod('web', '127.0.0.1', { isReady: false })];
    services.podsChanged();
    await vi.waitFor(async () => {
      expect(await ask(addressOf(services, 'web')!)).toBe('ECONNREFUSED');
    }, WAIT);
  });

  it('stop listening when they end', async () => {
    const services = await open();
    pods = [anEndpointPod('web', '127.0.0.1')];
    const targetPort = await aServer('one');
    services.deliver('file', [aService('web', { ports: [{ port: PORT, targetPort }] })], true);
    const end = await run(services);
    const address = addressOf(services, 'web')!;
    await vi.waitFor(async () => expect(await ask(address)).toBe('one'), WAIT);
    await end();
    expect(await ask(address)).toBe('ECONNREFUSED');
  });

  it('are told once what they cannot be given', async () => {
    const services = await open();
    const nodePort = 31_999;
    const both = ['a', 'b'].map((name) =>
      aService(name, { type: 'NodePort', ports: [{ port: 80, nodePort }] }),
    );
    services.deliver('file', both, true);
    services.deliver('file', both, true);
    const words = `FailedToAllocate: the node's port ${nodePort} is that of another Service, which was first`;
    expect(events).toEqual([`b ${words}`]);
    services.deliver('file', [both[1]!], true);
    services.deliver('file', both, true);
    expect(events).toEqual([`b ${words}`, `a ${words}`]);
  });

  it('of two sources are both there, the first with a name', async () => {
    const services = await open();
    services.deliver('file', [aService('web', { ports: [{ port: 80 }] })], true);
    services.deliver('http', [aService('web', { ports: [{ port: 81 }] }), aService('db')], true);
    expect(services.roots()).toHaveLength(3);
    expect(services.variablesFor(aNodePod())?.get('WEB_SERVICE_PORT')).toBe('80');
    expect(addressOf(services, 'db')).toBeDefined();
  });

  it('are not served by a node of a cluster', async () => {
    const services = await open({ isEnabled: false });
    services.deliver('file', [aService('web')], true);
    await run(services);
    expect([services.objects(), services.report(), services.podDns()]).toEqual([[], undefined, undefined]);
    expect(services.variablesFor(aNodePod())).toBeUndefined();
  });

  it('are served as soon as the runtime answers', async () => {
    const clock = new FakeClock();
    let isThere = false;
    const readPodNetwork = async (): Promise<'host'> =>
      isThere ? Promise.resolve('host') : Promise.reject(new Error('no runtime'));
    const services = await open({ clock, readPodNetwork });
    services.deliver('file', [aService('web')], true);
    await run(services);
    expect(services.report()).toBeUndefined();
    isThere = true;
    await vi.waitFor(async () => {
      await clock.advance(5_000);
      expect(services.report()).toMatchObject({ services: 1 });
    }, WAIT);
  });

  it('get new addresses when their record cannot be read', async () => {
    await writeFile(join(folder, 'services.json'), 'damaged');
    const services = await open();
    services.deliver('file', [aService('web')], true);
    await run(services);
    await vi.waitFor(async () => {
      expect(await recorded()).toMatchObject({ services: { 'default/web': { uid: 'uid-1' } } });
    }, WAIT);
  });
});
