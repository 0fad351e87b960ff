/**
 * A recording as a CRI runtime.
 *
 * In: a file that `podloop record` wrote. Out: a socket at which the node of the recording is, at the moment that it is
 * in the recording, whose time begins with the first call: lists and statuses show it as it was, calls take as long as
 * they took, fail as they failed and hang where they hung, and events come at their times. What would change it is
 * answered as it was when the same was asked, and refused otherwise.
 *
 * It assumes nothing of its clients but CRI: what they ask need not be what was asked when it was recorded.
 *
 * @module
 */
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ImageServiceService, RuntimeServiceService } from '#watch/messages';
import { type Clock, type ClockTimer, SystemClock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { listenPrivately, type PrivateSocket } from '#base/wire/private-socket.js';
import { CallIndex } from './call-index.js';
import { EventPlayer } from './event-player.js';
import { RECORDED_METHODS, type RecordedMethod } from '../recorded-method.js';
import { RecordingFile } from '../recording-file.js';
import { type MetaFrame } from '../recording-format.js';
import { Redactor } from '../redaction/redactor.js';
import { ReplayAnswers, ReplayedError } from './replay-answers.js';
import { type AtEnd, ReplayClock } from './replay-clock.js';
import { Timeline } from './timeline.js';
import { WorldHistory } from './world-history.js';

/** How a {@link ReplayServer} is started. */
export interface ReplayServerOptions {
  /** What `podloop record` wrote. */
  readonly file: string;
  /** `unix:///path` to listen at; only its owner may open it. */
  readonly listen: string;
  /** How many times as fast as it was (default: 1). */
  readonly speed?: number;
  /** Where in the recording it begins, in milliseconds (default: at its begin). */
  readonly fromMs?: number;
  /** What happens when it is over (default: its last moment stays, `pause`). */
  readonly atEnd?: AtEnd;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Ends the reading of the file, which may be long. */
  readonly signal?: AbortSignal;
}

/** See the module's comment. */
export class ReplayServer implements AsyncDisposable {
  /** Resolves when the recording is over, once; never with `loop`. */
  readonly ended: Promise<void>;
  readonly meta: MetaFrame;
  /** How long the recording is, in milliseconds. */
  readonly durationMs: number;
  readonly #file: RecordingFile;
  readonly #answers: ReplayAnswers;
  readonly #events: EventPlayer;
  readonly #clock: ReplayClock;
  readonly #redactor: Redactor;
  readonly #logger: Logger;
  readonly #endAt: number;
  readonly #server = new Server({
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  readonly #closing = new AbortController();
  #markEnded: () => void = () => undefined;
  #endTimer: ClockTimer | undefined;
  #socket: PrivateSocket | undefined;
  #calls = 0;

  private constructor(parts: {
    file: RecordingFile;
    timeline: Timeline;
    index: CallIndex;
    history: WorldHistory;
    clock: ReplayClock;
    wallClock: Clock;
    logger: Logger;
  }) {
    const { file, timeline, clock } = parts;
    this.#file = file;
    this.meta = timeline.meta;
    this.durationMs = timeline.endAt / 1000;
    this.#endAt = timeline.endAt;
    this.#clock = clock;
    this.#logger = parts.logger;
    this.#answers = new ReplayAnswers(parts);
    this.#events = new EventPlayer(file, timeline, clock);
    this.#redactor = new Redactor(timeline.meta.rules);
    this.ended = new Promise((resolve) => (this.#markEnded = resolve));
    this.#server.addService(rawMethods(), this.#implement());
  }

  /** Reads the recording and listens. Throws RECORDING_INVALID, OPTION_INVALID or ENDPOINT_IN_USE. */
  static async start(options: ReplayServerOptions): Promise<ReplayServer> {
    const { clock: wallClock = new SystemClock(), logger = SILENT_LOGGER, signal } = options;
    const { speed = 1, fromMs = 0, atEnd = 'pause' } = options;
    if (!(speed > 0 && Number.isFinite(speed)))
      throw new PodloopError('OPTION_INVALID', `speed ${speed} is not a number above 0`);
    const file = await RecordingFile.open(options.file);
    try {
      const timeline = await Timeline.read(file, signal);
      const from = Math.round(fromMs * 1000);
      if (from < 0 || from > timeline.endAt) {
        const lasts = `${timeline.endAt / 1e6}s`;
        throw new PodloopError(
          'OPTION_INVALID',
          `the recording lasts ${lasts}: it cannot begin at ${fromMs / 1e3}s`,
        );
      }
      const index = await CallIndex.create(file, timeline);
      const history = await WorldHistory.create(file, timeline);
      signal?.throwIfAborted();
      const clock = new ReplayClock({ clock: wallClock, speed, from, end: timeline.endAt, atEnd });
      const replay = new ReplayServer({ file, timeline, index, history, clock, wallClock, logger });
      replay.#socket = await listenPrivately(options.listen, (path) => replay.#bind(path));
      return replay;
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** `unix:///path`, for clients. */
  get endpoint(): string {
    return this.#socket!.endpoint;
  }

  /** How many calls came so far. */
  get calls(): number {
    return this.#calls;
  }

  /** Where it is, in milliseconds since the recording began. */
  get positionMs(): number {
    return this.#clock.now().at / 1000;
  }

  /** Ends it, with all calls. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new ReplayedError(status.UNAVAILABLE, 'the replay has ended'));
    this.#endTimer?.cancel();
    this.#events.close();
    await this.#socket?.remove();
    this.#server.forceShutdown();
    await this.#file[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #bind(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  #implement(): UntypedServiceImplementation {
    const implementation: UntypedServiceImplementation = {};
    for (const method of RECORDED_METHODS.values()) {
      implementation[method.name] = method.streams
        ? (call: ServerWritableStream<Buffer, Buffer>) => void this.#stream(method, call)
        : (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
            this.#answer(method, call).then(
              ([message = Buffer.alloc(0)]) => reply(null, message),
              (error: unknown) => reply(this.#toStatus(error, method)),
            );
          };
    }
    return implementation;
  }

  async #answer(
    method: RecordedMethod,
    call: ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>,
  ): Promise<readonly Buffer[]> {
    this.#begin();
    const ending = linkAbort(this.#closing.signal);
    const giveUp = (): void => ending.abort(new ReplayedError(status.CANCELLED, 'the client gave it up'));
    call.once('cancelled', giveUp);
    try {
      return await this.#answers.answer(method, this.#readRequest(method, call.request), ending.signal);
    } finally {
      call.off('cancelled', giveUp);
      ending.unlink();
    }
  }

  async #stream(method: RecordedMethod, call: ServerWritableStream<Buffer, Buffer>): Promise<void> {
    try {
      if (method.name === 'GetContainerEvents') {
        this.#begin();
        if (!this.#events.hasStreams)
          throw new ReplayedError(status.UNIMPLEMENTED, 'this is a recording: nobody read events in it');
        this.#events.add(call);
        return;
      }
      for (const message of await this.#answer(method, call)) call.write(message);
      call.end();
    } catch (error) {
      call.emit('error', this.#toStatus(error, method));
    }
  }

  /** The time of the recording begins when somebody asks. */
  #begin(): void {
    this.#calls++;
    if (this.#clock.hasStarted) return;
    this.#clock.start();
    if (!this.#clock.loops) this.#endTimer = this.#clock.setTimer(this.#endAt, 0, this.#markEnded);
  }

  /** Without secrets, as requests stand in the recording. */
  #readRequest(method: RecordedMethod, request: Buffer): Buffer {
    try {
      return this.#redactor.redactNow(method.requestType, request);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new ReplayedError(status.INVALID_ARGUMENT, `the request is no ${method.requestType}`);
    }
  }

  #toStatus(error: unknown, method: RecordedMethod): { code: number; details: string } {
    if (error instanceof ReplayedError) return { code: error.code, details: error.message };
    this.#logger.error('A call cannot be answered from the recording', error, { method: method.name });
    return { code: status.DATA_LOSS, details: 'the recording cannot be read' };
  }
}

/** Every method of CRI v1 for messages as bytes. */
function rawMethods(): typeof RuntimeServiceService & typeof ImageServiceService {
  const identity = (bytes: Buffer): Buffer => bytes;
  const raw = Object.entries({ ...RuntimeServiceService, ...ImageServiceService }).map(([, definition]) => [
    definition.path.slice(definition.path.lastIndexOf('/') + 1),
    { ...definition, requestDeserialize: identity, responseSerialize: identity },
  ]);
  return Object.fromEntries(raw) as typeof RuntimeServiceService & typeof ImageServiceService;
}
