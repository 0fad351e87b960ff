import {
  type CallControl,
  type CallHandler,
  type CallHeaders,
  findHeader,
  type GrpcMessage,
  type SideName,
} from '../relay/index.js';
import { type Clock } from '#base/time/clock.js';
import { type RecordedMethod } from './recorded-method.js';
import { type Recorder } from './recorder.js';

/** What a {@link CallRecorder} needs. */
export interface CallRecorderOptions {
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly call: CallControl;
  readonly method: RecordedMethod;
  /** The header `grpc-timeout`. */
  readonly timeout: string | undefined;
}

/** Tells the recorder of one call what passes; it changes nothing. */
export class CallRecorder implements CallHandler {
  readonly #options: CallRecorderOptions;
  readonly #beganMs: number;
  #number: number | undefined;
  #hasBegun = false;
  #hasEnded = false;

  constructor(options: CallRecorderOptions) {
    this.#options = options;
    this.#beganMs = options.clock.monotonicMs();
  }

  onHeaders(side: SideName, { fields, endStream }: CallHeaders): void {
    if (side === 'request' || !endStream) return;
    const text = findHeader(fields, 'grpc-status');
    const message = decodeStatusMessage(findHeader(fields, 'grpc-message') ?? '');
    if (text === undefined) this.#end({ by: 'runtime' });
    else this.#end({ code: parseStatus(text), ...(message === '' ? {} : { message }) });
  }

  onMessage(side: SideName, message: GrpcMessage): void {
    if (side === 'request') {
      this.#begin(message);
      return;
    }
    const { recorder, clock, method } = this.#options;
    this.#begin(undefined);
    if (this.#number !== undefined) recorder.message(this.#number, method, clock.monotonicMs(), message);
  }

  onEnd(side: SideName): void {
    if (side === 'request') this.#begin(undefined);
    else this.#end({ by: 'runtime' });
  }

  onReset(by: 'client' | 'server'): void {
    this.#end({ by: by === 'client' ? 'client' : 'runtime' });
  }

  onClosed(): void {
    this.#end({ by: 'connection' });
  }

  /** Of calls of CRI a request is one message; a call that ends without one has begun all the same. */
  #begin(request: GrpcMessage | undefined): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { recorder, call, method, timeout } = this.#options;
    this.#number = recorder.begin({
      ...{ method, atMs: this.#beganMs, connection: call.connectionId, timeout, request },
    });
  }

  #end(how: Parameters<Recorder['end']>[3]): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#begin(undefined);
    const { recorder, clock, method } = this.#options;
    if (this.#number !== undefined) recorder.end(this.#number, method, clock.monotonicMs(), how);
  }
}

/** A status that is no number is UNKNOWN, as for every client of gRPC. */
function parseStatus(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : UNKNOWN;
}

const UNKNOWN = 2;

/** The text of the header grpc-message, which is percent-encoded; as it stands when it is not. */
function decodeStatusMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
