import { criConnectionChanged, type CriCall, type CriCallPod } from '#base/channels/channels.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

import { type CallGroup } from './call-group.js';
import { type AnswerFacts, type CallStart, CallsInFlight } from './calls-in-flight.js';
import { parseEndpoint } from './endpoint.js';
import { type FailedCall, toMalformedResponse } from './errors.js';
import { type DeepPartial } from './generated/runtime/v1/cri.js';
import { GrpcTransport } from './grpc-transport.js';
import { InterningReader, type WireCounters } from './interning-reader.js';
import { type CriMethod, deadlineOf, ownTimeOf } from './methods.js';
import { StringCache } from './string-cache.js';
import { type ConnectionState, type StreamHandlers, type Transport } from './transport.js';

/** What a {@link CriClient} is made with: an endpoint, or a transport of your own. */
export interface CriClientOptions {
  /** `unix:///path` or an absolute path. */
  readonly endpoint?: string;
  /** Used instead of a connection to `endpoint`. */
  readonly transport?: Transport;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Limit of a call that has none of its own, in milliseconds; 120,000 unless told, as the kubelet's. */
  readonly timeoutMs?: number;
  /** A larger answer fails its call with CRI_RESOURCE_EXHAUSTED (default: 16 MiB). */
  readonly maxReceiveMessageBytes?: number;
}

/** What every call takes besides its request. */
export interface CallOptions {
  /** Gives the call up: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The calls that it is of use with only: see {@link CallGroup}. */
  readonly group?: CallGroup | undefined;
  /** Replaces the method's own limit, in milliseconds; Infinity for none. */
  readonly timeoutMs?: number | undefined;
  /** The pod it is about, for the record of calls in flight and for messages. */
  readonly pod?: CriCallPod | undefined;
  /** The container it is about, where the request does not say. */
  readonly containerId?: string | undefined;
}

/** The part of a client that deals in bytes: what readers of a part of an answer need. */
export type RawCaller = Pick<
  CriClientCore,
  'callForBytes' | 'streamBytes' | 'decodeMessage' | 'connectionGeneration'
>;

const DEFAULT_TIMEOUT_MS = 120_000;

/** What the typed methods of {@link CriClient} are made of: one call of any method, decoded or as bytes. */
export class CriClientCore implements AsyncDisposable {
  /** Where it connects to, for messages. */
  readonly endpoint: string;
  readonly #transport: Transport;
  readonly #calls: CallsInFlight;
  readonly #timeoutMs: number;
  readonly #strings = new StringCache();
  readonly #counters = { unknownFields: 0, malformedMessages: 0 };

  constructor(options: CriClientOptions) {
    const clock = options.clock ?? new SystemClock();
    const logger = options.logger ?? SILENT_LOGGER;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#calls = new CallsInFlight({ clock });
    if (options.transport !== undefined) {
      this.endpoint = options.endpoint ?? 'a transport of its own';
      this.#transport = options.transport;
    } else {
      if (options.endpoint === undefined) {
        throw new PodloopError(
          'OPTION_INVALID',
          'a CRI client needs an endpoint; findEndpoint() looks for one',
        );
      }
      const { socketPath, url } = parseEndpoint(options.endpoint);
      this.endpoint = url;
      const { maxReceiveMessageBytes } = options;
      this.#transport = new GrpcTransport({
        socketPath,
        ...(maxReceiveMessageBytes && { maxReceiveMessageBytes }),
      });
    }
    this.#transport.onStateChange((state) => {
      const { generation } = this.#transport;
      logger.info('CRI connection changed', { endpoint: this.endpoint, state, generation }, 4);
      criConnectionChanged.publish({ endpoint: this.endpoint, state, generation });
    });
  }

  get connectionState(): ConnectionState {
    return this.#transport.state;
  }

  /** How many times the connection has come up: what was learnt about a runtime holds for one generation. */
  get connectionGeneration(): number {
    return this.#transport.generation;
  }

  /** What was seen on the wire that this version does not understand, since the start. */
  get counters(): Readonly<WireCounters & { malformedMessages: number }> {
    return this.#counters;
  }

  /** Calls that are not answered yet, oldest first. */
  callsInFlight(): readonly CriCall[] {
    return this.#calls.list();
  }

  /** Calls a method and decodes its answer. */
  async call<Request, Response>(
    method: CriMethod<Request, Response, false>,
    request: DeepPartial<Request> = {} as DeepPartial<Request>,
    options: CallOptions = {},
  ): Promise<Response> {
    const whole = method.request.fromPartial(request);
    return await this.#calls.run(this.#startOf(method, whole, options), (facts, failed) => {
      const sent = this.#transport.unary(method.path, method.request.encode(whole).finish());
      const answer = sent.answer.then((bytes) => {
        facts.responseBytes = bytes.length;
        return this.#decode(method, bytes, facts, failed);
      });
      return { answer, cancel: () => sent.cancel() };
    });
  }

  /** Calls a method and gives the bytes of its answer, for those who read only a part of it. */
  async callForBytes<Request, Response>(
    method: CriMethod<Request, Response, false>,
    request: DeepPartial<Request>,
    options: CallOptions = {},
  ): Promise<Buffer> {
    const whole = method.request.fromPartial(request);
    return await this.#calls.run(this.#startOf(method, whole, options), (facts) => {
      const sent = this.#transport.unary(method.path, method.request.encode(whole).finish());
      const answer = sent.answer.then((bytes) => {
        facts.responseBytes = bytes.length;
        return bytes;
      });
      return { answer, cancel: () => sent.cancel() };
    });
  }

  /**
   * Calls a streaming method; `handlers` get the bytes of each message as it arrives, for as long as the stream
   * lives. Resolves when the server ended it. A handler that throws ends the call with what it threw.
   */
  async streamBytes<Request, Response>(
    method: CriMethod<Request, Response, true>,
    request: DeepPartial<Request>,
    handlers: StreamHandlers & { onStart?(flow: { pause(): void; resume(): void }): void },
    options: CallOptions = {},
  ): Promise<void> {
    const whole = method.request.fromPartial(request);
    await this.#calls.run(this.#startOf(method, whole, options), (facts) => {
      let fail: (error: unknown) => void = () => undefined;
      const broken = new Promise<never>((_, reject) => (fail = reject));
      const guard = <Args extends unknown[]>(callback: (...args: Args) => void) => {
        return (...args: Args): void => {
          try {
            callback(...args);
          } catch (error) {
            fail(error);
            sent.cancel();
          }
        };
      };
      const sent = this.#transport.stream(method.path, method.request.encode(whole).finish(), {
        onOpen: guard(() => handlers.onOpen?.()),
        onMessage: guard((message: Buffer) => {
          facts.responseBytes += message.length;
          handlers.onMessage(message);
        }),
      });
      handlers.onStart?.(sent);
      return { answer: Promise.race([sent.ended, broken]), cancel: () => sent.cancel() };
    });
  }

  /** Decodes one message of a method's answer; what it does not know is counted. */
  decodeMessage<Request, Response, Streaming extends boolean>(
    method: CriMethod<Request, Response, Streaming>,
    bytes: Buffer,
    failed: FailedCall = { operation: method.operation, subject: '' },
  ): Response {
    return this.#decode(method, bytes, { unknownFields: 0, responseBytes: 0 }, failed);
  }

  /** A reader over `bytes` that shares this client's strings and counters. */
  newReader(bytes: Buffer): InterningReader {
    return new InterningReader(bytes, this.#strings, this.#counters);
  }

  /** Counts fields that a reader of bytes did not know. */
  countUnknownFields(count: number): void {
    this.#counters.unknownFields += count;
  }

  /** Counts a message that could not be decoded by its reader. */
  countMalformedMessage(): void {
    this.#counters.malformedMessages++;
  }

  /** Gives up every call and ends the connection. Idempotent. */
  close(): void {
    this.#transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  #decode<Request, Response, Streaming extends boolean>(
    method: CriMethod<Request, Response, Streaming>,
    bytes: Buffer,
    facts: AnswerFacts,
    failed: FailedCall,
  ): Response {
    const before = this.#counters.unknownFields;
    try {
      return method.response.decode(this.newReader(bytes));
    } catch (error) {
      this.countMalformedMessage();
      throw toMalformedResponse(error, { ...failed, method: method.name });
    } finally {
      facts.unknownFields += this.#counters.unknownFields - before;
    }
  }

  #startOf<Request, Response, Streaming extends boolean>(
    method: CriMethod<Request, Response, Streaming>,
    request: Request,
    options: CallOptions,
  ): CallStart {
    return {
      method: method.name,
      operation: method.operation,
      streaming: method.streaming,
      subject: method.subject(request),
      pod: options.pod,
      containerId: options.containerId,
      deadlineMs: deadlineOf(method, request, options.timeoutMs, this.#timeoutMs),
      ownMs: ownTimeOf(method, request),
      signal: options.signal,
      group: options.group,
    };
  }
}
