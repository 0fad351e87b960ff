import { type RecordedMethod } from '../recorded-method.js';
import { type EndFrame } from '../recording-format.js';

/** A message of an answer: when it came, and its number in the file. */
export interface RecordedMessage {
  readonly at: number;
  readonly blob: number;
}

/** A call as it was recorded. Times are in microseconds since the recording began. */
export interface RecordedCall {
  readonly number: number;
  readonly method: RecordedMethod;
  readonly at: number;
  /** Of the blob that is the request; undefined when it could not be read. */
  readonly request: number | undefined;
  /** Its answer: one message, or those of a stream. */
  readonly messages: readonly RecordedMessage[];
  /** Whether they are all of the answer: some may have been lost, too large, or in the part before. */
  readonly isWhole: boolean;
  /** When it ended; undefined when it was open until the recording ended. */
  readonly endAt: number | undefined;
  /** gRPC's status, when there was one. */
  readonly code: number | undefined;
  readonly message: string;
  /** Who gave it up, when there was no status. */
  readonly by: 'client' | 'runtime' | 'connection' | undefined;
}

/** A call while a recording is read. There are millions of them: the one message of most is held without an array. */
export class TimelineCall implements RecordedCall {
  readonly number: number;
  readonly method: RecordedMethod;
  readonly at: number;
  readonly request: number | undefined;
  isWhole = true;
  endAt: number | undefined;
  code: number | undefined;
  message = '';
  by: RecordedCall['by'];
  /** Of the first message. */
  #at = 0;
  #blob = -1;
  /** Of the others: time and number, one behind the other. */
  #others: number[] | undefined;

  constructor(number: number, method: RecordedMethod, at: number, request: number | undefined) {
    this.number = number;
    this.method = method;
    this.at = at;
    this.request = request;
  }

  get messages(): readonly RecordedMessage[] {
    if (this.#blob < 0) return [];
    const messages = [{ at: this.#at, blob: this.#blob }];
    const others = this.#others ?? [];
    for (let i = 0; i < others.length; i += 2) messages.push({ at: others[i]!, blob: others[i + 1]! });
    return messages;
  }

  /** A message of its answer came. */
  take(at: number, blob: number): void {
    if (this.#blob >= 0) (this.#others ??= []).push(at, blob);
    else [this.#at, this.#blob] = [at, blob];
  }

  end({ at, code, message, by, missing }: Omit<EndFrame, 'call'>): void {
    this.endAt = at;
    this.code = code;
    this.message = message ?? '';
    this.by = by;
    // What is answered with success has a message, but for streams of nothing.
    const isEmpty = this.#blob < 0 && !this.method.streams;
    if (missing !== undefined || (code === 0 && isEmpty)) this.isWhole = false;
  }
}
