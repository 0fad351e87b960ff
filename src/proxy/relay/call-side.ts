import { type CallHeaders, type CallSideControl, type FieldsToSend, type SideMode } from './call-handler.js';
import { type GrpcMessage } from './grpc-message.js';
import { MessageAssembler } from './message-assembler.js';

/** What waits to be sent on one side of a call. */
export type Outgoing =
  | { readonly kind: 'headers'; readonly fields: FieldsToSend; readonly endStream: boolean }
  | { readonly kind: 'data'; bytes: Buffer }
  | { readonly kind: 'end' }
  | { readonly kind: 'reset'; readonly code: number };

/** What a side needs of the direction that it is part of. */
export interface SideCarrier {
  /** What the sink takes of a new stream, in bytes. */
  readonly initialWindow: number;
  /** Sends headers at once as the bytes they came as, when that is possible. */
  tryForwardRaw(headers: CallHeaders): boolean;
  /** Something was queued, or room was made. */
  pump(side: CallSide): void;
  /** Gives the source room that was withheld from it. */
  credit(side: CallSide): void;
  /** From now on source and sink settle this stream's window: sends the source what it is owed. */
  returnRoom(side: CallSide): void;
  /** Forgets a side that is over. */
  drop(side: CallSide): void;
}

/** While so much waits to be sent, the source gets no more room. */
const MAX_WAITING_BYTES = 2 ** 20;

/**
 * One direction of a call that somebody looks at.
 *
 * A side that is taken is the end of one flow of bytes and the begin of another: it gives the source room for what it
 * has taken in, and keeps to the room that the sink gives.
 */
export class CallSide implements CallSideControl {
  readonly streamId: number;
  readonly assembler = new MessageAssembler();
  readonly queue: Outgoing[] = [];
  /** `discard`: what still comes is dropped, since both ends know how the call ended. */
  mode: SideMode | 'discard';
  /** What the sink takes, in bytes of DATA of this stream. */
  window: number;
  /** Room that the sink gave for this stream while it was not passed on. */
  updatesKept = 0;
  /** Bytes taken in that the source has got no new room for. */
  creditDue = 0;
  sourceEnded = false;
  sinkEnded = false;
  headersSent = false;
  /** Whether the sink has got any of its messages. */
  hasSentData = false;
  /** Whether any frame of it has come. */
  touched = false;
  #queuedBytes = 0;
  /** Nothing but a reset may follow what has been sent or queued. */
  #isEnding = false;
  readonly #carrier: SideCarrier;

  constructor(streamId: number, mode: SideMode, window: number, carrier: SideCarrier) {
    this.streamId = streamId;
    this.mode = mode;
    this.window = window;
    this.#carrier = carrier;
  }

  /** Whether so little waits that more may come in. */
  get hasRoom(): boolean {
    return this.#queuedBytes < MAX_WAITING_BYTES;
  }

  forwardHeaders(headers: CallHeaders): void {
    if (!this.#isEnding && this.queue.length === 0 && this.#carrier.tryForwardRaw(headers)) {
      this.headersSent = true;
      if (headers.endStream) this.#isEnding = this.sinkEnded = true;
      return;
    }
    this.sendHeaders(headers.fields, headers.endStream);
  }

  sendHeaders(fields: FieldsToSend, endStream: boolean): void {
    if (this.#isEnding) return;
    this.#isEnding = endStream;
    this.#enqueue({ kind: 'headers', fields, endStream });
  }

  send(message: GrpcMessage): void {
    if (this.#isEnding) return;
    for (const bytes of message.pieces) {
      if (bytes.length === 0) continue;
      this.#queuedBytes += bytes.length;
      this.queue.push({ kind: 'data', bytes });
    }
    this.#carrier.pump(this);
  }

  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#enqueue({ kind: 'end' });
  }

  /** Gives the stream up, behind all that is queued. */
  reset(code: number): void {
    this.#isEnding = true;
    this.#enqueue({ kind: 'reset', code });
  }

  /** Drops what waits to be sent. */
  clear(): void {
    this.queue.length = 0;
    this.#queuedBytes = 0;
    this.assembler.clear();
  }

  /** So many queued bytes went out. */
  noteSent(bytes: number): void {
    this.hasSentData = true;
    this.window -= bytes;
    this.#queuedBytes -= bytes;
    if (this.creditDue > 0 && this.hasRoom) this.#carrier.credit(this);
  }

  #enqueue(item: Outgoing): void {
    this.queue.push(item);
    this.#carrier.pump(this);
  }
}
