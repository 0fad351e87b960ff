import { type IncomingMessage } from 'node:http';
import { createWebSocketStream, WebSocketServer, type WebSocket } from 'ws';
import { refuseUpgrade } from './http-refusal.js';
import { listNames, negotiateProtocol } from './negotiate-protocol.js';
import { serveSpdy } from './sessions/serve-spdy.js';
import { PORT_FORWARD_PROTOCOL } from './sessions/spdy-port-forward.js';
import { type StreamRequest } from './stream-request.js';
import { connectPortsOf, runCommand, type StreamingServices } from './streaming-services.js';
import { type UpgradeRequest } from './upgrade-request.js';
import { WEBSOCKET_COMMAND_PROTOCOLS, WebSocketCommandPeer } from './sessions/websocket-command.js';
import {
  forwardPortsByChannels,
  mostPortsOf,
  WEBSOCKET_PORT_FORWARD_PROTOCOLS,
} from './sessions/websocket-port-forward.js';

/** In the name of a WebSocket subprotocol: the messages are the bytes of a SPDY connection. */
const TUNNEL_PREFIX = 'SPDY/3.1+';
/** The largest WebSocket message; client-go sends at most 32 KiB, other clients send files whole. */
const MESSAGE_BYTES = 4 * 1024 * 1024;
/** A client that pings all the time and reads nothing gets no answers beyond these. */
const UNREAD_PONG_BYTES = 256 * 1024;

/** Makes WebSockets of connections that ask for it, and serves what they were granted. */
export class WebSocketUpgrades {
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
