import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';
import { type WebSocket } from 'ws';
import { type AgentClient } from '../api/agent-client.js';
import { type AgentPath } from './agent-paths.js';
import { CloseCode, closePage, PageSockets, sendPiece } from './page-sockets.js';

/** Streams of all pages together; the agent has limits of its own. */
const MAX_STREAMS = 48;
/** The largest message of a page, which has nothing to say. */
const MAX_MESSAGE_BYTES = 1_024;

/**
 * What the agent sends without an end, handed on to the page as it comes: history, changes of pods, followed logs.
 *
 * It is a WebSocket, because a browser opens no more than six other connections to a server, for all pages together.
 */
export class PageStreams {
  readonly #client: AgentClient;
  readonly #sockets = new PageSockets({
    ...{ maxSockets: MAX_STREAMS, maxMessageBytes: MAX_MESSAGE_BYTES },
    refusal: 'too many streams; close other pages',
    serve: async (page, path) => this.#forward(page, path),
  });

  constructor(client: AgentClient) {
    this.#client = client;
  }

  /** Hands on what the agent answers at a path until one of both ends it. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, path: AgentPath): void {
    this.#sockets.accept(request, socket, head, path);
  }

  /** Ends all of them. */
  close(): void {
    this.#sockets.close();
  }

  async #forward(page: WebSocket, { path, query }: AgentPath): Promise<void> {
    const ending = new AbortController();
    page.once('close', () => ending.abort());
    const signal = AbortSignal.any([ending.signal, this.#client.signal]);
    try {
      const answer = await this.#client.open('GET', path, { query, signal, limitMs: 60_000 });
      try {
        // The agent has answered, although it may have nothing to say yet.
        page.send(Buffer.alloc(0));
        for await (const piece of this.#client.read(answer)) await sendPiece(page, piece, signal);
      } finally {
        answer.destroy();
      }
      page.close(CloseCode.normal);
    } catch (error) {
      if (!ending.signal.aborted) closePage(page, error);
    }
  }
}
