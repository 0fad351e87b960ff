import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { decode, encode, type Packet } from 'dns-packet';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { aService, anEndpointPod } from '#support/builders/service-builder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { computeServiceEndpoints } from '../service-endpoints.js';
import { computeDnsNames } from './dns-names.js';
import { DnsServer, type DnsServerOptions } from './dns-server.js';

const LOOPBACK = '127.0.0.1';
const WEB = 'web.default.svc.cluster.local';
const NAMES = computeDnsNames({
  domain: 'cluster.local',
  endpoints: computeServiceEndpoints(
    [aService('web'), aService('away', { type: 'ExternalName', externalName: 'example.org' })],
    [anEndpointPod('web', '10.88.0.2')],
  ),
  assigned: { 'default/web': { uid: 'u', createdAtMs: 0, nodePorts: {}, clusterIp: '10.192.16.20' } },
  isOwnAddress: () => false,
});

type Reply = (query: Buffer, via: 'udp' | 'tcp') => readonly Buffer[];

/** A name server of the node, which answers as a test says and notes what it was asked. */
class Upstream implements AsyncDisposable {
  readonly asked: { readonly id: number; readonly name: string; readonly via: 'udp' | 'tcp' }[] = [];
  reply: Reply = () => [];
  readonly #udp: UdpSocket = createSocket('udp4');
  readonly #tcp: Server;
  readonly #clients = new Set<Socket>();

  constructor() {
    this.#udp.on('message', (query, from) => {
      for (const packet of this.#take(query, 'udp')) this.#udp.send(packet, from.port, from.address);
    });
    this.#tcp = createServer((socket) => {
      this.#clients.add(socket);
      socket
        .on('error', () => undefined)
        .on('data', (data) => {
          for (const packet of this.#take(data.subarray(2), 'tcp')) socket.write(inStream(packet));
        });
    });
  }

  get port(): number {
    return this.#udp.address().port;
  }

  async listen(): Promise<this> {
    this.#udp.bind(await findFreePort(), LOOPBACK);
    await once(this.#udp, 'listening');
    this.#tcp.listen(this.port, LOOPBACK);
    await once(this.#tcp, 'listening');
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await Promise.all([
      new Promise<void>((resolve) => this.#udp.close(resolve)),
      new Promise<void>((resolve) => void this.#tcp.close(() => resolve())),
    ]);
  }

  #take(query: Buffer, via: 'udp' | 'tcp'): readonly Buffer[] {
    this.asked.push({ id: query.readUInt16BE(0), name: decode(query).questions![0]!.name, via });
    return this.reply(query, via);
  }
}

const inStream = (packet: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length, 0);
  return Buffer.concat([length, packet]);
};
const question = (name: string, id = 7): Buffer =>
  encode({ type: 'query', id, flags: 0x100, questions: [{ name, type: 'A' }] });
/** The answer to a question, with that address; `changes` makes it another one. */
const answerTo = (query: Buffer, data = '192.0.2.9', changes: Partial<Packet> = {}): Buffer => {
  const { id, questions } = decode(query);
  const { name } = questions![0]!;
  return encode({
    ...{ type: 'response', id: id!, questions: questions!, flags: 0x180 },
    answers: [{ name, type: 'A', data, ttl: 60 }],
    ...changes,
  });
};
const failure = (query: Buffer): Buffer => answerTo(query, '', { flags: 0x182, answers: [] });

interface Read {
  readonly id: number;
  readonly rcode: string;
  readonly data: readonly unknown[];
}
const readAnswer = (packet: Buffer): Read => {
  const { id, rcode, answers = [] } = decode(packet) as unknown as Packet & { readonly rcode: string };
  return { id: id!, rcode, data: answers.map((answer) => ('data' in answer ? answer.data : undefined)) };
};

let clock: FakeClock;
let upstream: Upstream;
let server: DnsServer;
let client: UdpSocket;
let answers: Read[];
const started: AsyncDisposable[] = [];

async function start(changes: Partial<DnsServerOptions> = {}): Promise<void> {
  server = await DnsServer.start({
    ...{ address: LOOPBACK, port: await findFreePort(), clock, names: () => NAMES, isAllowed: () => true },
    servers: () => [{ address: LOOPBACK, port: upstream.port }],
    ...changes,
  });
}

beforeEach(async () => {
  clock = new FakeClock();
  upstream = await new Upstream().listen();
  answers = [];
  client = createSocket('udp4');
  client.on('message', (packet: Buffer, _from: RemoteInfo) => answers.push(readAnswer(packet)));
  await start();
});

afterEach(async () => {
  client.close();
  await server.close();
  await upstream[Symbol.asyncDispose]();
  for (const each of started.splice(0)) await each[Symbol.asyncDispose]();
});

const send = (packet: Buffer): void => client.send(packet, server.port, LOOPBACK);
const untilAnswered = (count: number): Promise<void> =>
  vi.waitFor(() => expect(answers.length).toBeGreaterThanOrEqual(count), { timeout: 30_000, interval: 2 });
const untilAsked = (count: number, of = upstream): Promise<void> =>
  vi.waitFor(() => expect(of.asked.length).toBeGreaterThanOrEqual(count), { timeout: 30_000, interval: 2 });

/** All that the server sends over one connection for these bytes, until it or the client ends. */
async function overTcp(bytes: Buffer, count: number): Promise<readonly Read[]> {
  const socket = connect(server.port, LOOPBACK);
  const read: Read[] = [];
  let rest = Buffer.alloc(0);
  socket.write(bytes);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      const end = 2 + rest.readUInt16BE(0);
      read.push(readAnswer(rest.subarray(2, end)));
      rest = rest.subarray(end);
    }
    if (read.length === count) socket.end();
  }
  return read;
}

describe('a DNS server for pods', () => {
  it('answers the names of Services itself, over UDP and over TCP', async () => {
    send(question(WEB));
    await untilAnswered(1);
    const answer = { id: 7, rcode: 'NOERROR', data: ['10.192.16.20'] };
    expect(answers).toEqual([answer]);
    const two = Buffer.concat([question(WEB, 8), question(WEB, 9)].map(inStream));
    expect(await overTcp(two, 2)).toEqual([
      { ...answer, id: 8 },
      { ...answer, id: 9 },
    ]);
    expect([server.counts.answered, upstream.asked]).toEqual([3, []]);
  });

  it.each(['udp', 'tcp'] as const)(
    'asks the name servers of the node for all others, as it was asked: %s',
    async (via) => {
      upstream.reply = (query) => [answerTo(query)];
      if (via === 'udp') {
        send(question('example.org'));
        await untilAnswered(1);
      } else answers.push(...(await overTcp(inStream(question('example.org')), 1)));
      expect(answers).toEqual([{ id: 7, rcode: 'NOERROR', data: ['192.0.2.9'] }]);
      expect(upstream.asked).toMatchObject([{ name: 'example.org', via }]);
      expect(server.counts).toEqual({ answered: 0, forwarded: 1, failed: 0, refused: 0, dropped: 0 });
    },
  );

  it('gives each question a number of its own, which nobody can foresee', async () => {
    upstream.reply = (query) => [answerTo(query)];
    for (let id = 1; id <= 12; id++) send(question('example.org', id));
    await untilAnswered(12);
    expect(answers.map(({ id }) => id).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, at) => at + 1),
    );
    expect(upstream.asked.map(({ id }) => id)).not.toEqual(answers.map(({ id }) => id));
    expect(new Set(upstream.asked.map(({ id }) => id)).size).toBeGreaterThan(6);
  });

  it('takes no answer with another number or to another question', async () => {
    upstream.reply = (query) => {
      const forged = answerTo(query, '203.0.113.1');
      forged.writeUInt16BE((forged.readUInt16BE(0) + 1) % 0x1_0000, 0);
      const other = answerTo(query, '203.0.113.2', { questions: [{ name: 'example.com', type: 'A' }] });
      return [forged, other, query, answerTo(query)];
    };
    send(question('example.org'));
    await untilAnswered(1);
    expect(answers).toMatchObject([{ data: ['192.0.2.9'] }]);
  });

  it('asks the next name server when one fails, and passes a failure on when all do', async () => {
    const second = await new Upstream().listen();
    started.push(second);
    await server.close();
    await start({ servers: () => [upstream, second].map(({ port }) => ({ address: LOOPBACK, port })) });
    upstream.reply = (query) => [failure(query)];
    second.reply = (query) => [answerTo(query)];
    send(question('example.org', 1));
    await untilAnswered(1);
    second.reply = (query) => [failure(query)];
    send(question('example.org', 2));
    await untilAnswered(2);
    expect(answers).toMatchObject([
      { id: 1, rcode: 'NOERROR' },
      { id: 2, rcode: 'SERVFAIL' },
    ]);
  });

  it('says that it has failed when none of them answers in time', async () => {
    const second = await new Upstream().listen();
    started.push(second);
    await server.close();
    await start({ servers: () => [upstream, second].map(({ port }) => ({ address: LOOPBACK, port })) });
    send(question('example.org'));
    await untilAsked(1);
    await clock.advance(2_000);
    await untilAsked(1, second);
    expect(answers).toEqual([]);
    await clock.advance(2_000);
    await untilAnswered(1);
    expect(answers).toEqual([{ id: 7, rcode: 'SERVFAIL', data: [] }]);
    expect(server.counts).toMatchObject({ failed: 1, forwarded: 0 });
  });

  it('says so at once where the node has no name servers', async () => {
    await server.close();
    await start({ servers: () => [] });
    send(question('example.org'));
    await untilAnswered(1);
    expect(answers).toEqual([{ id: 7, rcode: 'SERVFAIL', data: [] }]);
  });

  it('follows a Service that stands for a name elsewhere, over TCP when the answer was cut', async () => {
    upstream.reply = (query, via) => [
      via === 'udp' ? answerTo(query, '', { flags: 0x380, answers: [] }) : answerTo(query),
    ];
    send(question('away.default.svc.cluster.local'));
    await untilAnswered(1);
    expect(answers).toEqual([{ id: 7, rcode: 'NOERROR', data: ['example.org', '192.0.2.9'] }]);
    expect(upstream.asked.map(({ name, via }) => `${name} ${via}`)).toEqual([
      'example.org udp',
      'example.org tcp',
    ]);
  });

  it('answers nobody who may not ask, and nothing that is no question', async () => {
    await server.close();
    let isAllowed = false;
    await start({ isAllowed: () => Promise.resolve(isAllowed) });
    send(question(WEB, 1));
    await vi.waitFor(() => expect(server.counts.refused).toBe(1), { timeout: 30_000, interval: 2 });
    isAllowed = true;
    for (const packet of [Buffer.alloc(5), answerTo(question(WEB))]) send(packet);
    send(question(WEB, 2));
    await untilAnswered(1);
    expect(answers).toMatchObject([{ id: 2 }]);
    expect(server.counts.refused).toBe(3);
  });

  it('lets 128 questions of a client wait, drops and counts the others, and takes new ones later', async () => {
    for (let id = 1; id <= 131; id++) send(question('example.org', id));
    await untilAsked(128);
    await vi.waitFor(() => expect(server.counts.dropped).toBe(3), { timeout: 30_000, interval: 2 });
    send(question(WEB, 200));
    await untilAnswered(1);
    await clock.advance(5_000);
    await untilAnswered(129);
    upstream.reply = (query) => [answerTo(query)];
    send(question('example.org', 300));
    await untilAnswered(130);
    expect(answers.at(-1)).toMatchObject({ id: 300, rcode: 'NOERROR' });
  });

  it('ends a connection that sends more than a question has, or what is none', async () => {
    const long = Buffer.alloc(6_000);
    long.writeUInt16BE(5_998 + 2, 0);
    expect(await overTcp(long, 1)).toEqual([]);
    expect(await overTcp(inStream(Buffer.alloc(20, 0xff)), 1)).toEqual([]);
    expect(await overTcp(inStream(question(WEB)), 1)).toHaveLength(1);
  });

  it('ends with all that waits, and twice as well', async () => {
    send(question('example.org'));
    await untilAsked(1);
    const waiting = overTcp(inStream(question('example.net')), 1);
    await untilAsked(2);
    await server.close();
    await server.close();
    expect(await waiting.catch(() => [])).toEqual([]);
  });

  it('says which address it could not have, with nothing left', async () => {
    const { port } = server;
    await expect(DnsServer.start({ ...OPTIONS(), port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

const OPTIONS = (): DnsServerOptions => ({
  ...{ address: LOOPBACK, clock, names: () => NAMES, isAllowed: () => true, servers: () => [] },
});
