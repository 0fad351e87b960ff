import { Channels } from '#base/channels/publishing-channel.js';
import { criConnectionChanged, type CriCall, type CriCallPod } from '#base/channels/channels.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

import { type CallGroup } from './call-group.js';
import { type AnswerFacts, type CallStart, CallsInFlight } from './calls-in-flight.js';
import { parseEndpoint } from './endpoint.js';
import { type FailedCall, toMalformedResponse } from './cri-errors.js';
import { type DeepPartial } from './generated/runtime/v1/cri.js';
import { GrpcTransport } from './grpc-transport.js';
import { InterningReader, type WireCounters } from './interning-reader.js';
import { type CriMethod, deadlineOf, ownTimeOf } from './methods.js';
import { StringCache } from './string-cache.js';
import { type ConnectionState, type StreamHandlers, type Transport } from './transport.js';

/** Options of {@link CriClient}: an endpoint, or a transport of your own. */
export interface CriClientOptions {
  /** Where it publishes its calls and the state of its connection (default: channels of its own). */
  readonly channels?: Channels | undefined;
  /** `unix:///path` or an absolute path. */
  readonly endpoint?: string;
  /** Used instead of a connection to `endpoint`. */
  readonly transport?: Transport;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Limit of a call that has none of its own, in milliseconds (default: 120,000, as in the kubelet). */
  readonly timeoutMs?: number;
  /** A larger answer fails its call with CRI_RESOURCE_EXHAUSTED (default: 16 MiB). */
  readonly maxReceiveMessageBytes?: number;
}

/** Options of every call besides its request. */
export interface CallOptions {
  /** Cancels the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The calls that are useful only together with this one: see {@link CallGroup}. */
  readonly group?: CallGroup | undefined;
  /** Replaces the method's own limit, in milliseconds; Infinity for none. */
  readonly timeoutMs?: number | undefined;
  /** The pod that the call is about, for the list of calls in flight and for messages. */
  readonly pod?: CriCallPod | undefined;
  /** The container that the call is about, if the request does not name it. */
  readonly containerId?: string | undefined;
}

/** The part of a client that works on bytes, for readers that need only part of an answer. */
export type RawCaller = Pick<
  CriClientCore,
  'callForBytes' | 'streamBytes' | 'decodeMessage' | 'connectionGeneration'
>;

const DEFAULT_TIMEOUT_MS = 120_000;

/**
 * The core of {@link CriClient}'s typed methods: calls any method, and returns its answer decoded or as
 * bytes.
 */
export class CriClientCore implements AsyncDisposable {
  /** Where it connects to, for messages. */
  readonly endpoint: string;
  /** Where it publishes its calls and the state of its connection. */
  readonly channels: Channels;
  readonly #transport: Transport;
  readonly #calls: CallsInFlight;
  readonly #timeoutMs: number;
  readonly #strings = new StringCache();
  readonly #counters = { unknownFields: 0, malformedMessages: 0 };

  constructor(options: CriClientOptions) {
    const clock = options.clock ?? new SystemClock();
    const logger = options.logger ?? SILENT_LOGGER;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.channels = options.channels ?? new Channels();
    this.#calls = new CallsInFlight({ clock, channels: this.channels });
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
      this.channels.publish(criConnectionChanged, { endpoint: this.endpoint, state, generation });
    });
  }

  get connectionState(): ConnectionState {
    return this.#transport.state;
  }

  /**
   * How many times the connection has come up: what was learnt about a runtime is valid for one generation.
   */
  get connectionGeneration(): number {
    return this.#transport.generation;
  }

  /** Counts of fields and messages that this version did not understand, since the start. */
  get counters(): Readonly<WireCounters & { malformedMessages: number }> {
    return this.#counters;
  }

  /** Unanswered calls, oldest first. */
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

  /** Calls a method and returns the bytes of its answer, for callers that read only part of it. */
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
   * Calls a streaming method; `handlers` get the bytes of each message as it arrives.
   *
   * Resolves when the server ends the stream. A handler that throws ends the call with that error.
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

  /** Decodes one message of a method's answer and counts its unknown fields. */
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

  /** Counts unknown fields that a reader of bytes found. */
  countUnknownFields(count: number): void {
    this.#counters.unknownFields += count;
  }

  /** Counts a message that its reader could not decode. */
  countMalformedMessage(): void {
    this.#counters.malformedMessages++;
  }

  /** Cancels every call and closes the connection. Idempotent. */
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
