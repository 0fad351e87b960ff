/**
 * The newest calls of an observer and their answers, in memory: the flight recorder.
 *
 * In: every call that is sent. Out: the calls since a while ago, for the recording of an incident, and each new one to
 * whoever follows. It is bounded in bytes and in age. An answer that is the same as the one before to the same
 * question is stored once, so that an idle node costs next to nothing.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { type CallTap, type SentCall } from '../runtime/reading-transport.js';

/** A call of the ring. Times are monotonic milliseconds. */
export interface RingCall {
  readonly path: string;
  readonly beganMs: number;
  readonly request: Buffer;
  readonly messages: readonly { readonly atMs: number; readonly bytes: Buffer }[];
  /** Absent while it is not answered; `error` undefined for a success. */
  readonly end?: { readonly atMs: number; readonly error: unknown };
}

/** Hears of what happens to calls, each time with the whole call. */
export type RingListener = (call: RingCall, what: 'began' | 'message' | 'ended') => void;

/** How much of the past a {@link CallRing} has. */
export interface CallRingOptions {
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

interface StoredCall extends RingCall {
  readonly messages: { readonly atMs: number; readonly bytes: Buffer }[];
  end?: { readonly atMs: number; readonly error: unknown };
}

/** Roughly what a call takes beside its bytes. */
const CALL_BYTES = 300;
/** Questions whose last answer is compared with the next. */
const MAX_QUESTIONS = 2_000;

/** See the module. */
export class CallRing implements CallTap {
  readonly #options: CallRingOptions;
  /** In the order of their begin. */
  readonly #calls = new Set<StoredCall>();
  /** By question: the messages of its last answer. */
  readonly #answers = new Map<string, readonly Buffer[]>();
  /** How many calls have each buffer. */
  readonly #uses = new Map<Buffer, number>();
  readonly #listeners = new Set<RingListener>();
  #bytes = 0;

  constructor(options: CallRingOptions) {
    this.#options = options;
  }

  /** What the calls take in memory, nearly. */
  get bytes(): number {
    return this.#bytes;
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
    const question = `${path} ${Buffer.from(request).toString('latin1')}`;
    const before = this.#answers.get(question) ?? [];
    const call: StoredCall = {
      ...{ path, beganMs: clock.monotonicMs(), messages: [] },
      request: this.#take(Buffer.from(request)),
    };
    this.#calls.add(call);
    this.#bytes += CALL_BYTES;
    this.#publish(call, 'began');
    return {
      message: (bytes) => {
        const same = before[call.messages.length];
        const stored = same?.equals(bytes) === true ? same : Buffer.from(bytes);
        // A call that has left the ring while it hung goes on for its followers alone.
        if (this.#calls.has(call)) this.#take(stored);
        call.messages.push({ atMs: clock.monotonicMs(), bytes: stored });
        this.#publish(call, 'message');
        this.#shrink();
      },
      ended: (error) => {
        call.end = { atMs: clock.monotonicMs(), error };
        if (error === undefined) this.#remember(question, call);
        this.#publish(call, 'ended');
        this.#shrink();
      },
    };
  }

  #remember(question: string, { messages }: StoredCall): void {
    this.#answers.delete(question);
    this.#answers.set(
      question,
      messages.map(({ bytes }) => bytes),
    );
    if (this.#answers.size > MAX_QUESTIONS) this.#answers.delete(this.#answers.keys().next().value!);
  }

  #take(bytes: Buffer): Buffer {
    const uses = this.#uses.get(bytes) ?? 0;
    this.#uses.set(bytes, uses + 1);
    if (uses === 0) this.#bytes += bytes.length;
    return bytes;
  }

  #release(bytes: Buffer): void {
    const uses = this.#uses.get(bytes) ?? 0;
    if (uses > 1) {
      this.#uses.set(bytes, uses - 1);
    } else if (this.#uses.delete(bytes)) {
      this.#bytes -= bytes.length;
    }
  }

  #shrink(): void {
    const { clock, maxBytes, maxAgeMs } = this.#options;
    const oldestMs = clock.monotonicMs() - maxAgeMs;
    for (const call of this.#calls) {
      if (this.#bytes <= maxBytes && call.beganMs >= oldestMs) return;
      this.#calls.delete(call);
      this.#bytes -= CALL_BYTES;
      this.#release(call.request);
      for (const { bytes } of call.messages) this.#release(bytes);
    }
  }

  #publish(call: RingCall, what: Parameters<RingListener>[1]): void {
    for (const listener of this.#listeners) listener(call, what);
  }
}
