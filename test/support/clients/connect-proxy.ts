import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';

/** What a proxy was asked. */
export interface AskedTunnel {
  /** `host:port`. */
  readonly target: string;
  readonly authorization: string | undefined;
}

/** What {@link ConnectProxy.open} takes. */
export interface ConnectProxyOptions {
  /** Of this machine: where it connects to, whatever it is asked for. */
  readonly port: number;
  /** It speaks TLS. */
  readonly pair?: { readonly cert: string; readonly key: string };
}

/** A proxy of HTTP that keeps what it is asked, and may answer that it does not connect, or nothing. */
export class ConnectProxy implements AsyncDisposable {
  readonly asked: AskedTunnel[] = [];
  /** As in `403 Forbidden`; empty to say nothing. */
  refusal: string | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async open({ port, pair }: ConnectProxyOptions): Promise<ConnectProxy> {
    const server: Server = pair === undefined ? createHttpServer() : createHttpsServer(pair);
    const proxy = new ConnectProxy(server, port);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  private constructor(server: Server, port: number) {
    this.#server = server;
    server.on('connection', (socket: Socket) => this.#keep(socket));
    server.on('connect', ({ url = '', headers }: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => undefined);
      this.asked.push({ target: url, authorization: headers['proxy-authorization'] });
      if (this.refusal === undefined) this.#connect(port, socket, head);
      else if (this.refusal !== '') socket.end(`HTTP/1.1 ${this.refusal}\r\ncontent-length: 0\r\n\r\n`);
      // Nobody else would read that the other side has gone.
      else socket.resume().once('end', () => socket.destroy());
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections it has, of both sides. */
  get connections(): number {
    return this.#sockets.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connect(port: number, socket: Socket, head: Buffer): void {
    const onwards = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onwards.write(head);
      onwards.pipe(socket).pipe(onwards);
    });
    this.#keep(onwards);
    onwards.once('close', () => socket.destroy());
    socket.once('close', () => onwards.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
  }
}
