import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Duplex } from 'node:stream';
import { type PageAnswer } from './answer.js';

/** A request of a page that has a session. */
export interface PageRequest {
  readonly method: string;
  readonly url: URL;
  /** For an answer that is sent piece by piece. */
  readonly response: ServerResponse;
  /** Aborts when the browser has gone. */
  readonly signal: AbortSignal;
}

/** What the page has to know before it shows anything. */
export interface PageFacts {
  /** Whether pods may be stopped, started and restarted on it, and terminals opened in them. */
  readonly canWrite: boolean;
  /** Whether it shows a recording, at `/records`, and no agent. */
  readonly isRecorded: boolean;
  /** The name of this machine, if the agent is on it: an observer does not say which node it watches. */
  readonly machine?: string | undefined;
}

/** What a page shows: everything behind its session. */
export interface PageContent {
  readonly facts: PageFacts;
  /** The answer to a request; undefined once it has answered by itself, or if there is no such path. */
  answer(request: PageRequest): Promise<PageAnswer | undefined>;
  /** Answers with a WebSocket; false for a path that has none. */
  upgrade?(url: URL, request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Ends all WebSockets. */
  close?(): void;
}
