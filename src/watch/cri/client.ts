import { type CallOptions, CriClientCore, type CriClientOptions } from './client-core.js';
import { type DeepPartial } from './generated/runtime/v1/cri.js';
import { iterateMessages } from './message-iterable.js';
import { CRI_METHODS, type CriMethod, type CriMethodName } from './methods.js';

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
