/**
 * A DNS server for pods: the names of Services and pods from here, everything else from the node's name servers.
 *
 * In: packets over UDP and TCP at one address, from anybody who reaches it. Out: answers. What is asked by somebody
 * who is not allowed to is not answered at all. Questions that wait for other servers are bounded, for one client and
 * for all, and each has a deadline; what comes beyond is dropped and counted, and clients ask again.
 *
 * @module
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { setMaxListeners } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Clock } from '#base/time/clock.js';
import { fitUdp, fromChase, isCut, judgeQuery, refuse, toChase } from './dns-answer.js';
import { forwardQuery, type NameServer, toLength } from './dns-forwarder.js';
import { type DnsNames } from './dns-names.js';

/** What {@link DnsServer} needs. */
export interface DnsServerOptions {
  readonly address: string;
  /** Default: 53. */
  readonly port?: number;
  readonly names: () => DnsNames;
  /** The node's name servers. */
  readonly servers: () => readonly NameServer[];
  /** Whether a client may ask. */
  readonly isAllowed: (address: string) => boolean | Promise<boolean>;
  readonly clock: Clock;
}

/** What a server has done so far. */
export interface DnsCounts {
  /** Answered from here. */
  readonly answered: number;
  /** Answered by the node's name servers. */
  readonly forwarded: number;
  /** Not answered by any of them in time. */
  readonly failed: number;
  /** Of clients that may not ask, and packets that are no questions. */
  readonly refused: number;
  /** Beyond what may wait at the same time. */
  readonly dropped: number;
}

const DNS_PORT = 53;
/** Longer than a client waits. */
const QUESTION_MS = 5_000;
const MAX_IN_FLIGHT = 512;
const MAX_IN_FLIGHT_OF_CLIENT = 128;
const MAX_TCP_CLIENTS = 128;
/** No question is longer. */
const MAX_TCP_QUESTION = 4_096;
const TCP_SILENCE_MS = 10_000;

/** See the module. */
export class DnsServer {
  readonly #options: DnsServerOptions;
  readonly #udp: UdpSocket;
  readonly #tcp: Server;
  readonly #clients = new Set<Socket>();
  readonly #ending = new AbortController();
  readonly #inFlight = new Map<string, number>();
  #waiting = 0;
  #counts = { answered: 0, forwarded: 0, failed: 0, refused: 0, dropped: 0 };

  private constructor(options: DnsServerOptions) {
    this.#options = options;
    this.#udp = createSocket({ type: options.address.includes(':') ? 'udp6' : 'udp4' });
    this.#tcp = createServer((socket) => this.#serve(socket));
    this.#tcp.maxConnections = MAX_TCP_CLIENTS;
    // One for each question that waits, which are bounded.
    setMaxListeners(0, this.#ending.signal);
  }

  /** Begins to listen at the address, over UDP and TCP; rejects with the system's error, with nothing left. */
  static async start(options: DnsServerOptions): Promise<DnsServer> {
    const server = new DnsServer(options);
    try {
      await server.#listen();
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  /** The port that it listens at. */
  get port(): number {
    return this.#udp.address().port;
  }

  get counts(): DnsCounts {
    return { ...this.#counts };
  }

  /** Ends it and all that waits. Idempotent. */
  async close(): Promise<void> {
    this.#ending.abort(new Error('the DNS server ends'));
    for (const client of this.#clients) client.destroy();
    await Promise.all([
      new Promise<void>((resolve) => {
        try {
          this.#udp.close(resolve);
        } catch {
          resolve();
        }
      }),
      new Promise<void>((resolve) => void this.#tcp.close(() => resolve())),
    ]);
  }

  async #listen(): Promise<void> {
    const { address, port = DNS_PORT } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#udp.once('error', reject);
      this.#udp.bind({ address, port }, resolve);
    });
    await new Promise<void>((resolve, reject) => {
      this.#tcp.once('error', reject);
      this.#tcp.listen({ host: address, port: this.port }, resolve);
    });
    for (const each of [this.#udp, this.#tcp]) {
      each.removeAllListeners('error');
      each.on('error', () => undefined);
    }
    this.#udp.on('message', (packet, from) => void this.#answerUdp(packet, from));
  }

  async #answerUdp(packet: Buffer, from: RemoteInfo): Promise<void> {
    const answer = await this.#answer(packet, from.address, 'udp');
    if (answer === undefined || this.#ending.signal.aborted) return;
    this.#udp.send(fitUdp(answer, packet), from.port, from.address, () => undefined);
  }

  /** Undefined for what is not to be answered. Never rejects. */
  async #answer(packet: Buffer, client: string, transport: 'udp' | 'tcp'): Promise<Buffer | undefined> {
    const { names, isAllowed } = this.#options;
    if (!(await isAllowed(client))) {
      this.#refuse();
      return;
    }
    const verdict = judgeQuery(packet, names());
    switch (verdict.kind) {
      case 'drop': {
        this.#refuse();
        return;
      }
      case 'answer':
        this.#counts.answered++;
        return verdict.packet;
      case 'forward':
        return this.#ask(packet, packet, client, transport);
      case 'chase': {
        const asked = toChase(packet, verdict);
        let found = await this.#ask(asked, packet, client, 'udp');
        if (found !== undefined && isCut(found)) found = await this.#ask(asked, packet, client, 'tcp');
        return found && fromChase(packet, verdict, found);
      }
    }
  }

  #refuse(): undefined {
    this.#counts.refused++;
    return undefined;
  }

  async #ask(
    asked: Buffer,
    packet: Buffer,
    client: string,
    transport: 'udp' | 'tcp',
  ): Promise<Buffer | undefined> {
    const { clock, servers } = this.#options;
    const own = this.#inFlight.get(client) ?? 0;
    if (this.#waiting >= MAX_IN_FLIGHT || own >= MAX_IN_FLIGHT_OF_CLIENT) {
      this.#counts.dropped++;
      return undefined;
    }
    this.#waiting++;
    this.#inFlight.set(client, own + 1);
    const link = linkAbort(this.#ending.signal);
    const timer = clock.setTimer(QUESTION_MS, () => link.abort(new Error('no answer in time')), {
      unref: true,
    });
    try {
      const options = { servers: servers(), transport, clock, signal: link.signal };
      const answer = await forwardQuery(asked, options).catch(() => undefined);
      if (answer === undefined) this.#counts.failed++;
      else this.#counts.forwarded++;
      return answer ?? refuse(packet, 'SERVFAIL');
    } finally {
      timer.cancel();
      link.unlink();
      this.#waiting--;
      const left = (this.#inFlight.get(client) ?? 1) - 1;
      if (left === 0) this.#inFlight.delete(client);
      else this.#inFlight.set(client, left);
    }
  }

  /** Questions of one connection are answered one after another. */
  #serve(socket: Socket): void {
    this.#clients.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#clients.delete(socket));
    socket.setTimeout(TCP_SILENCE_MS, () => socket.destroy());
    void this.#readQuestions(socket).catch(() => socket.destroy());
  }

  async #readQuestions(socket: Socket): Promise<void> {
    const client = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    let read = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      read = Buffer.concat([read, chunk]);
      while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
        const end = 2 + read.readUInt16BE(0);
        const packet = Buffer.from(read.subarray(2, end));
        read = read.subarray(end);
        const answer = await this.#answer(packet, client, 'tcp');
        if (answer === undefined) return void socket.destroy();
        socket.write(Buffer.concat([toLength(answer.length), answer]));
      }
      if (read.length >= 2 && read.readUInt16BE(0) > MAX_TCP_QUESTION) return void socket.destroy();
    }
  }
}
