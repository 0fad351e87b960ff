import { type Clock } from '#base/time/clock.js';
import { abortable } from '#base/async/abortable.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { type TlsIdentity } from './credentials.js';
import { Http1Connections } from './http1-connections.js';
import { Http2Connection } from './http2-connection.js';
import { type OpenSocket, openSocket, type ServerAddress } from './open-socket.js';
import { type Answer, NotSentError, type Outgoing, type Transport } from './http-transport.js';

/** What an {@link ApiTransport} needs. */
export interface ApiTransportOptions {
  readonly address: ServerAddress;
  /** What new connections are made with: the same object until something of it changes. */
  readonly identity: () => Promise<TlsIdentity>;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/**
 * Connections to one API server: HTTP/2 where it is spoken, so that hundreds of watches take one connection, else HTTP/1.1.
 *
 * When the client's certificate changes, new requests take new connections, and watches end in their own time.
 */
export class ApiTransport implements Transport {
  readonly #options: ApiTransportOptions;
  readonly #origin: string;
  /** With room or without, oldest first. */
  #connections: Http2Connection[] = [];
  #connecting: Promise<Http2Connection | Http1Connections> | undefined;
  #http1: Http1Connections | undefined;
  #identity: TlsIdentity | undefined;
  /** Counts drops: what was on its way up then is not taken. */
  #generation = 0;

  constructor(options: ApiTransportOptions) {
    this.#options = options;
    this.#origin = `${options.address.protocol}//${joinHostPort(options.address)}`;
  }

  async send(outgoing: Outgoing, signal: AbortSignal): Promise<Answer> {
    try {
      return await this.#send(outgoing, signal);
    } catch (error) {
      // A server that ends a connection, or takes fewer requests over it than was known, has not begun with it.
      if (!(error instanceof NotSentError)) throw error;
      return await this.#send(outgoing, signal);
    }
  }

  async #send(outgoing: Outgoing, signal: AbortSignal): Promise<Answer> {
    const identity = await abortable(this.#options.identity(), signal);
    if (identity !== this.#identity) this.#retire(identity);
    this.#connections = this.#connections.filter((each) => !each.isClosed);
    const free = this.#connections.find((each) => each.hasRoom) ?? this.#http1;
    if (free !== undefined) return await free.send(outgoing, signal);
    const made = await abortable(this.#connecting ?? this.#connectOnce(identity), signal);
    // So many have waited for it that it is full already.
    if (made instanceof Http2Connection && !made.hasRoom) return await this.#send(outgoing, signal);
    return await made.send(outgoing, signal);
  }

  drop(why: Error): void {
    this.#generation++;
    for (const each of this.#connections) each.destroy(why);
    this.#connections = [];
    this.#http1?.destroy();
    this.#http1 = undefined;
    this.#connecting = undefined;
  }

  #retire(identity: TlsIdentity): void {
    this.#identity = identity;
    this.#generation++;
    for (const each of this.#connections) each.retire();
    this.#http1?.retire();
    this.#http1 = undefined;
    this.#connecting = undefined;
  }

  /** Whoever comes meanwhile waits for the same one. */
  #connectOnce(identity: TlsIdentity): Promise<Http2Connection | Http1Connections> {
    const connecting = this.#connect(identity).finally(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    this.#connecting = connecting;
    return connecting;
  }

  async #connect(identity: TlsIdentity): Promise<Http2Connection | Http1Connections> {
    const generation = this.#generation;
    const { address, clock } = this.#options;
    const opened = await openSocket(address, identity.context, clock);
    if (opened.protocol === 'h2') {
      const made = await new Http2Connection({ socket: opened.socket, origin: this.#origin, clock }).ready();
      if (generation === this.#generation) this.#connections.push(made);
      else made.retire();
      return made;
    }
    const made = this.#openHttp1(opened, identity);
    if (generation === this.#generation) this.#http1 = made;
    return made;
  }

  /** The first one is up already. */
  #openHttp1(first: OpenSocket, { context }: TlsIdentity): Http1Connections {
    const { address, clock } = this.#options;
    let waiting: OpenSocket | undefined = first;
    return new Http1Connections({
      host: new URL(this.#origin).host,
      open: async () => {
        const { socket } = waiting ?? (await openSocket(address, context, clock));
        waiting = undefined;
        return socket;
      },
    });
  }
}
