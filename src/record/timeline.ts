import { PodloopError } from '../util/errors.js';
import { type RecordedFrame } from './recorded-frame.js';
import { type RecordedMethod } from './recorded-method.js';
import { type CloseFrame, type MetaFrame } from './recording-format.js';
import { type RecordingFile } from './recording-file.js';

/** A call as it was recorded. Times are in microseconds since the recording began. */
export interface RecordedCall {
  readonly number: number;
  readonly method: RecordedMethod;
  readonly at: number;
  /** Of the blob that is the request; undefined when it could not be read. */
  readonly request: number | undefined;
  /** Its answer: one message, or those of a stream. */
  readonly messages: readonly { readonly at: number; readonly blob: number }[];
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

/** More calls are not held in memory. */
const MOST_CALLS = 2_000_000;
/** Whoever gives a call up sooner, or ends the recording, says nothing about the runtime. */
const SHORTEST_HANG_US = 1_000_000;

type OpenCall = { -readonly [Name in keyof RecordedCall]: RecordedCall[Name] } & {
  readonly messages: { at: number; blob: number }[];
};

/** All calls of a recording, by the times at which they began. */
export class Timeline {
  readonly meta: MetaFrame;
  readonly calls: readonly RecordedCall[];
  /** When the recording ended, in microseconds since it began. */
  readonly endAt: number;
  /** What the last frame says; undefined when the recording was cut off. */
  readonly close: CloseFrame | undefined;
  /** Calls and messages that the recorder could not write. */
  readonly lost: number;

  private constructor(parts: Pick<Timeline, 'meta' | 'calls' | 'endAt' | 'close' | 'lost'>) {
    this.meta = parts.meta;
    this.calls = parts.calls;
    this.endAt = parts.endAt;
    this.close = parts.close;
    this.lost = parts.lost;
  }

  /** Reads all of it once. Rejects with RECORDING_INVALID. */
  static async read(file: RecordingFile, signal?: AbortSignal): Promise<Timeline> {
    const reading = new TimelineReader(file.path);
    for await (const frames of file.readFrames(signal)) for (const frame of frames) reading.take(frame);
    return new Timeline(reading.finish());
  }

  /** Whether the call hung: nobody answered it for as long as somebody waited. */
  hung(call: RecordedCall): boolean {
    if (call.method.name === 'GetContainerEvents') return false;
    const isOpen = call.endAt === undefined || call.by === 'client' || call.by === 'connection';
    return isOpen && call.code === undefined && (call.endAt ?? this.endAt) - call.at >= SHORTEST_HANG_US;
  }
}

class TimelineReader {
  readonly #path: string;
  readonly #calls: OpenCall[] = [];
  readonly #open = new Map<number, OpenCall>();
  #meta: MetaFrame | undefined;
  #close: CloseFrame | undefined;
  #endAt = 0;
  #lost = 0;
  #lastCall = 0;

  constructor(path: string) {
    this.#path = path;
  }

  take(frame: RecordedFrame): void {
    // One that was full was closed whenever: what came after the last that fitted is not known.
    const tellsTime = 'at' in frame && !(frame.kind === 'close' && frame.reason === 'full');
    if (tellsTime) this.#endAt = Math.max(this.#endAt, frame.at);
    switch (frame.kind) {
      case 'meta':
        this.#meta ??= frame;
        break;
      case 'begin':
        this.#begin(frame);
        break;
      case 'message': {
        const { at, blob } = frame;
        const call = this.#open.get(frame.call);
        if (call === undefined) break;
        if (blob === undefined) call.isWhole = false;
        else call.messages.push({ at, blob });
        break;
      }
      case 'end': {
        const call = this.#open.get(frame.call);
        if (call === undefined) break;
        this.#open.delete(frame.call);
        call.endAt = frame.at;
        call.code = frame.code;
        call.message = frame.message ?? '';
        call.by = frame.by;
        // What is answered with success has a message, but for streams of nothing.
        const isEmpty = call.messages.length === 0 && !call.method.streams;
        if (frame.missing !== undefined || (frame.code === 0 && isEmpty)) call.isWhole = false;
        break;
      }
      case 'lost':
        this.#lost += frame.calls + frame.messages;
        break;
      case 'close':
        this.#close = frame;
        break;
      case 'blob':
        break;
    }
  }

  finish(): Pick<Timeline, 'meta' | 'calls' | 'endAt' | 'close' | 'lost'> {
    if (this.#meta === undefined) throw this.#invalid('ends before it says what was recorded');
    const calls = this.#calls.sort((one, other) => one.at - other.at);
    return { meta: this.#meta, calls, endAt: this.#endAt, close: this.#close, lost: this.#lost };
  }

  #begin({ call: number, known, at, request }: RecordedFrame & { kind: 'begin' }): void {
    // A method of a newer CRI: there is nobody who could ask for it.
    if (known === undefined) return;
    if (number <= this.#lastCall && this.#open.has(number))
      throw this.#invalid(`begins call ${number} twice`);
    if (this.#calls.length >= MOST_CALLS) throw this.#invalid(`has more than ${MOST_CALLS} calls`);
    this.#lastCall = number;
    const call: OpenCall = {
      ...{ number, method: known, at, request, messages: [], isWhole: true, endAt: undefined },
      ...{ code: undefined, message: '', by: undefined },
    };
    this.#open.set(number, call);
    this.#calls.push(call);
  }

  #invalid(why: string): PodloopError {
    return new PodloopError('RECORDING_INVALID', `the recording ${this.#path} ${why}`);
  }
}
