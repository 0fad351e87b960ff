/**
 * The newest calls of an observer and their answers, in memory: the flight recorder.
 *
 * In: every call that is sent. Out: the calls since a while ago, for the recording of an incident, and each new one to
 * whoever follows. It is bounded in bytes and in age. Answers that are the same count once, so that an idle node costs
 * next to nothing. Lists that differ in a few items take little more memory than one of them.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { type CallEnding } from '#proxy/record';
import { GrpcStatusError } from '#watch';
import { type CallTap, type SentCall } from '../runtime/reading-transport.js';
import { SharedBytes, type SharedMessage } from './shared-bytes.js';

/** A message of a {@link RingCall}. */
export interface RingMessage {
  readonly atMs: number;
  readonly content: Pick<SharedMessage, 'bytes' | 'length'>;
}

/** A call of the ring. Times are monotonic milliseconds. */
export interface RingCall {
  readonly path: string;
  readonly beganMs: number;
  readonly request: RingMessage['content'];
  readonly messages: readonly RingMessage[];
  /** Absent while it is not answered. */
  readonly end?: { readonly atMs: number; readonly how: CallEnding };
}

/** Hears of what happens to calls, each time with the whole call. */
export type RingListener = (call: RingCall, what: 'began' | 'message' | 'ended') => void;

/** How much of the past a {@link CallRing} has. */
export interface CallRingOptions {
  readonly clock: Clock;
  /** For what the calls are, and for what they take in memory. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

interface StoredCall extends RingCall {
  readonly request: SharedMessage;
  readonly messages: { readonly atMs: number; readonly content: SharedMessage }[];
  end?: NonNullable<RingCall['end']>;
}

/** Roughly what a call takes beside its bytes. */
const CALL_BYTES = 300;
/** gRPC's code. */
const CANCELLED = 1;
const SUCCESS: CallEnding = { code: 0 };

/** See the module. */
export class CallRing implements CallTap {
  readonly #options: CallRingOptions;
  /** In the order of their begin. */
  readonly #calls = new Set<StoredCall>();
  readonly #contents = new SharedBytes();
  readonly #listeners = new Set<RingListener>();
  /** Of the calls beside their messages, and of their different messages. */
  #callBytes = 0;
  #contentBytes = 0;

  constructor(options: CallRingOptions) {
    this.#options = options;
  }

  /** What the calls are, with each different message once: nearly what a recording of them has. */
  get bytes(): number {
    return this.#callBytes + this.#contentBytes;
  }

  /** What the calls take in memory, nearly. */
  get memoryBytes(): number {
    return this.#callBytes + this.#contents.memoryBytes;
  }

  /** All calls, the oldest first. */
  get calls(): readonly RingCall[] {
    return [...this.#calls];
  }

  /** Calls `listener` from now on until the returned function is called. */
  follow(listener: RingListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  sent(path: string, request: Uint8Array): SentCall {
    const { clock } = this.#options;
    const beganMs = clock.monotonicMs();
    const call: StoredCall = { path, beganMs, messages: [], request: this.#store(request) };
    this.#calls.add(call);
    this.#callBytes += CALL_BYTES;
    this.#publish(call, 'began');
    return {
      message: (bytes) => {
        const content = this.#store(bytes);
        call.messages.push({ atMs: clock.monotonicMs(), content });
        // A call that has left the ring while it hung goes on for its followers alone.
        if (!this.#calls.has(call)) this.#release(content);
        this.#publish(call, 'message');
        this.#shrink();
      },
      ended: (error) => {
        call.end = { atMs: clock.monotonicMs(), how: toEnding(error) };
        if (this.#calls.has(call)) this.#callBytes += textBytesOf(call);
        this.#publish(call, 'ended');
        this.#shrink();
      },
    };
  }

  #store(bytes: Uint8Array): SharedMessage {
    const content = this.#contents.store(bytes);
    if (content.uses === 1) this.#contentBytes += content.length;
    return content;
  }

  #release(content: SharedMessage): void {
    this.#contents.release(content);
    if (content.uses === 0) this.#contentBytes -= content.length;
  }

  #shrink(): void {
    const { clock, maxBytes, maxAgeMs } = this.#options;
    const oldestMs = clock.monotonicMs() - maxAgeMs;
    for (const call of this.#calls) {
      if (Math.max(this.bytes, this.memoryBytes) <= maxBytes && call.beganMs >= oldestMs) return;
      this.#calls.delete(call);
      this.#callBytes -= CALL_BYTES + textBytesOf(call);
      this.#release(call.request);
      for (const { content } of call.messages) this.#release(content);
    }
  }

  #publish(call: RingCall, what: Parameters<RingListener>[1]): void {
    for (const listener of this.#listeners) listener(call, what);
  }
}

/** Never the error itself: its stack holds on to the whole call, buffers included. */
function toEnding(error: unknown): CallEnding {
  if (error === undefined) return SUCCESS;
  if (!(error instanceof GrpcStatusError) || error.status === CANCELLED) return { by: 'client' };
  return { code: error.status, message: error.details };
}

function textBytesOf({ end }: RingCall): number {
  return end !== undefined && 'code' in end.how ? (end.how.message?.length ?? 0) : 0;
}
