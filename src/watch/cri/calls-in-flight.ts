import { type Channels } from '#base/channels/publishing-channel.js';
import { type CriCall, type CriCallPod, criCallEnded, criCallStarted } from '#base/channels/channels.js';
import { type Clock } from '#base/time/clock.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';

import { type CallGroup } from './call-group.js';
import { deadlineExceeded, type FailedCall, toPodloopError } from './cri-errors.js';
import { type CallSubject } from './methods.js';

/** How a call starts. */
export interface CallStart {
  readonly method: string;
  readonly operation: string;
  readonly streaming: boolean;
  readonly subject: CallSubject;
  /** Given by the caller; takes precedence over what the request contains. */
  readonly pod: CriCallPod | undefined;
  readonly containerId: string | undefined;
  readonly deadlineMs: number | undefined;
  readonly ownMs: number;
  readonly signal: AbortSignal | undefined;
  readonly group: CallGroup | undefined;
}

/** What is known about the answer when a call ends. */
export interface AnswerFacts {
  unknownFields: number;
  responseBytes: number;
}

/** The unanswered calls of one client. Publishes each call when it starts and when it ends. */
export class CallsInFlight {
  readonly #clock: Clock;
  readonly #channels: Channels;
  readonly #calls = new Set<CriCall>();
  #lastId = 0;

  constructor(options: { readonly clock: Clock; readonly channels: Channels }) {
    this.#clock = options.clock;
    this.#channels = options.channels;
  }

  /** Oldest first. */
  list(): readonly CriCall[] {
    return [...this.#calls];
  }

  /**
   * Runs one call: `send` starts it and returns its answer and a function that cancels it.
   *
   * Rejects at once with the reason of the signal or group when either aborts, with CRI_DEADLINE_EXCEEDED
   * when the deadline passes, and with the answer's own failure as a PodloopError.
   */
  async run<T>(
    start: CallStart,
    send: (facts: AnswerFacts, failed: FailedCall) => { readonly answer: Promise<T>; cancel(): void },
  ): Promise<T> {
    const { signal, group } = start;
    signal?.throwIfAborted();
    group?.throwIfGivenUp();
    const call = this.#begin(start);
    const failed = { operation: call.operation, subject: describe(call, start.subject) };
    const facts: AnswerFacts = { unknownFields: 0, responseBytes: 0 };
    try {
      const sent = send(facts, failed);
      const result = await this.#settle(sent, call, failed, start);
      this.#end(call, 'ok', facts);
      return result;
    } catch (error) {
      const givenUp = signal?.aborted === true && error === signal.reason;
      if (givenUp || group?.wasGivenUpFor(error) === true) {
        this.#end(call, 'aborted', facts);
        throw error;
      }
      const podloopError = toPodloopError(error, failed);
      this.#end(call, podloopError.code, facts, podloopError.message);
      throw podloopError;
    }
  }

  #settle<T>(
    sent: { readonly answer: Promise<T>; cancel(): void },
    call: CriCall,
    failed: FailedCall,
    { signal, group }: CallStart,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { deadlineMs } = call;
      const deadline =
        deadlineMs === undefined
          ? undefined
          : startFairDeadline({
              clock: this.#clock,
              deadlineMs,
              onExpired: () => {
                reject(deadlineExceeded(failed, deadlineMs));
                sent.cancel();
              },
            });
      const giveUp = (reason: unknown): void => {
        // A caller's abort reason is passed on as it is, whether or not it is an Error.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(reason);
        sent.cancel();
      };
      const onAbort = (): void => giveUp(signal!.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      group?.join(giveUp);
      const done = (): void => {
        deadline?.cancel();
        signal?.removeEventListener('abort', onAbort);
        group?.leave(giveUp);
      };
      sent.answer.then(
        (result) => {
          done();
          resolve(result);
        },
        (error: unknown) => {
          done();
          // Rejects with the original value; run() converts it.
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors
          reject(error);
        },
      );
    });
  }

  #begin(start: CallStart): CriCall {
    const { subject } = start;
    const call: CriCall = {
      id: ++this.#lastId,
      method: start.method,
      operation: start.operation,
      pod: start.pod ?? subject.pod,
      containerId: start.containerId ?? subject.containerId,
      sandboxId: subject.sandboxId,
      startedAtMonotonicMs: this.#clock.monotonicMs(),
      startedAtMs: this.#clock.now(),
      deadlineMs: start.deadlineMs,
      ...(start.ownMs === 0 ? {} : { ownMs: start.ownMs }),
      streaming: start.streaming,
      ...(subject.filtered === true && { filtered: true }),
    };
    this.#calls.add(call);
    this.#channels.publish(criCallStarted, call);
    return call;
  }

  #end(call: CriCall, outcome: string, facts: AnswerFacts, error?: string): void {
    this.#calls.delete(call);
    if (!this.#channels.isHeard(criCallEnded)) return;
    const durationMs = this.#clock.monotonicMs() - call.startedAtMonotonicMs;
    this.#channels.publish(criCallEnded, {
      call,
      durationMs,
      outcome,
      ...facts,
      ...(error === undefined ? {} : { error }),
    });
  }
}

function describe(call: CriCall, subject: CallSubject): string {
  let text = '';
  if (call.containerId !== undefined) text = `container ${inShort(call.containerId)}`;
  else if (call.sandboxId !== undefined) text = `sandbox ${inShort(call.sandboxId)}`;
  else if (subject.image !== undefined) text = `image ${inShort(subject.image)}`;
  if (call.pod === undefined) return text;
  const { uid, namespace, name } = call.pod;
  const pod = name === '' ? `pod ${uid}` : `pod ${namespace === '' ? name : `${namespace}/${name}`}`;
  return text === '' ? pod : `${text} of ${pod}`;
}

/**
 * Shortens a long word: ids have 64 characters, image references rarely 200, and nobody reads anything
 * longer.
 */
function inShort(word: string): string {
  return word.length <= 256 ? word : `${word.slice(0, 64)}… (${word.length} characters)`;
}
