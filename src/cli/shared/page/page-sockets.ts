import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { messageOf } from '#base/errors/errors.js';
import { type AgentPath } from './agent-paths.js';
import { STREAM_PROTOCOL } from './page-access.js';

/** A page that reads slowly gets the next piece when it has most of the ones before. */
const MAX_WAITING_BYTES = 1 << 20;
/** Why a WebSocket is closed. */
export const CloseCode = { normal: 1000, goingAway: 1001, tooMuch: 1009, tryAgain: 1013 } as const;
/** Codes of our own from here on: the status of the agent's answer is added. */
const REFUSED = 4000;
/** What a reason of a close may have, in bytes. */
const MAX_REASON = 120;

/** What {@link PageSockets} needs. */
export interface PageSocketsOptions {
  /** Of all pages together. */
  readonly maxSockets: number;
  /** Of a page. */
  readonly maxMessageBytes: number;
  /** What a page reads that opens one more. */
  readonly refusal: string;
  /** Serves a page until one of both ends it. Never rejects. */
  readonly serve: (page: WebSocket, path: AgentPath) => Promise<void>;
}

/** WebSockets of one kind, of all pages together. */
export class PageSockets {
  readonly #options: PageSocketsOptions;
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<WebSocket>();

  constructor(options: PageSocketsOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      ...{ noServer: true, perMessageDeflate: false, maxPayload: options.maxMessageBytes },
      handleProtocols: (protocols) => (protocols.has(STREAM_PROTOCOL) ? STREAM_PROTOCOL : false),
    });
  }

  /** Upgrades a request and serves it, or refuses it where there are too many. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, path: AgentPath): void {
    const { maxSockets, refusal, serve } = this.#options;
    this.#server.handleUpgrade(request, socket, head, (page) => {
      // Before it may be refused: a message that is too large is an error after the close, too.
      page.on('error', () => page.terminate());
      if (this.#sockets.size >= maxSockets) {
        page.close(CloseCode.tryAgain, refusal);
        return;
      }
      this.#sockets.add(page);
      page.once('close', () => this.#sockets.delete(page));
      void serve(page, path);
    });
  }

  /** Ends all of them. */
  close(): void {
    for (const page of this.#sockets) {
      page.close(CloseCode.goingAway);
      page.terminate();
    }
  }
}

/** Says to the page why there is nothing, with the status of the agent's answer. */
export function closePage(page: WebSocket, error: unknown): void {
  const { code } = error as { readonly code?: unknown };
  const status = typeof code === 'number' && code >= 400 && code < 600 ? code : 502;
  page.close(REFUSED + status, cutReason(messageOf(error)));
}

/** Resolves once the page has taken enough for the next piece. */
export async function sendPiece(page: WebSocket, piece: Buffer, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    const done = (error?: Error | null): void => {
      signal.removeEventListener('abort', onAbort);
      if (error) reject(error);
      else resolve();
    };
    const isFull = page.bufferedAmount + piece.length > MAX_WAITING_BYTES;
    page.send(piece, { binary: true }, isFull ? done : undefined);
    if (!isFull) done();
  });
}

/** As much of it as the close of a WebSocket can carry. */
export function cutReason(message: string): string {
  let reason = message;
  while (Buffer.byteLength(reason) > MAX_REASON) reason = reason.slice(0, -1);
  return reason;
}
