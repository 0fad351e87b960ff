/**
 * The server behind CRI's Exec, Attach and PortForward: the gRPC call grants a URL, the client comes for its streams
 * there by HTTP.
 *
 * In: connections on loopback whose path bears a token that a call has granted. Out: bytes to and from commands,
 * containers and ports of pods, through the {@link StreamingPorts} of the runtime.
 *
 * ```
 * Exec, Attach, PortForward ──► TokenStore ──► URL ──► the client
 *                                   │
 * client ──HTTP Upgrade──► StreamingServer ─┬─ WebSocket ─► channels ─┬─► run-command-session ─► process or console
 *                                           │      └─► SPDY inside ─┐ │
 *                                           └─ SPDY/3.1 ────────────┴─┴─► forward-port ────────► a port of the pod
 * ```
 *
 * It assumes that whoever can connect to loopback may be hostile and whoever holds a token is not trusted with more
 * than its grant: heads of requests, frames, streams and what waits unread are all bounded.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { type Duplex } from 'node:stream';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { ConnectQueue } from './sessions/connect-queue.js';
import { refuseUpgrade } from './http-refusal.js';
import { OpenSessions } from './open-sessions.js';
import { findForeignOrigin } from './request-origin.js';
import { type StreamRequest } from './stream-request.js';
import { connectPortsOf, runCommand, type StreamingServices } from './streaming-services.js';
import { type StreamingPorts } from './streaming-ports.js';
import { TokenStore } from './token-store.js';
import { type UpgradeRequest } from './upgrade-request.js';
import { listNames, negotiateProtocol } from './negotiate-protocol.js';
import { serveSpdy } from './sessions/serve-spdy.js';
import { SPDY_COMMAND_PROTOCOLS } from './sessions/spdy-command.js';
import { PORT_FORWARD_PROTOCOL } from './sessions/spdy-port-forward.js';
import { FLOW_CONTROL_HEADER, FLOW_CONTROL_WINDOWS } from '#base/wire/spdy/spdy-frame.js';
import { WEBSOCKET_COMMAND_PROTOCOLS, WebSocketCommandPeer } from './sessions/websocket-command.js';
import {
  forwardPortsByChannels,
  mostPortsOf,
  WEBSOCKET_PORT_FORWARD_PROTOCOLS,
} from './sessions/websocket-port-forward.js';

/** What {@link StreamingServer.start} takes. */
export interface StreamingServerOptions {
  readonly ports: StreamingPorts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Address to listen on (default: 127.0.0.1). */
  readonly host?: string;
  /** Port to listen on (default: any free port). */
  readonly port?: number | undefined;
  /** How long a session may be without a byte in either direction (default: 4 hours, as the kubelet's). */
  readonly idleTimeoutMs?: number;
  /** How long a SPDY client may take to open the streams of its request (default: 30 s, as the kubelet's). */
  readonly streamCreationTimeoutMs?: number;
  /** From the first byte of a request to the end of its head (default: 10 s). */
  readonly requestHeadTimeoutMs?: number;
  /** Maximum of sessions at once; further ones are refused (default: 1,000). */
  readonly mostSessions?: number;
}

const IDLE_TIMEOUT_MS = 4 * 60 * 60 * 1000;
const STREAM_CREATION_TIMEOUT_MS = 30_000;
const REQUEST_HEAD_MS = 10_000;
/** A client that has said nothing for so long is asked by the kernel whether it is there: its machine may be gone. */
const PROBE_AFTER_MS = 15_000;
const HEAD_BYTES = 16 * 1024;
const MAX_SESSIONS = 1_000;
/** Connections that are not sessions yet, beyond the sessions. */
const MAX_ASKING = 500;

/** A listening streaming server; see the module's description. */
export class StreamingServer implements AsyncDisposable {
  readonly #options: StreamingServerOptions;
  readonly #services: StreamingServices;
  readonly #http: Server;
  readonly #tokens: TokenStore<StreamRequest>;
  readonly #mostSessions: number;
  readonly #sessions: OpenSessions;
  readonly #sockets = new Set<Duplex>();
  readonly #webSockets: WebSocketUpgrades;
  #baseUrl = '';

  private constructor(options: StreamingServerOptions) {
    this.#options = options;
    const { idleTimeoutMs = IDLE_TIMEOUT_MS } = options;
    const { streamCreationTimeoutMs = STREAM_CREATION_TIMEOUT_MS } = options;
    const connects = new ConnectQueue({ clock: options.clock });
    this.#services = { ...options, connects, idleTimeoutMs, streamCreationTimeoutMs };
    this.#sessions = new OpenSessions(options);
    this.#webSockets = new WebSocketUpgrades(this.#services);
    this.#tokens = new TokenStore({ clock: options.clock });
    const { mostSessions = MAX_SESSIONS, requestHeadTimeoutMs: headMs = REQUEST_HEAD_MS } = options;
    this.#mostSessions = mostSessions;
    this.#http = createServer({
      maxHeaderSize: HEAD_BYTES,
      headersTimeout: headMs,
      requestTimeout: headMs,
      connectionsCheckingInterval: headMs / 4,
      keepAliveTimeout: headMs,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
    });
    this.#http.maxConnections = mostSessions + MAX_ASKING;
    this.#http.on('request', (_request, response) => {
      response.writeHead(400, { 'Content-Type': 'text/plain', Connection: 'close' });
      response.end('streams need an upgrade of the connection to WebSocket or SPDY/3.1\n');
    });
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** Listens, and rejects when it cannot. */
  static async start(options: StreamingServerOptions): Promise<StreamingServer> {
    const server = new StreamingServer(options);
    await server.#listen();
    return server;
  }

  /** Grants a request: the URL at which its client gets it, once and within a minute. */
  grant(request: StreamRequest): string {
    return `${this.#baseUrl}/${request.kind}/${this.#tokens.insert(request)}`;
  }

  /** Where it listens: `http://127.0.0.1:PORT`. */
  get baseUrl(): string {
    return this.#baseUrl;
  }

  /** How many sessions are open. */
  get sessionCount(): number {
    return this.#sessions.count;
  }

  /**
   * Ends all sessions, and commands with them; containers go on. A command that the kernel does not let go is waited
   * for some seconds, and then named in the log.
   */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    this.#http.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    await this.#sessions.waitForEnd();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #listen(): Promise<void> {
    const { host = '127.0.0.1', port = 0 } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject);
        resolve();
      });
    });
    this.#http.on('error', (error) => this.#options.logger.error('Streaming server failed', error));
    const address = this.#http.address() as AddressInfo;
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    this.#baseUrl = `http://${name}:${address.port}`;
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // What goes wrong with a connection ends its session; there is nothing more to do about it.
    socket.on('error', () => undefined);
    const foreign = findForeignOrigin(request.headers, { baseUrl: this.#baseUrl, hostname: hostname() });
    if (foreign !== undefined) {
      // Check this before the token, so that a web page cannot use up a token.
      refuseUpgrade(socket, 403, foreign);
      return;
    }
    const [, kind, token = '', ...rest] = (request.url ?? '').split('?', 1)[0]!.split('/');
    const grant = rest.length === 0 ? this.#tokens.consume(token) : undefined;
    const upgrade = request.headers.upgrade?.toLowerCase();
    if (grant === undefined || grant.kind !== kind) {
      refuseUpgrade(
        socket,
        404,
        'no such request: it is unknown, was used already or is older than a minute',
      );
      return;
    }
    const asking: UpgradeRequest = { grant, request, socket, head };
    const onSession = (session: Promise<void>): void => this.#sessions.add(grant, session);
    if (this.#sessions.count >= this.#mostSessions) {
      refuseUpgrade(socket, 503, `${this.#mostSessions} sessions are open`);
    } else if (upgrade === 'websocket') {
      this.#webSockets.upgrade(asking, onSession);
    } else if (upgrade === 'spdy/3.1') {
      upgradeToSpdy(this.#services, asking, onSession);
    } else {
      refuseUpgrade(socket, 400, 'streams need an upgrade to WebSocket or SPDY/3.1');
    }
  }
}

const PROTOCOL_HEADER = 'x-stream-protocol-version';

/** Refuses a request for SPDY/3.1, or upgrades it and calls `onSession` as WebSocketUpgrades does. */
function upgradeToSpdy(
  services: StreamingServices,
  { grant, request, socket, head }: UpgradeRequest,
  onSession: (session: Promise<void>) => void,
): void {
  const asked = listNames(request.headers, PROTOCOL_HEADER);
  const supported = grant.kind === 'portforward' ? [PORT_FORWARD_PROTOCOL] : SPDY_COMMAND_PROTOCOLS;
  const protocol = negotiateProtocol(asked, supported);
  if (asked.length === 0) {
    refuseUpgrade(socket, 400, `the header ${PROTOCOL_HEADER} is missing`);
  } else if (protocol === undefined) {
    const accepted = supported.map((name) => `X-Accepted-Stream-Protocol-Versions: ${name}`);
    refuseUpgrade(socket, 403, `none of ${asked.join(', ')} is spoken here`, accepted);
  } else {
    const lines = ['101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
    lines.push(`X-Stream-Protocol-Version: ${protocol}`);
    const clientCounts = request.headers[FLOW_CONTROL_HEADER] === FLOW_CONTROL_WINDOWS;
    if (clientCounts) lines.push(`${FLOW_CONTROL_HEADER}: ${FLOW_CONTROL_WINDOWS}`);
    socket.write(`HTTP/1.1 ${lines.join('\r\n')}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    onSession(serveSpdy(services, { grant, protocol, transport: socket, clientCounts }));
  }
}

/** In the name of a WebSocket subprotocol: the messages are the bytes of a SPDY connection. */
const TUNNEL_PREFIX = 'SPDY/3.1+';
/** The largest WebSocket message; client-go sends at most 32 KiB, other clients send files whole. */
const MESSAGE_BYTES = 4 * 1024 * 1024;
/** A client that pings all the time and reads nothing gets no answers beyond these. */
const UNREAD_PONG_BYTES = 256 * 1024;

/** Makes WebSockets of connections that ask for it, and serves what they were granted. */
class WebSocketUpgrades {
  readonly #services: StreamingServices;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compression costs 300 KiB a connection and the clients do not ask for it.
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES,
    // ws would keep answers without end for a client that does not read them.
    autoPong: false,
  });
  readonly #subprotocols = new WeakMap<IncomingMessage, string>();

  constructor(services: StreamingServices) {
    this.#services = services;
    this.#server.on('headers', (lines, request) => {
      const protocol = this.#subprotocols.get(request);
      if (protocol !== undefined) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    });
  }

  /** Refuses the request, or calls `onSession` with a promise that settles when the session is over. */
  upgrade(
    { grant, request, socket, head }: UpgradeRequest,
    onSession: (session: Promise<void>) => void,
  ): void {
    const asked = listNames(request.headers, 'sec-websocket-protocol');
    const supported =
      grant.kind === 'portforward'
        ? [TUNNEL_PREFIX + PORT_FORWARD_PROTOCOL, ...WEBSOCKET_PORT_FORWARD_PROTOCOLS]
        : WEBSOCKET_COMMAND_PROTOCOLS;
    const protocol = asked.length === 0 ? '' : negotiateProtocol(asked, supported);
    if (protocol === undefined) {
      refuseUpgrade(socket, 403, `none of ${asked.join(', ')} is spoken here, but ${supported.join(', ')}`);
      return;
    }
    const tunnels = protocol.startsWith(TUNNEL_PREFIX);
    if (grant.kind === 'portforward' && !tunnels && grant.ports.length > mostPortsOf(protocol)) {
      refuseUpgrade(socket, 400, `no more than ${mostPortsOf(protocol)} ports can be forwarded by channels`);
      return;
    }
    // Settled here: ws would refuse the whole request over the slash in the tunnel's name.
    delete request.headers['sec-websocket-protocol'];
    if (protocol !== '') this.#subprotocols.set(request, protocol);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('ping', (data) => {
        if (webSocket.bufferedAmount < UNREAD_PONG_BYTES) webSocket.pong(data, undefined, () => undefined);
      });
      onSession(this.#serve(grant, webSocket, protocol));
    });
  }

  async #serve(grant: StreamRequest, socket: WebSocket, protocol: string): Promise<void> {
    const { clock, idleTimeoutMs } = this.#services;
    if (grant.kind !== 'portforward') {
      const peer = new WebSocketCommandPeer({ socket, protocol, request: grant, clock, idleTimeoutMs });
      await runCommand(this.#services, peer, grant);
    } else if (protocol.startsWith(TUNNEL_PREFIX)) {
      await serveSpdy(this.#services, {
        grant,
        protocol: protocol.slice(TUNNEL_PREFIX.length),
        transport: createWebSocketStream(socket),
        endTransport: () => socket.close(1000),
      });
    } else {
      const connect = connectPortsOf(this.#services, grant);
      const { ports } = grant;
      await forwardPortsByChannels({ socket, protocol, ports, connect, clock, idleTimeoutMs });
    }
  }
}
