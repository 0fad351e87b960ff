/**
 * A recorder in front of a runtime.
 *
 * In: a runtime's socket and the name of a file. Out: a socket at which the same runtime is, and in the file every call
 * of CRI that passes there, with its time, its answer and its events, without secrets. The bytes between client and
 * runtime are those that they sent, and none waits for the recording: when the disk is too slow something is missing
 * from the file, which says so, and when it is full the recording ends and the calls go on.
 *
 * It assumes that clients use this socket and not the runtime's: a call that does not pass here is not seen.
 *
 * @module
 */
import { dirname, resolve } from 'node:path';
import { type CallPlan, type CallStart, findHeader, FrameRelay, type RelayCounts } from '../relay/index.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { CallRecorder } from './call-recorder.js';
import { RECORDED_METHODS } from './recorded-method.js';
import { type RecordCounts, Recorder } from './recorder.js';
import { RecordingParts } from './recording-parts.js';
import { type RedactionRules, STRICT_RULES } from './redaction/redaction-rules.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** How a {@link RecordProxy} is started. */
export interface RecordProxyOptions {
  /** `unix:///path` of the runtime. It need not be there yet. */
  readonly upstream: string;
  /** `unix:///path` to listen at; only its owner may open it. */
  readonly listen: string;
  /** To write to; only its owner may read it. */
  readonly file: string;
  /** Takes the place of a file that is there; else that is an error. */
  readonly replace?: boolean;
  /** What the recording may have on the disk, in bytes (default: 256 MiB). */
  readonly maxBytes?: number;
  /** What happens then: it ends (`stop`), or the older half goes, again and again (`roll`). (default: `stop`) */
  readonly whenFull?: 'stop' | 'roll';
  /** What is recorded although it may be secret (default: as little as possible). */
  readonly rules?: Partial<RedactionRules>;
  /** Who makes the calls; the head of the file says so. */
  readonly mode?: 'relay' | 'observe';
  /** The version of what records, for the head of the file. */
  readonly version?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Nothing is recorded any more, and why; calls go on. */
  readonly onEnded?: (reason: 'full' | 'failed', message: string) => void;
}

/** The default maximum size of a recording. */
export const DEFAULT_MAX_BYTES = 256 * 2 ** 20;
/** With less there is hardly room for one block and the end. */
const LEAST_MAX_BYTES = 2 ** 20;

/** The header grpc-timeout: a number of up to eight digits and its unit. */
const TIMEOUT = /^\d{1,8}[HMSmun]$/;

/** See the module's comment. */
export class RecordProxy implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #recorder: Recorder;
  #relay: FrameRelay | undefined;
  #closing: Promise<void> | undefined;

  private constructor(recorder: Recorder, clock: Clock) {
    this.#recorder = recorder;
    this.#clock = clock;
  }

  /** Makes the file, with its folder, and listens. Throws OPTION_INVALID, or ENDPOINT_IN_USE when somebody else answers there. */
  static async start(options: RecordProxyOptions): Promise<RecordProxy> {
    const { clock = new SystemClock(), logger = SILENT_LOGGER, maxBytes = DEFAULT_MAX_BYTES } = options;
    const { upstream, listen, file: path, mode = 'relay', version = '' } = options;
    if (maxBytes < LEAST_MAX_BYTES)
      throw new PodloopError(
        'OPTION_INVALID',
        `maxBytes ${maxBytes} is too little: use 1048576 (1Mi) or more`,
      );
    await makeFolderOf(path);
    const rules = { ...STRICT_RULES, ...options.rules };
    const parts = await RecordingParts.create({
      ...{ path, replace: options.replace ?? false, maxBytes, whenFull: options.whenFull ?? 'stop', clock },
      meta: { podloop: version, mode, upstream, rules },
    });
    const recorder = new Recorder({
      ...{ parts, rules, clock, logger },
      onEnded: options.onEnded ?? (() => undefined),
    });
    const proxy = new RecordProxy(recorder, clock);
    try {
      proxy.#relay = await FrameRelay.start({
        ...{ upstream, listen, logger },
        intercept: (start) => proxy.#intercept(start),
      });
      // Only now, so that a recording that cannot begin costs none that is there.
      await parts.place();
    } catch (error) {
      await proxy.#relay?.close();
      await recorder.close();
      await parts.discard();
      throw error;
    }
    return proxy;
  }

  /** `unix:///path`, for clients. */
  get endpoint(): string {
    return this.#relay!.endpoint;
  }

  /** What was recorded so far. */
  get counts(): RecordCounts {
    return this.#recorder.counts;
  }

  get connections(): RelayCounts {
    return this.#relay!.counts;
  }

  /** Ends the relay, with its connections, and the recording. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      // First the file: calls that are open now have no end in it, which is what they are.
      await this.#recorder.close();
      await this.#relay?.close();
    })();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #intercept({ path, fields }: CallStart): CallPlan | undefined {
    const method = RECORDED_METHODS.get(path);
    if (method === undefined) return undefined;
    const header = findHeader(fields, 'grpc-timeout');
    // Anything else is no timeout, and may be anything.
    const timeout = header !== undefined && TIMEOUT.test(header) ? header : undefined;
    return {
      ...{ request: 'tap', response: 'tap' },
      createHandler: (call) =>
        new CallRecorder({ recorder: this.#recorder, clock: this.#clock, call, method, timeout }),
    };
  }
}

/** Only its own user may read what is recorded. */
async function makeFolderOf(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  await makeFolder(folder, 0o700).catch((error: unknown) => {
    throw new PodloopError('OPTION_INVALID', `the folder ${folder} cannot be made: ${messageOf(error)}`, {
      cause: error,
    });
  });
}
