import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { messageOf } from '#base/errors/errors.js';
import { type AgentClient } from '../api/agent-client.js';
import { type AgentPath } from './agent-paths.js';
import { STREAM_PROTOCOL } from './page-access.js';

/** Streams of all pages together; the agent has limits of its own. */
const MAX_STREAMS = 48;
/** A page that reads slowly gets the next piece when it has most of the ones before. */
const MAX_WAITING_BYTES = 1 << 20;
/** The largest message of a page, which has nothing to say. */
const MAX_MESSAGE_BYTES = 1_024;
const GOING_AWAY = 1001;
const TRY_AGAIN = 1013;
const NORMAL = 1000;
/** Codes of our own from here on: the status of the agent's answer is added. */
const REFUSED = 4000;
/** What a reason of a close may have, in bytes. */
const MAX_REASON = 120;

/**
 * What the agent sends without an end, handed on to the page as it comes: history, changes of pods, followed logs.
 *
 * It is a WebSocket, because a browser opens no more than six other connections to a server, for all pages together.
 */
export class PageStreams {
  readonly #client: AgentClient;
  readonly #server = new WebSocketServer({
    ...{ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES },
    handleProtocols: (protocols) => (protocols.has(STREAM_PROTOCOL) ? STREAM_PROTOCOL : false),
  });
  readonly #sockets = new Set<WebSocket>();

  constructor(client: AgentClient) {
    this.#client = client;
  }

  /** Hands on what the agent answers at a path until one of both ends it. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, path: AgentPath): void {
    this.#server.handleUpgrade(request, socket, head, (page) => {
      // Before it may be refused: a message that is too large is an error after the close, too.
      page.on('error', () => page.terminate());
      if (this.#sockets.size >= MAX_STREAMS) {
        page.close(TRY_AGAIN, 'too many streams; close other pages');
        return;
      }
      this.#sockets.add(page);
      page.once('close', () => this.#sockets.delete(page));
      void this.#forward(page, path);
    });
  }

  /** Ends all of them. */
  close(): void {
    for (const page of this.#sockets) {
      page.close(GOING_AWAY);
      page.terminate();
    }
  }

  async #forward(page: WebSocket, { path, query }: AgentPath): Promise<void> {
    const ending = new AbortController();
    page.once('close', () => ending.abort());
    const signal = AbortSignal.any([ending.signal, this.#client.signal]);
    try {
      const answer = await this.#client.open('GET', path, { query, signal, limitMs: 60_000 });
      try {
        for await (const piece of this.#client.read(answer)) await sendPiece(page, piece, signal);
      } finally {
        answer.destroy();
      }
      page.close(NORMAL);
    } catch (error) {
      if (!ending.signal.aborted) closePage(page, error);
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
