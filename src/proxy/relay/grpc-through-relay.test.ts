/**
 * What gRPC does over a connection, through the relay in each of its modes: nothing may be told apart from a connection
 * without it.
 *
 * @module
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { treatAll } from '#support/harness/relay-harness.js';
import { FrameRelay } from './index.js';

const MIB = 2 ** 20;
const identity = (bytes: Buffer): Buffer => bytes;
const NO_LIMITS = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 };

const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  ...{ path: `/test.Service/${name}`, requestStream, responseStream },
  ...{ requestSerialize: identity, requestDeserialize: identity },
  ...{ responseSerialize: identity, responseDeserialize: identity },
});

/** A server whose methods do what gRPC can do, the relay in front of it, and a client. */
class GrpcRelay implements AsyncDisposable {
  readonly relay: FrameRelay;
  readonly server: Server;
  readonly cancelled: string[];
  readonly #folder: string;
  readonly #clients: Client[] = [];

  private constructor(relay: FrameRelay, server: Server, cancelled: string[], folder: string) {
    this.relay = relay;
    this.server = server;
    this.cancelled = cancelled;
    this.#folder = folder;
  }

  static async start(mode: 'none' | 'tap' | 'take', options: ChannelOptions = {}): Promise<GrpcRelay> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-grpc-'));
    const cancelled: string[] = [];
    const server = new Server({ ...NO_LIMITS, ...options });
    server.addService(
      {
        echo: method('Echo', false, false),
        fail: method('Fail', false, false),
        hang: method('Hang', false, false),
        talk: method('Talk', true, true),
      },
      {
        echo: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
          const trailers = new Metadata();
          trailers.set('x-trailer', 'behind');
          call.sendMetadata(call.metadata);
          reply(null, call.request, trailers);
        },
        fail: (_call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
          reply({ code: status.FAILED_PRECONDITION, details: 'nö: 100 %' });
        },
        hang: (call: ServerUnaryCall<Buffer, Buffer>) => {
          call.on('cancelled', () => cancelled.push('Hang'));
        },
        talk: (call: ServerDuplexStream<Buffer, Buffer>) => {
          call.on('data', (message: Buffer) => call.write(message));
          call.on('end', () => call.end());
        },
      },
    );
    const path = join(folder, 'server.sock');
    await new Promise<void>((resolve, reject) => {
      const bound = (error: Error | null): void => (error === null ? resolve() : reject(error));
      server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), bound);
    });
    const relay = await FrameRelay.start({
      ...{ upstream: `unix://${path}`, listen: `unix://${join(folder, 'relay.sock')}` },
      ...(mode === 'none' ? {} : { intercept: treatAll(mode) }),
    });
    return new GrpcRelay(relay, server, cancelled, folder);
  }

  createClient(options: ChannelOptions = {}): Client {
    const client = new Client(
      `unix:${this.relay.endpoint.replace('unix://', '')}`,
      credentials.createInsecure(),
      {
        ...NO_LIMITS,
        'grpc.default_authority': 'localhost',
        'grpc.use_local_subchannel_pool': 1,
        ...options,
      },
    );
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    this.server.forceShutdown();
    await this.relay.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A unary call: the answer, or the error as it came. */
async function call(
  client: Client,
  name: string,
  request: Buffer,
  { metadata = new Metadata(), deadline = Infinity }: { metadata?: Metadata; deadline?: number } = {},
): Promise<{
  error: ServiceError | null;
  answer: Buffer | undefined;
  headers: Metadata[];
  trailers: Metadata[];
}> {
  const [headers, trailers]: [Metadata[], Metadata[]] = [[], []];
  return new Promise((resolve) => {
    const path = `/test.Service/${name}`;
    const options = deadline === Infinity ? {} : { deadline };
    client
      .makeUnaryRequest(path, identity, identity, request, metadata, options, (error, answer) =>
        resolve({ error, answer, headers, trailers }),
      )
      .on('metadata', (received) => headers.push(received))
      .on('status', ({ metadata: received }) => trailers.push(received));
  });
}

function talk(client: Client): ClientDuplexStream<Buffer, Buffer> {
  return client.makeBidiStreamRequest('/test.Service/Talk', identity, identity);
}

describe.each(['none', 'tap', 'take'] as const)('gRPC through the relay, calls treated with %s', (mode) => {
  it('has its metadata, its answers, its errors, and what nobody implements', async () => {
    await using node = await GrpcRelay.start(mode);
    const client = node.createClient();
    const metadata = new Metadata();
    metadata.set('x-text', 'value');
    metadata.set('x-bytes-bin', Buffer.from([0, 255, 128]));
    for (let i = 0; i < 3; i++) {
      const { answer, headers, trailers } = await call(client, 'Echo', Buffer.from(`n ${i}`), { metadata });
      expect(answer?.toString()).toBe(`n ${i}`);
      expect(headers[0]!.get('x-text')).toEqual(['value']);
      expect(headers[0]!.get('x-bytes-bin')).toEqual([Buffer.from([0, 255, 128])]);
      expect(trailers[0]!.get('x-trailer')).toEqual(['behind']);
    }
    const { error } = await call(client, 'Fail', Buffer.alloc(0));
    expect(error).toMatchObject({ code: status.FAILED_PRECONDITION, details: 'nö: 100 %' });
    expect((await call(client, 'Nobody', Buffer.alloc(1))).error?.code).toBe(status.UNIMPLEMENTED);
    expect((await call(client, 'Echo', Buffer.alloc(0))).answer).toHaveLength(0);
  });

  it('passes messages of 20 MiB both ways, with the smallest window and a large one', async () => {
    for (const window of [65_535, 16 * MIB]) {
      const options = { 'grpc-node.flow_control_window': window };
      await using node = await GrpcRelay.start(mode, options);
      const client = node.createClient(options);
      const message = Buffer.alloc(20 * MIB, 'podloop');
      const answers = await Promise.all([
        call(client, 'Echo', message),
        call(client, 'Echo', Buffer.from('small')),
        call(client, 'Echo', message.subarray(0, 3 * MIB)),
      ]);
      expect(answers.map(({ error }) => error)).toEqual([null, null, null]);
      expect(answers[0].answer!.equals(message)).toBe(true);
      expect(answers[2].answer!.equals(message.subarray(0, 3 * MIB))).toBe(true);
    }
  });

  it('streams both ways, and stays open while one side has ended', async () => {
    await using node = await GrpcRelay.start(mode);
    const stream = talk(node.createClient());
    const received: string[] = [];
    stream.on('data', (message: Buffer) => received.push(message.toString()));
    for (let i = 0; i < 100; i++) stream.write(Buffer.from(String(i)));
    stream.end();
    await once(stream, 'end');
    expect(received).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
  });

  it('is cancelled, and runs into deadlines, and the next call is as new', async () => {
    await using node = await GrpcRelay.start(mode);
    const client = node.createClient();
    const { error } = await call(client, 'Hang', Buffer.from('x'), { deadline: Date.now() + 200 });
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
    const stream = talk(client);
    stream.write(Buffer.from('x'));
    await once(stream, 'data');
    stream.cancel();
    const [broken] = (await once(stream, 'error')) as [ServiceError];
    expect(broken.code).toBe(status.CANCELLED);
    expect((await call(client, 'Echo', Buffer.from('y'))).answer?.toString()).toBe('y');
    expect(node.cancelled).toEqual(['Hang']);
  });

  it('has many connections with many calls each', async () => {
    await using node = await GrpcRelay.start(mode);
    const clients = Array.from({ length: 20 }, () => node.createClient());
    const answers = await Promise.all(
      clients.flatMap((client, c) =>
        Array.from({ length: 50 }, async (_, i) => {
          const request = Buffer.alloc((c * 50 + i) * 37, `${c} ${i}`);
          const { answer } = await call(client, 'Echo', request);
          return answer!.equals(request);
        }),
      ),
    );
    expect(answers.every(Boolean)).toBe(true);
    expect(node.relay.counts.connections).toBe(20);
  });

  it('hears the server say good-bye, finishes what is under way, and finds the next server', async () => {
    await using node = await GrpcRelay.start(mode);
    const client = node.createClient();
    const stream = talk(client);
    stream.write(Buffer.from('before'));
    await once(stream, 'data');
    const shutDown = new Promise<void>((resolve) => {
      node.server.tryShutdown(() => resolve());
    });
    stream.write(Buffer.from('after'));
    const [message] = (await once(stream, 'data')) as [Buffer];
    expect(message.toString()).toBe('after');
    stream.end();
    stream.resume();
    await once(stream, 'end');
    await shutDown;
    expect((await call(client, 'Echo', Buffer.from('x'))).error?.code).toBe(status.UNAVAILABLE);
  });
});
