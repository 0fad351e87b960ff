import { type GrpcMessage } from './grpc-message.js';
import { type HeaderField } from './hpack/header-field.js';

/** The two directions of a call, by who speaks. */
export type SideName = 'request' | 'response';

/**
 * What the relay does with one side of a call.
 *
 * `pass`: the bytes go on and nothing is looked at. `tap`: the bytes go on as they came, and the handler is told what
 * they say. `scan`: likewise, but the handler is given the bytes of the messages as they come, and no messages: for
 * large ones of which nothing is to be kept. `take`: the bytes end here, and only what the handler sends goes on.
 */
export type SideMode = 'pass' | 'tap' | 'scan' | 'take';

/** The headers or the trailers of one side of a call. */
export interface CallHeaders {
  readonly fields: readonly HeaderField[];
  /** Nothing comes after them: they are trailers, or an answer that has no more than these. */
  readonly endStream: boolean;
}

/** Fields to send: as read from the wire, or as pairs of name and value. */
export type FieldsToSend = readonly (HeaderField | readonly [name: string, value: string])[];

/** One side of a call, for its handler. To send is for sides that are taken; behind the end it does nothing. */
export interface CallSideControl {
  /** Sends headers or trailers on: as the bytes they came as, if this is where they stand in the order of things. */
  forwardHeaders(headers: CallHeaders): void;
  sendHeaders(fields: FieldsToSend, endStream: boolean): void;
  send(message: GrpcMessage): void;
  /** Says that nothing follows; does nothing when that has been said. */
  end(): void;
}

/** A call that passes the relay, for its handler. */
export interface CallControl {
  readonly path: string;
  /** Counts up within one relay. */
  readonly connectionId: number;
  readonly request: CallSideControl;
  readonly response: CallSideControl;
  /** Whether its end has been sent to the client, or nobody waits for it any more. */
  readonly isClosed: boolean;
  /**
   * Lets an answer that was to be taken go on by itself after all. Only before any of it has come: returns false, and
   * changes nothing, when it is too late.
   */
  releaseResponse(mode: Exclude<SideMode, 'take'>): boolean;
  /**
   * Ends the call for its client with a gRPC status, and gives it up towards the server. Of a request that was held
   * back the server has seen the headers only, and then its end: without a message it does nothing. A server that has
   * got the message is told by a reset; with `letServerFinish` not even that, for calls that end by themselves soon.
   */
  fail(code: number, message: string, options?: { readonly letServerFinish?: boolean }): void;
  /** Runs an action once the bytes being handled have gone on; only what comes next waits for it. */
  afterForwarding(act: () => void): void;
  /** Breaks the connection, with everything else that is on it. */
  breakConnection(): void;
}

/** A call that begins. */
export interface CallStart {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly fields: readonly HeaderField[];
}

/** Reads a call, or changes it. Called in the order of the wire, never after `onClosed`. */
export interface CallHandler {
  /** Of the request only what comes after the headers that begin it, which have gone on already. */
  onHeaders(side: SideName, headers: CallHeaders): void;
  /** A message is complete. With `tap` it has gone on, perhaps in part only. */
  onMessage(side: SideName, message: GrpcMessage): void;
  /** With `scan`: the next bytes of its messages, with their prefixes, valid until what is done {@link CallControl.afterForwarding}. */
  onBytes?(side: SideName, bytes: Buffer): void;
  /** That side says no more. */
  onEnd(side: SideName): void;
  /** One end reset the call; the relay resets the other. `code` is an error code of HTTP/2. */
  onReset(by: 'client' | 'server', code: number): void;
  /** The call is over, in whichever way; the last that is heard of it. */
  onClosed(): void;
}

/** What is to become of a call. */
export interface CallPlan {
  readonly request: SideMode;
  readonly response: SideMode;
  /** Called once, at once. */
  readonly createHandler: (call: CallControl) => CallHandler;
}

/** Asked about each call as its headers pass. Without a plan the relay passes the call on unread. */
export type CallInterceptor = (start: CallStart) => CallPlan | undefined;
