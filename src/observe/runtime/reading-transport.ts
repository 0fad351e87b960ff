/**
 * The wall between an observer and the runtime: only calls that read are sent, and one list at a time.
 *
 * In: a transport, and every call of the observer's client. Out: the calls of an allow-list. Any other call, and
 * a status with `verbose`, fails here with PermissionDenied, so that no mistake above can change a node or
 * wait for a shim. It assumes what was measured of containerd 1.7 and 2.1: versions, conditions, lists and
 * statuses are answered from memory. Statistics, execs, stops and verbose statuses ask shims, and
 * GetContainerEvents of containerd 1.7 takes events from a kubelet. containerd's own event service takes none from
 * anybody.
 *
 * @module
 */
import { Slots } from '#base/async/slots.js';
import {
  cri,
  CRI_METHODS,
  type CriMethodName,
  GrpcStatusError,
  type StreamCall,
  type StreamHandlers,
  type Transport,
  type UnaryCall,
} from '#watch';
import { SUBSCRIBE_PATH } from './containerd-events.js';

/** Every method that an observer may send. */
export const READING_METHODS = [
  ...(['version', 'status', 'imageFsInfo'] as const),
  ...(['listPodSandbox', 'listContainers', 'streamPodSandboxes', 'streamContainers'] as const),
  ...(['podSandboxStatus', 'containerStatus'] as const),
] as const satisfies readonly CriMethodName[];

/** Hears of each call when it is sent; for the flight recorder. */
export interface CallTap {
  sent(path: string, request: Uint8Array): SentCall;
}

/** Hears how one call goes on. */
export interface SentCall {
  message(bytes: Buffer): void;
  /** `error`: undefined for a success. */
  ended(error: unknown): void;
}

/** gRPC's codes. */
const PERMISSION_DENIED = 7;
const CANCELLED = 1;

const pathsOf = (names: readonly CriMethodName[]): ReadonlySet<string> =>
  new Set(names.map((name) => CRI_METHODS[name].path));
const READING_PATHS = pathsOf(READING_METHODS);
const LIST_PATHS = pathsOf(['listPodSandbox', 'listContainers', 'streamPodSandboxes', 'streamContainers']);
/** By path, how to find out whether a request asks for what only a shim knows. */
const IS_VERBOSE: ReadonlyMap<string, (request: Uint8Array) => boolean> = new Map([
  [CRI_METHODS.status.path, (bytes) => cri.StatusRequest.decode(bytes).verbose],
  [CRI_METHODS.podSandboxStatus.path, (bytes) => cri.PodSandboxStatusRequest.decode(bytes).verbose],
  [CRI_METHODS.containerStatus.path, (bytes) => cri.ContainerStatusRequest.decode(bytes).verbose],
]);

const NO_TAP: CallTap = { sent: () => ({ message: () => undefined, ended: () => undefined }) };

/** See the module. */
export class ReadingTransport implements Transport {
  readonly #inner: Transport;
  readonly #tap: CallTap;
  readonly #lists = new Slots<undefined>({ limit: 1 });

  constructor(inner: Transport, tap: CallTap = NO_TAP) {
    this.#inner = inner;
    this.#tap = tap;
  }

  get state(): Transport['state'] {
    return this.#inner.state;
  }

  get generation(): number {
    return this.#inner.generation;
  }

  onStateChange(listener: (state: Transport['state']) => void): () => void {
    return this.#inner.onStateChange(listener);
  }

  unary(path: string, request: Uint8Array): UnaryCall {
    const refusal = findRefusal(path, request);
    if (refusal !== undefined) return { answer: Promise.reject(refusal), cancel: () => undefined };
    return LIST_PATHS.has(path) ? this.#unaryInTurn(path, request) : this.#sendUnary(path, request);
  }

  stream(path: string, request: Uint8Array, handlers: StreamHandlers): StreamCall {
    const refusal = findRefusal(path, request);
    const nothing = (): void => undefined;
    if (refusal !== undefined)
      return { ended: Promise.reject(refusal), cancel: nothing, pause: nothing, resume: nothing };
    // It lasts for as long as the connection, so no list can wait for it, and a flight recorder would never forget it.
    if (path === SUBSCRIBE_PATH) return this.#inner.stream(path, request, handlers);
    return this.#streamInTurn(path, request, handlers);
  }

  close(): void {
    this.#inner.close();
  }

  #sendUnary(path: string, request: Uint8Array): UnaryCall {
    const sent = this.#tap.sent(path, request);
    const call = this.#inner.unary(path, request);
    call.answer.then(
      (bytes) => {
        sent.message(bytes);
        sent.ended(undefined);
      },
      (error: unknown) => sent.ended(error),
    );
    return call;
  }

  #unaryInTurn(path: string, request: Uint8Array): UnaryCall {
    const given = new AbortController();
    let call: UnaryCall | undefined;
    const answer = this.#inTurn(given.signal, () => {
      call = this.#sendUnary(path, request);
      return call.answer;
    });
    const cancel = (): void => {
      given.abort();
      call?.cancel();
    };
    return { answer, cancel };
  }

  #streamInTurn(path: string, request: Uint8Array, handlers: StreamHandlers): StreamCall {
    const given = new AbortController();
    let call: StreamCall | undefined;
    let isPaused = false;
    const ended = this.#inTurn(given.signal, async () => {
      const sent = this.#tap.sent(path, request);
      call = this.#inner.stream(path, request, {
        onOpen: () => handlers.onOpen?.(),
        onMessage: (bytes) => {
          sent.message(bytes);
          handlers.onMessage(bytes);
        },
      });
      if (isPaused) call.pause();
      call.ended.then(
        () => sent.ended(undefined),
        (error: unknown) => sent.ended(error),
      );
      await call.ended;
    });
    return {
      ended,
      cancel: () => {
        given.abort();
        call?.cancel();
      },
      pause: () => {
        isPaused = true;
        call?.pause();
      },
      resume: () => {
        isPaused = false;
        call?.resume();
      },
    };
  }

  /** A call that was cancelled before its turn is never sent. */
  async #inTurn<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    try {
      return await this.#lists.run(undefined, send, signal);
    } catch (error) {
      if (error !== signal.reason) throw error;
      throw new GrpcStatusError(CANCELLED, 'the caller gave the call up before its turn');
    }
  }
}

function findRefusal(path: string, request: Uint8Array): GrpcStatusError | undefined {
  if (!READING_PATHS.has(path) && path !== SUBSCRIBE_PATH) {
    return new GrpcStatusError(PERMISSION_DENIED, `an observer only reads, and does not send ${path}`);
  }
  if (IS_VERBOSE.get(path)?.(request) !== true) return undefined;
  const why = 'an observer does not send a verbose status, as runtimes ask a shim for it';
  return new GrpcStatusError(PERMISSION_DENIED, `${why}: ${path}`);
}
