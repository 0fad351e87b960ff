import {
  type CallControl,
  type CallHandler,
  type CallHeaders,
  type CallPlan,
  type SideMode,
  type SideName,
} from './call-handler.js';
import { CallSide, type SideCarrier } from './call-side.js';
import { Http2Error } from './frame-format.js';
import { ANSWER_HEADERS, GRPC_RESOURCE_EXHAUSTED, toTrailers } from './grpc-status.js';
import { GrpcMessage } from './grpc-message.js';
import { type DirectionCall } from './direction-call.js';

/** What a {@link RelayedCall} is made of. */
export interface RelayedCallOptions {
  readonly path: string;
  readonly streamId: number;
  readonly connectionId: number;
  readonly requests: SideCarrier;
  readonly responses: SideCarrier;
  /** Breaks the connection that the call is on. */
  readonly breakConnection: () => void;
  /** Does something once what has just come went on. */
  readonly afterForwarding: (act: () => void) => void;
  /** No frame of it comes any more. */
  readonly onGone: () => void;
}

/**
 * A call that passes the relay, for a handler to read and to change.
 *
 * ```
 *            ┌─ request ──►            taken: what comes in goes to the handler, what goes out is what it sends
 *   client ──┤             ├── server
 *            └◄─ response ─            the first end of both: headers and trailers, the last of the response closes it
 * ```
 */
export class RelayedCall implements CallControl, DirectionCall {
  readonly path: string;
  readonly streamId: number;
  readonly connectionId: number;
  readonly request: CallSide;
  readonly response: CallSide;
  readonly #options: RelayedCallOptions;
  #handler: CallHandler | undefined;
  #failed = false;
  #closed = false;

  constructor(options: RelayedCallOptions) {
    const { path, streamId, connectionId, requests, responses } = options;
    this.#options = options;
    this.path = path;
    this.streamId = streamId;
    this.connectionId = connectionId;
    this.request = new CallSide(streamId, 'pass', requests.initialWindow, requests);
    this.response = new CallSide(streamId, 'pass', responses.initialWindow, responses);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  side(name: SideName): CallSide {
    return name === 'request' ? this.request : this.response;
  }

  releaseResponse(mode: Exclude<SideMode, 'take'>): boolean {
    const { response } = this;
    if (response.touched || response.queue.length > 0 || response.mode !== 'take')
      return response.mode === mode;
    response.mode = mode;
    this.#options.responses.returnRoom(response);
    return true;
  }

  fail(code: number, message: string, { letServerFinish = false } = {}): void {
    if (this.#failed || this.#closed) return;
    this.#failed = true;
    const { request, response } = this;
    const sendsAnswer = response.mode === 'take' || !response.headersSent;
    response.mode = 'discard';
    // Servers count resets, and cut a connection with many. Of a request without a message they make an error by
    // themselves, which is for nobody.
    if (!request.hasSentData) request.clear();
    if (!request.hasSentData || letServerFinish) request.end();
    else {
      request.clear();
      request.reset(Http2Error.CANCEL);
    }
    if (request.mode !== 'pass' || !request.sourceEnded) request.mode = 'discard';
    if (!sendsAnswer) {
      response.clear();
      response.reset(Http2Error.INTERNAL_ERROR);
      return;
    }
    const trailers = toTrailers(code, message);
    const started = response.headersSent || response.queue.length > 0;
    response.sendHeaders(started ? trailers : [...ANSWER_HEADERS, ...trailers], true);
    // A client that keeps sending gets a reset.
    if (!request.sourceEnded) response.reset(Http2Error.NO_ERROR);
  }

  breakConnection(): void {
    this.#options.breakConnection();
  }

  afterForwarding(act: () => void): void {
    this.#options.afterForwarding(act);
  }

  /** The two sides are treated as planned from now on. */
  begin(plan: CallPlan): void {
    this.request.mode = plan.request;
    this.response.mode = plan.response;
    this.#handler = plan.createHandler(this);
  }

  noteHeaders(name: SideName, headers: CallHeaders): void {
    if (!this.#closed) this.#handler?.onHeaders(name, headers);
  }

  noteBytes(name: SideName, payload: Buffer): void {
    const side = this.side(name);
    if (side.mode === 'scan') {
      if (!this.#closed) this.#handler?.onBytes?.(name, payload);
      return;
    }
    try {
      for (const message of side.assembler.push(payload)) {
        if (!this.#closed) this.#handler?.onMessage(name, message);
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      // Whoever only looks does without; whoever would have to hold it cannot.
      if (side.mode === 'tap') side.mode = 'pass';
      else this.fail(GRPC_RESOURCE_EXHAUSTED, `podloop: ${error.message}`);
    }
  }

  noteSourceEnded(name: SideName): void {
    const side = this.side(name);
    if (side.sourceEnded) return;
    side.sourceEnded = true;
    side.touched = true;
    if (side.mode === 'take' && side.assembler.isPartial && !this.#closed) {
      // Cut off; whoever gets it has to make sense of it.
      this.#handler?.onMessage(name, new GrpcMessage(side.assembler.clear()));
    }
    if (side.mode !== 'take' && side.mode !== 'discard') side.sinkEnded = true;
    if (!this.#closed && side.mode !== 'discard') this.#handler?.onEnd(name);
    this.noteSinkEnded(name);
  }

  noteSinkEnded(name: SideName): void {
    const { request, response } = this;
    if (name === 'response' && response.sinkEnded) {
      // The server has spoken its last word: what the client still says changes nothing.
      if (request.mode === 'take' && request.queue.length === 0 && !request.sourceEnded)
        request.mode = 'discard';
      this.#close();
    }
    if (request.sourceEnded && response.sourceEnded && response.sinkEnded && response.queue.length === 0) {
      this.#leave();
    }
  }

  /** One end resets the stream; returns whether the other is to hear of it. */
  noteReset(name: SideName, code: number): boolean {
    const { request, response } = this;
    if (this.#failed) {
      this.side(name).sourceEnded = true;
      if (request.sourceEnded && response.sourceEnded) this.#leave();
      return false;
    }
    const afterAnswer = name === 'response' && response.sourceEnded && code === Http2Error.NO_ERROR;
    if (afterAnswer && !response.sinkEnded) {
      // It stands behind an answer that is still on its way.
      if (!request.sourceEnded) response.reset(code);
      return false;
    }
    if (!this.#closed) this.#handler?.onReset(name === 'request' ? 'client' : 'server', code);
    this.#close();
    this.#leave();
    return true;
  }

  /** The connection is gone. */
  abandon(): void {
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#handler?.onClosed();
  }

  #leave(): void {
    for (const name of ['request', 'response'] as const) {
      const side = this.side(name);
      side.clear();
      (name === 'request' ? this.#options.requests : this.#options.responses).drop(side);
    }
    this.#options.onGone();
  }
}
