import { type Socket } from 'node:net';

/**
 * Connections that have shown no session yet: of many, the oldest is closed for each that comes. So a program of this
 * machine that opens connections and does nothing with them keeps nobody out.
 */
export class StrangerSockets {
  readonly #max: number;
  readonly #sockets = new Set<Socket>();

  constructor({ max }: { readonly max: number }) {
    this.#max = max;
  }

  /** A connection has come. */
  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    for (const oldest of this.#sockets) {
      if (this.#sockets.size <= this.#max) return;
      this.#sockets.delete(oldest);
      oldest.destroy();
    }
  }

  /** A session has used it. */
  admit(socket: Socket): void {
    this.#sockets.delete(socket);
  }
}
