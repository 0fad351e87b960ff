import { type Socket } from 'node:net';
import { peerNetworkOf } from '../access/peer-network.js';

/** What {@link Connections} need. */
export interface ConnectionsOptions {
  /** Limit for unidentified clients. */
  readonly maxStrangers: number;
  /** A connection was closed to make room for another. */
  readonly onDrop: () => void;
}

interface Connection {
  readonly socket: Socket;
  /** Its peer: see {@link peerNetworkOf}. */
  readonly network: string;
  /** How often the authorities had changed when it came: those of that time checked its handshake. */
  readonly era: number;
}

/**
 * The connections of a server from the first byte on, before TLS is negotiated.
 *
 * If there are too many of unidentified clients, the oldest of the network with most of them is closed. So a
 * machine that opens hundreds only locks itself out.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #all = new Map<unknown, Connection>();
  /** By network of the peer, the oldest first. */
  readonly #strangers = new Map<string, Set<Connection>>();
  #strangerCount = 0;
  #era = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Adds a connection as unidentified. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    const connection = { socket, network: peerNetworkOf(socket.remoteAddress ?? ''), era: this.#era };
    this.#all.set(key, connection);
    socket.once('close', () => {
      if (this.#all.get(key) === connection) this.#all.delete(key);
      this.#leaveStrangers(connection);
    });
    const others = this.#strangers.get(connection.network) ?? new Set();
    this.#strangers.set(connection.network, others.add(connection));
    this.#strangerCount++;
    if (this.#strangerCount > this.#options.maxStrangers) this.#dropStranger();
  }

  /** Marks a client as identified. The socket may be the TLS one on top of the accepted one. */
  know(socket: Socket): void {
    const connection = this.#all.get(keyOf(socket));
    if (connection !== undefined) this.#leaveStrangers(connection);
  }

  /** Starts a new era, as other authorities check clients from now on. */
  beginEra(): void {
    this.#era++;
  }

  /** Whether the present authorities have checked its handshake. */
  isOfThisEra(socket: Socket): boolean {
    return this.#all.get(keyOf(socket))?.era === this.#era;
  }

  /** Breaks all of them off. */
  destroyAll(): void {
    for (const { socket } of this.#all.values()) socket.destroy();
  }

  #leaveStrangers(connection: Connection): void {
    const others = this.#strangers.get(connection.network);
    if (others?.delete(connection) !== true) return;
    this.#strangerCount--;
    if (others.size === 0) this.#strangers.delete(connection.network);
  }

  #dropStranger(): void {
    const [oldest] = [...this.#strangers.values()].reduce((one, other) =>
      other.size > one.size ? other : one,
    );
    this.#leaveStrangers(oldest!);
    oldest!.socket.destroy();
    this.#options.onDrop();
  }
}

/**
 * The same key for a connection and for TLS on it: both ends of it. A connection at a unix socket has none,
 * and no TLS.
 */
function keyOf(socket: Socket): unknown {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return socket;
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
