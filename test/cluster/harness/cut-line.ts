import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A way to a port of this machine that can be cut as a network cuts it: what is sent vanishes for the time, nobody is told, and
 * connections stay open on both sides. Once it is mended what was on its way arrives.
 */
export class CutLine implements AsyncDisposable {
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Callers whom nobody has answered yet. */
  readonly #waiting = new Set<Socket>();
  #isCut = false;

  static async open(target: number): Promise<CutLine> {
    const line = new CutLine(target);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    return line;
  }

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer({ pauseOnConnect: true }, (caller) => {
      this.#keep(caller);
      if (this.#isCut) this.#waiting.add(caller);
      else this.#join(caller);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) if (!this.#waiting.has(socket)) socket.resume();
    for (const caller of this.#waiting) this.#join(caller);
    this.#waiting.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#waiting.delete(socket);
    });
  }

  #join(caller: Socket): void {
    const callee = connect(this.#target, '127.0.0.1');
    this.#keep(callee);
    for (const [from, to] of [
      [caller, callee],
      [callee, caller],
    ] as const) {
      from.on('data', (bytes) => to.write(bytes));
      from.once('end', () => to.end());
      from.once('close', () => to.destroy());
    }
    if (this.#isCut) for (const socket of [caller, callee]) socket.pause();
    else caller.resume();
  }
}
