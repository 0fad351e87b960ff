import { type CallOptions, CriClientCore, type CriClientOptions, type RawCaller } from './client-core.js';
import { type DeepPartial } from './generated/runtime/v1/cri.js';
import { CRI_METHODS, type CriMethod, type CriMethodName } from './methods.js';
import { linkAbort } from '#base/async/linked-abort.js';

type CallOf<Method> =
  Method extends CriMethod<infer Request, infer Response, infer Streaming>
    ? Streaming extends true
      ? (request?: DeepPartial<Request>, options?: CallOptions) => AsyncIterableIterator<Response>
      : (request?: DeepPartial<Request>, options?: CallOptions) => Promise<Response>
    : never;

/**
 * Every method of CRI v1's RuntimeService and ImageService, under its own name in camel case.
 *
 * A request may omit fields that have their default; an answer has every field. Streaming methods return an
 * iterable, and send the call when the iteration starts.
 */
export type CriCalls = { [Name in CriMethodName]: CallOf<(typeof CRI_METHODS)[Name]> };

const CallsBase = CriClientCore as new (options: CriClientOptions) => CriClientCore & CriCalls;

/**
 * A client of a container runtime: the whole of CRI v1, typed, with a deadline on each call.
 *
 * Every call rejects with the signal's reason when it aborts, and with a PodloopError otherwise: CRI_… by
 * gRPC's status, CRI_MALFORMED_RESPONSE when the answer cannot be decoded. Calls may overlap. Nothing is sent
 * before the first call. The client reconnects to a runtime that went away; calls made meanwhile fail with
 * CRI_UNAVAILABLE.
 *
 * Deadlines: 2 min by default. StopContainer, CheckpointContainer and ExecSync add their own timeout
 * (ExecSync with timeout 0 has no deadline). RunPodSandbox has 4 min, PullImage an hour, GetContainerEvents
 * none. Each call is listed in `callsInFlight()` and published on the channels `criCallStarted` and
 * `criCallEnded`.
 *
 * Source: https://kubernetes.io/docs/concepts/containers/cri/
 */
export class CriClient extends CallsBase {
  static {
    for (const [name, method] of Object.entries(CRI_METHODS)) {
      Object.defineProperty(this.prototype, name, {
        configurable: true,
        writable: true,
        value: function (this: CriClientCore, request?: object, options?: CallOptions): unknown {
          // The table pairs each method with its own request type; callers see that type through CriCalls.
          return method.streaming
            ? iterateMessages(this, method as CriMethod<object, unknown, true>, request, options)
            : this.call(method as CriMethod<object, unknown, false>, request, options);
        },
      });
    }
  }
}

// How many messages wait for a slow reader before the server is made to wait.
const MAX_BUFFERED = 16;

/**
 * Calls a streaming method and yields its messages one by one; the call is sent when the iteration starts.
 *
 * Leaving the loop cancels the call. A slow reader makes the server wait, so never read container events this
 * way: see {@link readContainerEvents}.
 */
async function* iterateMessages<Request, Response>(
  client: Pick<RawCaller, 'streamBytes' | 'decodeMessage'>,
  method: CriMethod<Request, Response, true>,
  request: DeepPartial<Request> = {} as DeepPartial<Request>,
  options: CallOptions = {},
): AsyncGenerator<Response, void, undefined> {
  const leave = linkAbort(options.signal);
  const buffered: Response[] = [];
  let flow: { pause(): void; resume(): void } | undefined;
  let wake: () => void = () => undefined;
  const progress = { ended: false };
  const handlers = {
    onStart: (started: { pause(): void; resume(): void }) => (flow = started),
    onMessage: (bytes: Buffer) => {
      buffered.push(client.decodeMessage(method, bytes));
      if (buffered.length >= MAX_BUFFERED) flow?.pause();
      wake();
    },
  };
  const stream = client
    .streamBytes(method, request, handlers, { ...options, signal: leave.signal })
    .finally(() => {
      progress.ended = true;
      wake();
    });
  // It is awaited below; until then a failure must not count as unhandled.
  stream.catch(() => undefined);
  try {
    for (;;) {
      const message = buffered.shift();
      if (message !== undefined) {
        if (buffered.length === 0) flow?.resume();
        yield message;
      } else if (progress.ended) {
        await stream;
        return;
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    leave.unlink();
    leave.abort();
  }
}
