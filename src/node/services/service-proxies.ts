/**
 * Carries connections to Services in this process: where the kernel cannot, and for addresses that its rules leave out.
 *
 * In: listeners that are wanted, with their targets. Out: TCP connections and UDP packets to the targets in turn. Targets can
 * change under a listener; connections that are open stay where they are.
 *
 * @module
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { messageOf } from '#base/errors/errors.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { type ServiceNetworkKind } from './service-network.js';
import { type RouteTarget, type ServiceRoute } from './service-routes.js';

/** A port to listen at. */
export interface ProxyListener {
  /** For messages. */
  readonly name: string;
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
  readonly byClient: boolean;
  /** Not empty: without targets nobody listens, so that connections are refused. */
  readonly targets: readonly RouteTarget[];
}

/** What {@link ServiceProxies} needs. */
export interface ServiceProxiesOptions {
  readonly clock: Clock;
  /** A listener that is not there; undefined once it is. */
  readonly onProblem: (listener: ProxyListener, problem: string | undefined) => void;
}

/** TCP connections of one listener at the same time; more are refused. */
const MAX_CONNECTIONS = 4_096;
/** UDP clients of one listener at the same time; the one that is silent for longest makes room. */
const MAX_UDP_CLIENTS = 1_024;
const CONNECT_MS = 5_000;
const UDP_SILENCE_MS = 60_000;

/** See the module. */
export class ServiceProxies {
  readonly #options: ServiceProxiesOptions;
  readonly #open = new Map<string, Listener>();

  constructor(options: ServiceProxiesOptions) {
    this.#options = options;
  }

  /** Addresses and ports that somebody listens at now. */
  get size(): number {
    return this.#open.size;
  }

  /** Makes these the listeners. Resolves once each listens, or is reported; never rejects. */
  async apply(wanted: readonly ProxyListener[]): Promise<void> {
    const byKey = new Map(wanted.map((each) => [keyOf(each), each]));
    const gone = [...this.#open].filter(([key]) => !byKey.has(key));
    await Promise.all(
      gone.map(async ([key, listener]) => {
        this.#open.delete(key);
        await listener.close();
      }),
    );
    await Promise.all([...byKey].map(async ([key, each]) => this.#ensure(key, each)));
  }

  /** Ends all listeners and connections. */
  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map(async (each) => each.close()));
  }

  async #ensure(key: string, wanted: ProxyListener): Promise<void> {
    const { clock, onProblem } = this.#options;
    const known = this.#open.get(key);
    if (known !== undefined) {
      known.setTargets(wanted);
      return;
    }
    const listener = wanted.protocol === 'tcp' ? new TcpListener(wanted) : new UdpListener(wanted, clock);
    try {
      await listener.listen();
      this.#open.set(key, listener);
      onProblem(wanted, undefined);
    } catch (error) {
      await listener.close();
      onProblem(wanted, messageOf(error));
    }
  }
}

interface Listener {
  listen(): Promise<void>;
  setTargets(wanted: ProxyListener): void;
  close(): Promise<void>;
}

/** Chooses targets in turn, or by the client. */
class Choice {
  #wanted: ProxyListener;
  #turn = 0;

  constructor(wanted: ProxyListener) {
    this.#wanted = wanted;
  }

  set(wanted: ProxyListener): void {
    this.#wanted = wanted;
  }

  /** All targets, the one to try first in front. */
  order(client: string): readonly RouteTarget[] {
    const { targets, byClient } = this.#wanted;
    const start = (byClient ? hashOf(client) : this.#turn++) % targets.length;
    return [...targets.slice(start), ...targets.slice(0, start)];
  }

  has({ address, port }: RouteTarget): boolean {
    return this.#wanted.targets.some((each) => each.address === address && each.port === port);
  }
}

class TcpListener implements Listener {
  readonly #wanted: ProxyListener;
  readonly #choice: Choice;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(wanted: ProxyListener) {
    this.#wanted = wanted;
    this.#choice = new Choice(wanted);
    // One side may end while the other still sends.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#carry(socket));
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  async listen(): Promise<void> {
    const { address: host, port } = this.#wanted;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, ipv6Only: host === '::' }, resolve);
    });
    this.#server.removeAllListeners('error');
    this.#server.on('error', () => undefined);
  }

  setTargets(wanted: ProxyListener): void {
    this.#choice.set(wanted);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  #carry(client: Socket): void {
    this.#track(client);
    client.pause();
    this.#tryNext(client, [...this.#choice.order(client.remoteAddress ?? '')]);
  }

  /** A target that does not answer may just have gone: the next one is as good. */
  #tryNext(client: Socket, [target, ...rest]: readonly RouteTarget[]): void {
    if (client.destroyed) return;
    if (target === undefined) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ host: target.address, port: target.port, allowHalfOpen: true, noDelay: true });
    this.#track(upstream);
    upstream.setTimeout(CONNECT_MS, () => upstream.destroy(new Error('no answer')));
    const onFailure = (): void => {
      upstream.removeListener('error', onFailure);
      upstream.on('error', () => undefined);
      this.#tryNext(client, rest);
    };
    upstream.once('error', onFailure);
    upstream.once('connect', () => {
      upstream.setTimeout(0);
      upstream.removeListener('error', onFailure);
      upstream.on('error', () => client.resetAndDestroy());
      client.on('error', () => upstream.resetAndDestroy());
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
      client.pipe(upstream);
      upstream.pipe(client);
    });
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

interface UdpClient {
  readonly upstream: UdpSocket;
  readonly target: RouteTarget;
  silence: ClockTimer;
}

class UdpListener implements Listener {
  readonly #wanted: ProxyListener;
  readonly #choice: Choice;
  readonly #clock: Clock;
  readonly #socket: UdpSocket;
  /** By address and port, the one that was heard last at the end. */
  readonly #clients = new Map<string, UdpClient>();

  constructor(wanted: ProxyListener, clock: Clock) {
    this.#wanted = wanted;
    this.#clock = clock;
    this.#choice = new Choice(wanted);
    const { address } = wanted;
    this.#socket = createSocket({
      type: address.includes(':') ? 'udp6' : 'udp4',
      ipv6Only: address === '::',
    });
    this.#socket.on('message', (packet, from) => this.#carry(packet, from));
  }

  async listen(): Promise<void> {
    const { address, port } = this.#wanted;
    await new Promise<void>((resolve, reject) => {
      this.#socket.once('error', reject);
      this.#socket.bind({ address, port }, resolve);
    });
    this.#socket.removeAllListeners('error');
    this.#socket.on('error', () => undefined);
  }

  setTargets(wanted: ProxyListener): void {
    this.#choice.set(wanted);
    // Packets to a pod that is gone would be lost as long as the client goes on sending.
    for (const [key, { target }] of this.#clients) if (!this.#choice.has(target)) this.#forget(key);
  }

  async close(): Promise<void> {
    for (const key of [...this.#clients.keys()]) this.#forget(key);
    await new Promise<void>((resolve) => {
      try {
        this.#socket.close(resolve);
      } catch {
        resolve();
      }
    });
  }

  #carry(packet: Buffer, from: RemoteInfo): void {
    const key = `${from.address} ${from.port}`;
    const client = this.#clients.get(key) ?? this.#meet(key, from);
    client.silence.cancel();
    client.silence = this.#watchSilence(key);
    this.#clients.delete(key);
    this.#clients.set(key, client);
    client.upstream.send(packet, client.target.port, client.target.address);
  }

  #meet(key: string, from: RemoteInfo): UdpClient {
    const [oldest] = this.#clients.keys();
    if (this.#clients.size >= MAX_UDP_CLIENTS && oldest !== undefined) this.#forget(oldest);
    const target = this.#choice.order(from.address)[0]!;
    const upstream = createSocket('udp4');
    upstream.on('error', () => this.#forget(key));
    upstream.on('message', (packet, { address, port }) => {
      if (address === target.address && port === target.port) {
        this.#socket.send(packet, from.port, from.address, () => undefined);
      }
    });
    return { upstream, target, silence: this.#watchSilence(key) };
  }

  #watchSilence(key: string): ClockTimer {
    return this.#clock.setTimer(UDP_SILENCE_MS, () => this.#forget(key), { unref: true });
  }

  #forget(key: string): void {
    const client = this.#clients.get(key);
    if (client === undefined) return;
    this.#clients.delete(key);
    client.silence.cancel();
    client.upstream.close();
  }
}

function keyOf({ protocol, address, port }: ProxyListener): string {
  return `${protocol} ${address} ${port}`;
}

function hashOf(text: string): number {
  let hash = 0;
  for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)!) >>> 0;
  return hash;
}

/** Where this process listens: the node's ports, which the kernel's rules do not cover at all of its addresses. */
export function toListeners(routes: readonly ServiceRoute[], kind: ServiceNetworkKind): ProxyListener[] {
  return routes.flatMap((route) => {
    const { name, protocol, byClient, targets, address, port, nodePort } = route;
    if (targets.length === 0) return [];
    const listener = { name, protocol, byClient, targets };
    return [
      ...(kind === 'nftables' ? [] : [{ ...listener, address, port }]),
      ...(nodePort === undefined
        ? []
        : ['0.0.0.0', '::'].map((any) => ({ ...listener, address: any, port: nodePort }))),
    ];
  });
}
