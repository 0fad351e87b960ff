/**
 * A socket at which a runtime can be read and not changed, for programs that need to know and not to act.
 *
 * In: a runtime's socket. Out: a socket that answers the calls of CRI that read as the runtime does, and refuses every other one
 * with PERMISSION_DENIED. Each call ends here and a new one is made of it: of what a client sends, nothing reaches the runtime but
 * the message of a call on the list. So there is no way round it by frames that two readers of HTTP/2 understand differently, by
 * other protocols that a runtime speaks at the same socket, or by services beside CRI, which do not exist here.
 *
 * A verbose status is refused as well: runtimes ask a shim for it, and it shows the variables of containers and images. So is
 * GetContainerEvents unless it is asked for, since containerd 1.7 gives each event to one reader, who takes it from the kubelet.
 *
 * @module
 */
import { chmod, chown } from 'node:fs/promises';
import {
  Client,
  credentials,
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type ServiceError,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { listenPrivately, parseSocketPath, type PrivateSocket } from '#base/wire/private-socket.js';
import {
  ContainerStatusRequest,
  ImageServiceService,
  ImageStatusRequest,
  PodSandboxStatusRequest,
  RuntimeServiceService,
  StatusRequest,
} from '#watch/messages';

/** How a {@link ReadingProxy} is started. */
export interface ReadingProxyOptions {
  /** `unix:///path` of the runtime. It need not be there yet. */
  readonly upstream: string;
  /** `unix:///path` to listen at. */
  readonly listen: string;
  /** The number of a group whose members may open it besides its owner (default: none). */
  readonly gid?: number;
  /** Whether events may be read (default: false). */
  readonly allowsEvents?: boolean;
  /** Called for each call that is refused. */
  readonly onRefused?: (method: string, why: string) => void;
}

/** Calls that change nothing, by their names; CRI uses none of them twice. */
const READING: ReadonlySet<string> = new Set([
  ...['Version', 'Status', 'RuntimeConfig', 'ListPodSandbox', 'StreamPodSandboxes', 'PodSandboxStatus'],
  ...['ListContainers', 'StreamContainers', 'ContainerStatus'],
  ...['ContainerStats', 'ListContainerStats', 'StreamContainerStats'],
  ...['PodSandboxStats', 'ListPodSandboxStats', 'StreamPodSandboxStats'],
  ...['ListMetricDescriptors', 'ListPodSandboxMetrics', 'StreamPodSandboxMetrics'],
  ...['ListImages', 'StreamImages', 'ImageStatus', 'ImageFsInfo'],
]);
const EVENTS = 'GetContainerEvents';
/** Requests that may ask for what only a shim knows, by method; written again as they were understood, or undefined. */
const STATUS_REQUESTS: Readonly<Record<string, (request: Buffer) => Buffer | undefined>> = {
  Status: (bytes) => withoutVerbose(StatusRequest, bytes),
  PodSandboxStatus: (bytes) => withoutVerbose(PodSandboxStatusRequest, bytes),
  ContainerStatus: (bytes) => withoutVerbose(ContainerStatusRequest, bytes),
  ImageStatus: (bytes) => withoutVerbose(ImageStatusRequest, bytes),
};
/** An answer of the runtime may be of any size; a request has gRPC's usual limit of 4 MiB. */
const ANY_ANSWER = { 'grpc.max_receive_message_length': -1 };
const ANY_SIZE_SENT = { 'grpc.max_send_message_length': -1 };
/** Of one client; a kubelet has fewer under way. */
const MAX_CALLS_PER_CONNECTION = 100;
/** A runtime that is restarted is back within seconds. */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 2_000 };

/** See the module. */
export class ReadingProxy implements AsyncDisposable {
  readonly #options: ReadingProxyOptions;
  readonly #client: Client;
  readonly #server = new Server({
    ...{ ...ANY_SIZE_SENT, 'grpc.max_concurrent_streams': MAX_CALLS_PER_CONNECTION },
  });
  #socket: PrivateSocket | undefined;
  #refused = 0;

  /** Listens. Throws OPTION_INVALID, or ENDPOINT_IN_USE when somebody else answers there. */
  static async start(options: ReadingProxyOptions): Promise<ReadingProxy> {
    const proxy = new ReadingProxy(options);
    try {
      proxy.#socket = await listenPrivately(options.listen, async (path) => proxy.#bind(path));
      await proxy.#letGroupIn();
      return proxy;
    } catch (error) {
      await proxy.close();
      throw error;
    }
  }

  private constructor(options: ReadingProxyOptions) {
    this.#options = options;
    const address = `unix:${parseSocketPath(options.upstream, 'upstream')}`;
    this.#client = new Client(address, credentials.createInsecure(), { ...ANY_ANSWER, ...RECONNECT });
    for (const service of [RuntimeServiceService, ImageServiceService]) {
      const definition = toRawDefinition(service);
      this.#server.addService(definition, this.#implement(definition));
    }
  }

  /** `unix:///path`, for clients. */
  get endpoint(): string {
    return this.#socket!.endpoint;
  }

  /** Calls that were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Ends all calls. Idempotent. */
  async close(): Promise<void> {
    await this.#socket?.remove();
    this.#server.forceShutdown();
    this.#client.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #bind(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  async #letGroupIn(): Promise<void> {
    const { gid, listen } = this.#options;
    if (gid === undefined) return;
    const path = parseSocketPath(listen, 'listen');
    await chown(path, process.getuid!(), gid);
    await chmod(path, 0o660);
  }

  #implement(definition: ServiceDefinition): UntypedServiceImplementation {
    const implementation: UntypedServiceImplementation = {};
    for (const [key, { path, responseStream }] of Object.entries(definition)) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      implementation[key] = responseStream
        ? (call: ServerWritableStream<Buffer, Buffer>) => this.#stream(name, path, call)
        : (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) =>
            this.#answer(name, path, call, reply);
    }
    return implementation;
  }

  #answer(
    name: string,
    path: string,
    call: ServerUnaryCall<Buffer, Buffer>,
    reply: sendUnaryData<Buffer>,
  ): void {
    const request = this.#admit(name, call.request);
    if (!Buffer.isBuffer(request)) {
      reply(request);
      return;
    }
    const options = { deadline: call.getDeadline() };
    const asked = this.#client.makeUnaryRequest(
      path,
      identity,
      identity,
      request,
      new Metadata(),
      options,
      (error: ServiceError | null, answer?: Buffer) => {
        if (error === null) reply(null, answer);
        else reply({ code: error.code, details: error.details });
      },
    );
    call.on('cancelled', () => asked.cancel());
  }

  #stream(name: string, path: string, call: ServerWritableStream<Buffer, Buffer>): void {
    const request = this.#admit(name, call.request);
    if (!Buffer.isBuffer(request)) {
      call.emit('error', request);
      return;
    }
    const options = { deadline: call.getDeadline() };
    const asked = this.#client.makeServerStreamRequest(
      path,
      identity,
      identity,
      request,
      new Metadata(),
      options,
    );
    asked.on('data', (message: Buffer) => {
      // A client that reads slowly slows the runtime down as it would without this in between.
      if (!call.write(message)) asked.pause();
    });
    call.on('drain', () => asked.resume());
    asked.on('end', () => call.end());
    asked.on('error', (error: ServiceError) => {
      call.emit('error', { code: error.code, details: error.details });
    });
    call.on('cancelled', () => asked.cancel());
  }

  /** The request that goes on, or the status with which it is refused. */
  #admit(name: string, request: Buffer): Buffer | Refusal {
    const refuse = (details: string): Refusal => {
      this.#refused++;
      this.#options.onRefused?.(name, details);
      return { code: status.PERMISSION_DENIED, details };
    };
    if (name === EVENTS && this.#options.allowsEvents !== true)
      return refuse(`this socket gives no events, as they may be taken from the kubelet: ${name} is refused`);
    if (name !== EVENTS && !READING.has(name))
      return refuse(
        `this socket only reads: ${name} changes a node or reaches into a container, and is refused`,
      );
    const rewrite = STATUS_REQUESTS[name];
    if (rewrite === undefined) return request;
    try {
      const rewritten = rewrite(request);
      if (rewritten !== undefined) return rewritten;
    } catch {
      return refuse(`this socket only reads: the request of ${name} cannot be understood, and is refused`);
    }
    return refuse(
      `this socket only reads: a verbose ${name} asks a shim and shows the variables of containers, and is refused`,
    );
  }
}

interface Refusal {
  readonly code: number;
  readonly details: string;
}

/** What generated code has for each message. */
interface MessageCodec<Message> {
  encode(message: Message): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Message;
}

/** The same request in bytes that cannot be read as a verbose one; undefined for one that is. */
function withoutVerbose<Message extends { verbose: boolean }>(
  codec: MessageCodec<Message>,
  bytes: Buffer,
): Buffer | undefined {
  const request = codec.decode(bytes);
  return request.verbose ? undefined : Buffer.from(codec.encode(request).finish());
}

const identity = (bytes: Buffer): Buffer => bytes;

/** The methods of a service without what they say: bytes in, bytes out. */
function toRawDefinition(service: ServiceDefinition): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(service).map(([key, { path, responseStream }]) => [
      key,
      {
        ...{
          path,
          responseStream,
          requestStream: false,
          requestSerialize: identity,
          requestDeserialize: identity,
        },
        ...{ responseSerialize: identity, responseDeserialize: identity },
      },
    ]),
  );
}
