import { type Socket } from 'node:net';
import { peerNetworkOf } from '../access/peer-network.js';

/** What {@link Connections} need. */
export interface ConnectionsOptions {
  /** Of those who have not shown who they are. */
  readonly maxStrangers: number;
  /** One of them was closed for another. */
  readonly onDrop: () => void;
}

interface Connection {
  readonly socket: Socket;
  /** Where it came from: see {@link peerNetworkOf}. */
  readonly network: string;
  /** How often authorities had changed when it came: its handshake goes by those of that time. */
  readonly era: number;
}

/**
 * The connections of a server, from the first byte on: before TLS is agreed upon they are nobody else's.
 *
 * Where there are too many of strangers, the oldest one of the network that has most of them is closed: one machine that opens
 * hundreds keeps itself out, and nobody else.
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

  /** One has come, as a stranger's. */
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

  /** Who is at the other end has shown who he is. The socket may be the one with TLS that was made of the one that came. */
  know(socket: Socket): void {
    const connection = this.#all.get(keyOf(socket));
    if (connection !== undefined) this.#leaveStrangers(connection);
  }

  /** From now on other authorities vouch for clients. */
  beginEra(): void {
    this.#era++;
  }

  /** Whether the authorities are those by which its handshake went. */
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

/** The same for a connection and for TLS on it: both ends of it. One at a unix socket has no such, and no TLS. */
function keyOf(socket: Socket): unknown {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return socket;
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
