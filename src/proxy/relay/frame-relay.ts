import { connect, createServer, type Server, type Socket } from 'node:net';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type PrivateSocket, listenPrivately, parseSocketPath } from '#base/wire/private-socket.js';
import { type CallInterceptor } from './call-handler.js';
import { RelayConnection } from './relay-connection.js';
import { ReusedBuffer } from './reused-buffer.js';

/** How a {@link FrameRelay} is started. */
export interface FrameRelayOptions {
  /** `unix:///path` of the server that is relayed to. It need not be there yet. */
  readonly upstream: string;
  /** `unix:///path` to listen at; only its owner may open it. */
  readonly listen: string;
  /** Asked about each call; without one every byte passes. */
  readonly intercept?: CallInterceptor;
  /** Asked about each connection: false closes it at once, as if nobody were there. */
  readonly admit?: () => boolean;
  readonly logger?: Logger;
  /** How long one end may be silent, in milliseconds, after the other has said its last word (default: 30 s). */
  readonly lingerMs?: number;
}

const LINGER_MS = 30_000;

/** What passed so far. */
export interface RelayCounts {
  readonly connections: number;
  readonly openConnections: number;
}

/**
 * Stands between the clients of a gRPC server and the server, both on unix sockets: a connection to the server for
 * each of a client, the same bytes on both, but for what an interceptor changes.
 */
export class FrameRelay implements AsyncDisposable {
  readonly #options: FrameRelayOptions;
  readonly #upstreamPath: string;
  readonly #server: Server;
  readonly #connections = new Set<RelayConnection>();
  #socket: PrivateSocket | undefined;
  #lastConnectionId = 0;
  #upstreamIsAway = false;
  #cannotAccept = false;

  private constructor(options: FrameRelayOptions) {
    this.#options = options;
    this.#upstreamPath = parseSocketPath(options.upstream, 'upstream');
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#receive(client));
  }

  /** Listens. Throws OPTION_INVALID, or ENDPOINT_IN_USE when somebody else answers there. */
  static async start(options: FrameRelayOptions): Promise<FrameRelay> {
    const relay = new FrameRelay(options);
    relay.#socket = await listenPrivately(options.listen, async (path) => {
      await new Promise<void>((resolve, reject) => {
        relay.#server.once('error', reject);
        relay.#server.listen(path, () => {
          relay.#server.off('error', reject);
          relay.#server.on('error', (error) => relay.#noteNotAccepted(error));
          resolve();
        });
      });
    });
    return relay;
  }

  /** `unix:///path`, for clients. */
  get endpoint(): string {
    return this.#socket!.endpoint;
  }

  get counts(): RelayCounts {
    return { connections: this.#lastConnectionId, openConnections: this.#connections.size };
  }

  /** Cuts every connection there is, as when the server is killed. */
  breakConnections(): void {
    for (const connection of [...this.#connections]) connection.break();
  }

  /** Ends it, with all connections. */
  async close(): Promise<void> {
    await this.#socket?.remove();
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.breakConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #receive(client: Socket): void {
    try {
      this.#accept(client);
    } catch (error) {
      const { logger = SILENT_LOGGER } = this.#options;
      logger.error('A connection could not be relayed', error);
      client.destroy();
    }
  }

  #accept(client: Socket): void {
    const {
      admit,
      intercept = () => undefined,
      logger = SILENT_LOGGER,
      lingerMs = LINGER_MS,
    } = this.#options;
    this.#cannotAccept = false;
    if (admit?.() === false) {
      client.destroy();
      return;
    }
    const serverReads = new ReusedBuffer();
    const { onread } = serverReads;
    const server = connect({ path: this.#upstreamPath, allowHalfOpen: true, onread });
    this.#watchUpstream(server, logger);
    const connection: RelayConnection = new RelayConnection({
      ...{ id: ++this.#lastConnectionId, client, server, serverReads, intercept, logger, lingerMs },
      onClosed: () => {
        this.#connections.delete(connection);
      },
    });
    this.#connections.add(connection);
  }

  /** Too many open files, for example: logged once, until a connection is accepted again. */
  #noteNotAccepted(error: Error): void {
    const { logger = SILENT_LOGGER } = this.#options;
    if (!this.#cannotAccept) logger.error('A connection could not be accepted', error);
    this.#cannotAccept = true;
  }

  /** Says once that the server is not to be reached, and once that it is again. */
  #watchUpstream(server: Socket, logger: Logger): void {
    const { upstream } = this.#options;
    let reached = false;
    server.once('connect', () => {
      reached = true;
      if (this.#upstreamIsAway) logger.info('The server is reached again', { upstream });
      this.#upstreamIsAway = false;
    });
    server.once('error', ({ message }) => {
      if (reached || this.#upstreamIsAway) return;
      this.#upstreamIsAway = true;
      logger.warn('The server cannot be reached, its clients are turned away', { upstream, err: message });
    });
  }
}
