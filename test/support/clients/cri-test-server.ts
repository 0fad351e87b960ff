import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server as SocketServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ImageServiceServer,
  ImageServiceService,
  type RuntimeServiceServer,
  RuntimeServiceService,
} from '#watch/messages';

import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';

/** What a {@link CriTestServer} answers with. A method without a handler is Unimplemented. */
export interface CriTestServerOptions {
  readonly handlers?: Partial<RuntimeServiceServer & ImageServiceServer>;
  /** Unary methods answered with bytes as they are, by name: for answers that no generated code would write. */
  readonly raw?: Readonly<Record<string, (request: Buffer) => Buffer>>;
  /** Streaming methods answered with these messages, as `raw`. */
  readonly rawStreams?: Readonly<Record<string, (request: Buffer) => readonly Buffer[]>>;
  /** Taken instead of a socket in a temporary folder: to come back where another server was. */
  readonly socketPath?: string;
}

/** A gRPC server in the test's own process, on a unix socket, whose every answer the test writes. */
export class CriTestServer implements AsyncDisposable {
  readonly socketPath: string;
  readonly endpoint: string;
  readonly #listener: SocketServer;
  readonly #sockets = new Set<Socket>();
  readonly #folder: string | undefined;

  private constructor(server: Server, socketPath: string, folder: string | undefined) {
    this.socketPath = socketPath;
    this.endpoint = `unix://${socketPath}`;
    this.#folder = folder;
    // Sockets of our own, so that they can be broken as the end of a process breaks them.
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#listener = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      injector.injectConnection(socket);
    });
  }

  static async start(options: CriTestServerOptions = {}): Promise<CriTestServer> {
    const { socketPath } = options;
    const folder = socketPath === undefined ? await mkdtemp(join(tmpdir(), 'podloop-cri-')) : undefined;
    const path = socketPath ?? join(folder!, 'cri.sock');
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
    const implementation = implement(options);
    const methods = pick({ ...RuntimeServiceService, ...ImageServiceService }, options, implementation);
    if (Object.keys(methods).length > 0) server.addService(methods, implementation);
    const running = new CriTestServer(server, path, folder);
    running.#listener.listen(path);
    await once(running.#listener, 'listening');
    return running;
  }

  /** Breaks every connection and frees the socket, as when the runtime is killed. */
  async kill(): Promise<void> {
    if (!this.#listener.listening) return;
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }
}

const identity = (bytes: Buffer): Buffer => bytes;

/** The definitions of the methods that have a handler, those for raw bytes without their (de)serialisers. */
function pick<Service extends object>(
  service: Service,
  options: CriTestServerOptions,
  handlers: object,
): Service {
  const raw = { ...options.raw, ...options.rawStreams };
  const entries = Object.entries(service)
    .filter(([name]) => name in handlers)
    .map(([name, definition]: [string, object]) => [
      name,
      name in raw ? { ...definition, requestDeserialize: identity, responseSerialize: identity } : definition,
    ]);
  return Object.fromEntries(entries) as Service;
}

function implement({
  handlers = {},
  raw = {},
  rawStreams = {},
}: CriTestServerOptions): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = { ...(handlers as UntypedServiceImplementation) };
  for (const [name, answer] of Object.entries(raw)) {
    implementation[name] = (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) =>
      reply(null, answer(call.request));
  }
  for (const [name, answer] of Object.entries(rawStreams)) {
    implementation[name] = (call: ServerWritableStream<Buffer, Buffer>) => {
      for (const message of answer(call.request)) call.write(message);
      call.end();
    };
  }
  return implementation;
}
