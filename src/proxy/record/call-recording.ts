import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { GrpcMessage } from '../relay/index.js';
import { RECORDED_METHODS } from './recorded-method.js';
import { type RecordCounts, Recorder } from './recorder.js';
import { RecordingParts } from './recording-parts.js';
import { STRICT_RULES } from './redaction/redaction-rules.js';

/** How a {@link CallRecording} is made. */
export interface CallRecordingOptions {
  /** A new file; only its owner may read it. */
  readonly path: string;
  /** What it may have on the disk, in bytes. */
  readonly maxBytes: number;
  /** When its first call began, in milliseconds of the clock that does not jump. */
  readonly startMs: number;
  readonly upstream: string;
  /** The version of what records. */
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How a call ended: with gRPC's code and a message, or given up by its client. */
export type CallEnding = { readonly code: number; readonly message?: string } | { readonly by: 'client' };

/**
 * A recording of calls that somebody has made and kept, without a relay: those of a flight recorder.
 *
 * Times are those of the calls, which may be long over. It is redacted as strictly as any recording.
 */
export class CallRecording implements AsyncDisposable {
  readonly #recorder: Recorder;
  #ended: string | undefined;

  /** Rejects with OPTION_INVALID when the file cannot be made. */
  static async create(options: CallRecordingOptions): Promise<CallRecording> {
    const { path, maxBytes, startMs, upstream, version: podloop, clock } = options;
    const meta = { podloop, mode: 'observe', upstream, rules: STRICT_RULES } as const;
    const parts = await RecordingParts.create({
      ...{ path, replace: false, maxBytes, whenFull: 'stop', meta, clock, startMs },
    });
    return new CallRecording(options, parts);
  }

  private constructor({ clock, logger }: CallRecordingOptions, parts: RecordingParts) {
    const onEnded = (_reason: string, message: string): void => void (this.#ended = message);
    this.#recorder = new Recorder({ parts, rules: STRICT_RULES, clock, logger, onEnded });
  }

  get counts(): RecordCounts {
    return this.#recorder.counts;
  }

  /** Why nothing is written any more; undefined while it is. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** Returns the number of the call; undefined for one that is not recorded. */
  begin(path: string, atMs: number, request: Uint8Array): number | undefined {
    const method = RECORDED_METHODS.get(path);
    if (method === undefined) return undefined;
    const message = GrpcMessage.of(request);
    return this.#recorder.begin({ method, atMs, connection: 1, timeout: undefined, request: message });
  }

  message(call: number, path: string, atMs: number, bytes: Uint8Array): void {
    this.#recorder.message(call, RECORDED_METHODS.get(path)!, atMs, GrpcMessage.of(bytes));
  }

  end(call: number, path: string, atMs: number, ending: CallEnding): void {
    this.#recorder.end(call, RECORDED_METHODS.get(path)!, atMs, ending);
  }

  /** Resolves once all that has come by now is in the file. */
  async flush(): Promise<void> {
    await this.#recorder.flush();
  }

  /** Writes what waits. Calls that are open stay open in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#recorder.close();
  }
}
