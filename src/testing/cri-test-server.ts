import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server as SocketServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';

import {
  ImageServiceService,
  type ImageServiceServer,
  RuntimeServiceService,
  type RuntimeServiceServer,
} from '../cri/generated/runtime/v1/cri.js';

/** What a {@link CriTestServer} answers with. A method without a handler is Unimplemented. */
export interface CriTestServerOptions {
  readonly handlers?: Partial<RuntimeServiceServer & ImageServiceServer>;
  /** Unary methods answered with bytes as they are, by name: for answers that no generated code would write. */
  readonly raw?: Readonly<Record<string, (request: Buffer) => Buffer>>;
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

  static async start({
    handlers = {},
    raw = {},
    socketPath,
  }: CriTestServerOptions = {}): Promise<CriTestServer> {
    const folder = socketPath === undefined ? await mkdtemp(join(tmpdir(), 'podloop-cri-')) : undefined;
    const path = socketPath ?? join(folder!, 'cri.sock');
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
    const given = handlers as UntypedServiceImplementation;
    const methods = pick({ ...RuntimeServiceService, ...ImageServiceService }, given, raw);
    if (Object.keys(methods).length > 0) server.addService(methods, implement(given, raw));
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

type Raw = Readonly<Record<string, (request: Buffer) => Buffer>>;

const identity = (bytes: Buffer): Buffer => bytes;

/** The definitions of the methods that have a handler, those for raw bytes without their (de)serialisers. */
function pick<Service extends object>(service: Service, handlers: object, raw: Raw): Service {
  const entries = Object.entries(service).flatMap(([name, definition]) => {
    if (name in raw) {
      return [
        [name, { ...(definition as object), requestDeserialize: identity, responseSerialize: identity }],
      ];
    }
    return name in handlers ? [[name, definition as object]] : [];
  });
  return Object.fromEntries(entries) as Service;
}

function implement(handlers: UntypedServiceImplementation, raw: Raw): UntypedServiceImplementation {
  const answers = Object.entries(raw).map(([name, answer]) => [
    name,
    (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
      callback(null, answer(call.request)),
  ]);
  return { ...handlers, ...(Object.fromEntries(answers) as UntypedServiceImplementation) };
}
