import { type Readable } from 'node:stream';

/** A request as it goes out. */
export interface Outgoing {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | undefined;
}

/** An answer whose body is still to come. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** To be read to its end or destroyed; see {@link Answer.findBreak} at its end. */
  readonly body: Readable;
  /** Why an end of the body that came without an error is none: the connection broke. Undefined when it is whole. */
  readonly findBreak: () => Error | undefined;
}

/** What carries requests to one server; connections are made when they are needed, and kept. */
export interface Transport {
  /** Rejects with the signal's reason, {@link NotSentError}, or what broke. The signal ends the answer's body, too. */
  send(outgoing: Outgoing, signal: AbortSignal): Promise<Answer>;
  /** Breaks every connection and what goes on over it; the next request makes a new one. */
  drop(why: Error): void;
}

/** The server has certainly not begun with the request: it can be sent again whatever it does. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}
