import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type ProxyListener, ServiceProxies } from './service-proxies.js';
import { type RouteTarget } from './service-routes.js';

const LOOPBACK = '127.0.0.1';
const WAIT = { timeout: 30_000, interval: 2 };

const opened: (() => Promise<void>)[] = [];
let clock: FakeClock;
let proxies: ServiceProxies;
let problems: [string, string | undefined][];

beforeEach(() => {
  clock = new FakeClock();
  problems = [];
  proxies = new ServiceProxies({ clock, onProblem: ({ name }, problem) => problems.push([name, problem]) });
});

afterEach(async () => {
  await proxies.close();
  for (const close of opened.splice(0)) await close();
});

/** A pod's server: answers what it was sent, its name in front, once the client has ended its side. */
async function tcpPod(name: string): Promise<RouteTarget & { readonly server: Server }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => undefined));
    let said = '';
    // Not read by iteration, which would destroy the socket at the client's end.
    socket.setEncoding('utf8').on('data', (part: string) => (said += part));
    socket.on('end', () => socket.end(`${name}: ${said}`));
  });
  server.listen(0, LOOPBACK);
  await once(server, 'listening');
  opened.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  return { address: LOOPBACK, port: (server.address() as AddressInfo).port, server };
}

async function udpPod(name: string): Promise<RouteTarget & { readonly heard: string[] }> {
  const socket = createSocket('udp4');
  const heard: string[] = [];
  socket.on('message', (packet, from) => {
    heard.push(packet.toString());
    socket.send(`${name}: ${packet.toString()}`, from.port, from.address);
  });
  socket.bind(0, LOOPBACK);
  await once(socket, 'listening');
  opened.push(async () => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { address: LOOPBACK, port: socket.address().port, heard };
}

const listenerAt = (port: number, changes: Partial<ProxyListener> = {}): ProxyListener => ({
  ...{ name: 'default/web TCP 80', protocol: 'tcp', address: LOOPBACK, port },
  ...{ byClient: false, targets: [], ...changes },
});

/** What somebody is answered who sends that and ends; the code of the error where the connection fails. */
async function ask(port: number, said = 'hello'): Promise<string> {
  const socket = connect({ host: LOOPBACK, port, allowHalfOpen: true });
  socket.end(said);
  try {
    return await text(socket);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

class UdpClient {
  readonly heard: string[] = [];
  readonly #socket: UdpSocket = createSocket('udp4');

  constructor() {
    this.#socket.on('message', (packet: Buffer, _from: RemoteInfo) => this.heard.push(packet.toString()));
    opened.push(async () => new Promise<void>((resolve) => this.#socket.close(() => resolve())));
  }

  /** Sends it and resolves with the next answer. */
  async ask(port: number, said: string): Promise<string> {
    const { length } = this.heard;
    this.#socket.send(said, port, LOOPBACK);
    await vi.waitFor(() => expect(this.heard.length).toBeGreaterThan(length), WAIT);
    return this.heard.at(-1)!;
  }
}

describe('connections that are carried to Services', () => {
  it('go to each target in turn, and end one side after the other', async () => {
    const [one, two] = [await tcpPod('one'), await tcpPod('two')];
    const port = await findFreePort();
    await proxies.apply([listenerAt(port, { targets: [one, two] })]);
    const answers = [await ask(port), await ask(port), await ask(port), await ask(port)];
    expect(answers).toEqual(['one: hello', 'two: hello', 'one: hello', 'two: hello']);
    const much = 'x'.repeat(1_000_000);
    expect(await ask(port, much)).toBe(`one: ${much}`);
  });

  it('of one client stay at one target where the Service wants that', async () => {
    const targets = [await tcpPod('one'), await tcpPod('two'), await tcpPod('three')];
    const port = await findFreePort();
    await proxies.apply([listenerAt(port, { targets, byClient: true })]);
    const answers = new Set([await ask(port), await ask(port), await ask(port)]);
    expect(answers.size).toBe(1);
  });

  it('go to the next target when one has just gone, and are reset when all have', async () => {
    const [gone, there] = [{ address: LOOPBACK, port: await findFreePort() }, await tcpPod('there')];
    const [port, lost] = [await findFreePort(), await findFreePort()];
    await proxies.apply([
      listenerAt(port, { targets: [gone, there] }),
      listenerAt(lost, { targets: [gone, gone] }),
    ]);
    expect([await ask(port), await ask(port)]).toEqual(['there: hello', 'there: hello']);
    expect(await ask(lost)).toBe('ECONNRESET');
  });

  it('stay where they are when targets change, which new ones follow', async () => {
    const [one, two] = [await tcpPod('one'), await tcpPod('two')];
    const port = await findFreePort();
    await proxies.apply([listenerAt(port, { targets: [one] })]);
    const socket = connect({ host: LOOPBACK, port, allowHalfOpen: true });
    const answer = text(socket);
    socket.write('before, ');
    await once(one.server, 'connection');
    await proxies.apply([listenerAt(port, { targets: [two] })]);
    expect(await ask(port)).toBe('two: hello');
    socket.end('after');
    expect(await answer).toBe('one: before, after');
  });

  it('end with their listener, whose port is free then', async () => {
    const one = await tcpPod('one');
    const port = await findFreePort();
    await proxies.apply([listenerAt(port, { targets: [one] })]);
    const socket = connect({ host: LOOPBACK, port }).on('error', () => undefined);
    await once(one.server, 'connection');
    const closed = once(socket, 'close');
    await proxies.apply([]);
    await closed;
    expect(proxies.size).toBe(0);
    expect(await ask(port)).toBe('ECONNREFUSED');
  });
});

describe('a listener that cannot be', () => {
  it('is reported, others are there, and it comes when it can', async () => {
    const one = await tcpPod('one');
    const taken = createServer().listen(0, LOOPBACK);
    await once(taken, 'listening');
    const busy = (taken.address() as AddressInfo).port;
    const free = await findFreePort();
    const wanted = [
      listenerAt(busy, { name: 'busy', targets: [one] }),
      listenerAt(free, { name: 'free', targets: [one] }),
    ];
    await proxies.apply(wanted);
    expect(problems.sort()).toEqual([
      ['busy', expect.stringContaining('EADDRINUSE')],
      ['free', undefined],
    ]);
    expect([proxies.size, await ask(free)]).toEqual([1, 'one: hello']);
    await new Promise<void>((resolve) => void taken.close(() => resolve()));
    problems = [];
    await proxies.apply(wanted);
    expect(problems).toEqual([['busy', undefined]]);
    expect(await ask(busy)).toBe('one: hello');
  });
});

describe('packets that are carried to Services', () => {
  const udpAt = (port: number, targets: readonly RouteTarget[]): ProxyListener =>
    listenerAt(port, { name: 'default/dns UDP 53', protocol: 'udp', targets });

  it('of one client go to one target and back until it is silent for a minute', async () => {
    const [one, two] = [await udpPod('one'), await udpPod('two')];
    const port = await findFreePort();
    await proxies.apply([udpAt(port, [one, two])]);
    const [client, other] = [new UdpClient(), new UdpClient()];
    expect(await client.ask(port, 'a')).toBe('one: a');
    expect(await other.ask(port, 'b')).toBe('two: b');
    expect(await client.ask(port, 'c')).toBe('one: c');
    await clock.advance(59_000);
    expect(await client.ask(port, 'd')).toBe('one: d');
    await clock.advance(59_000);
    expect(await client.ask(port, 'e')).toBe('one: e');
    // The other one has been silent for long: its turn comes again, as anybody's.
    expect(await other.ask(port, 'f')).toBe('one: f');
    expect(await other.ask(port, 'g')).toBe('one: g');
  });

  it('go to another target once theirs is gone', async () => {
    const [one, two] = [await udpPod('one'), await udpPod('two')];
    const port = await findFreePort();
    await proxies.apply([udpAt(port, [one, two])]);
    const client = new UdpClient();
    expect(await client.ask(port, 'a')).toBe('one: a');
    await proxies.apply([udpAt(port, [two])]);
    expect(await client.ask(port, 'b')).toBe('two: b');
  });

  it('are taken as an answer only from the target itself', async () => {
    const one = await udpPod('one');
    const port = await findFreePort();
    await proxies.apply([udpAt(port, [one])]);
    const client = new UdpClient();
    expect(await client.ask(port, 'a')).toBe('one: a');
    // A stranger that guesses ports reaches no client.
    const stranger = createSocket('udp4');
    opened.push(async () => new Promise<void>((resolve) => stranger.close(() => resolve())));
    stranger.send('stranger', port, LOOPBACK);
    await vi.waitFor(() => expect(one.heard).toEqual(['a', 'stranger']), WAIT);
    expect(await client.ask(port, 'b')).toBe('one: b');
    expect(client.heard).toEqual(['one: a', 'one: b']);
  });
});
