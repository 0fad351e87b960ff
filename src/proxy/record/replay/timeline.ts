import { PodloopError } from '#base/errors/errors.js';
import { type RecordedFrame } from '../recorded-frame.js';
import { type RecordedCall, TimelineCall } from './timeline-call.js';
import {
  type CloseFrame,
  type MetaFrame,
  RECORDING_LIMITS,
  type RecordingLimits,
} from '../recording-format.js';
import { type RecordingFile } from '../recording-file.js';

export { type RecordedCall } from './timeline-call.js';

/** Whoever gives a call up sooner, or ends the recording, says nothing about the runtime. */
const SHORTEST_HANG_US = 1_000_000;

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
  /** Whether it ends before the file does, which holds more than is read: an older podloop wrote more. */
  readonly isShortened: boolean;

  private constructor(parts: TimelineParts) {
    this.meta = parts.meta;
    this.calls = parts.calls;
    this.endAt = parts.endAt;
    this.close = parts.close;
    this.lost = parts.lost;
    this.isShortened = parts.isShortened;
  }

  /** Reads all of it once. Rejects with RECORDING_INVALID. */
  static async read(file: RecordingFile, signal?: AbortSignal, most = RECORDING_LIMITS): Promise<Timeline> {
    const reading = new TimelineReader(file.path, most);
    for await (const frames of file.readFrames(signal)) {
      for (const frame of frames) reading.take(frame);
      if (reading.isFull) break;
    }
    return new Timeline(reading.finish());
  }

  /** Whether the call hung: nobody answered it for as long as somebody waited. */
  hung(call: RecordedCall): boolean {
    if (call.method.name === 'GetContainerEvents') return false;
    const isOpen = call.endAt === undefined || call.by === 'client' || call.by === 'connection';
    return isOpen && call.code === undefined && (call.endAt ?? this.endAt) - call.at >= SHORTEST_HANG_US;
  }
}

type TimelineParts = Pick<Timeline, 'meta' | 'calls' | 'endAt' | 'close' | 'lost' | 'isShortened'>;

/** The same error comes again and again, each time as a text of its own. */
const MAX_TEXTS = 1_000;

class TimelineReader {
  readonly #path: string;
  readonly #most: RecordingLimits;
  readonly #calls: TimelineCall[] = [];
  readonly #open = new Map<number, TimelineCall>();
  readonly #texts = new Map<string, string>();
  #messages = 0;
  #meta: MetaFrame | undefined;
  #close: CloseFrame | undefined;
  #endAt = 0;
  #lost = 0;
  #lastCall = 0;

  constructor(path: string, most: RecordingLimits) {
    this.#path = path;
    this.#most = most;
  }

  /** Whether there are more than may be: what it got behind them it did not take. */
  get isFull(): boolean {
    return this.#calls.length > this.#most.calls || this.#messages > this.#most.messages;
  }

  take(frame: RecordedFrame): void {
    if (this.isFull) return;
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
        else call.take(at, blob);
        this.#messages++;
        break;
      }
      case 'end': {
        const call = this.#open.get(frame.call);
        if (call === undefined) break;
        this.#open.delete(frame.call);
        call.end({ ...frame, message: this.#intern(frame.message ?? '') });
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

  finish(): TimelineParts {
    if (this.#meta === undefined) throw this.#invalid('ends before it says what was recorded');
    const calls = this.#calls.sort((one, other) => one.at - other.at);
    const [endAt, lost, isShortened] = [this.#endAt, this.#lost, this.isFull];
    return { meta: this.#meta, calls, endAt, close: this.#close, lost, isShortened };
  }

  #intern(text: string): string {
    const known = this.#texts.get(text);
    if (known === undefined && this.#texts.size < MAX_TEXTS) this.#texts.set(text, text);
    return known ?? text;
  }

  #begin({ call: number, known, at, request }: RecordedFrame & { kind: 'begin' }): void {
    // A method of a newer CRI, which no client can call here.
    if (known === undefined) return;
    if (number <= this.#lastCall && this.#open.has(number))
      throw this.#invalid(`begins call ${number} twice`);
    this.#lastCall = number;
    const call = new TimelineCall(number, known, at, request);
    this.#open.set(number, call);
    this.#calls.push(call);
  }

  #invalid(why: string): PodloopError {
    return new PodloopError('RECORDING_INVALID', `the recording ${this.#path} ${why}`);
  }
}
