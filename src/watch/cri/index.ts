/**
 * A typed client of CRI v1, the interface between a Kubernetes node agent and its container runtime.
 *
 * In: an endpoint. Out: every method of RuntimeService and ImageService, with a deadline and an AbortSignal
 * on each call, and a list of the calls in flight. It assumes that the runtime may hang, answer nonsense or
 * go away at any time: each of these ends the affected call and nothing else.
 *
 * @example
 * ```ts
 * import { CriClient, findEndpoint } from 'podloop/cri';
 *
 * const { url } = await findEndpoint();
 * await using client = new CriClient({ endpoint: url });
 * const { runtimeName, runtimeVersion } = await client.version();
 * console.log(`${runtimeName} ${runtimeVersion}`);
 * const { containers } = await client.listContainers();
 * for (const { id, metadata } of containers) console.log(id.slice(0, 13), metadata?.name);
 * ```
 *
 * @module
 */
export { CallGroup } from './call-group.js';
export { CriClient, type CriCalls } from './client.js';
export { type CallOptions, CriClientCore, type CriClientOptions, type RawCaller } from './client-core.js';
export { DEFAULT_SOCKET_PATHS, type Endpoint, findEndpoint, parseEndpoint } from './endpoint.js';
export { type ContainerEventHandlers, readContainerEvents } from './container-events.js';
export { GrpcTransport, type GrpcTransportOptions } from './grpc-transport.js';
export { FieldOrder } from './field-order.js';
export {
  CONTAINER_LIST,
  type ItemVisitor,
  type ListShape,
  SANDBOX_LIST,
  scanList,
  type SliceOptions,
} from './list-decoder.js';
export {
  type CallSubject,
  CRI_METHODS,
  type CriMethod,
  type CriMethodName,
  type DeadlineRule,
  isEndless,
} from './methods.js';
export { type ListPart, measurePart } from './measure-part.js';
export { probeEndpoint, type ProbeOptions } from './probe-endpoint.js';
export { RawLists } from './raw-lists.js';
export {
  type ConnectionState,
  GrpcStatusError,
  type StreamCall,
  type StreamHandlers,
  type Transport,
  type UnaryCall,
} from './transport.js';
export {
  type CriCall,
  type CriCallEnd,
  criCallEnded,
  type CriCallPod,
  criCallStarted,
  type CriConnectionChange,
  criConnectionChanged,
} from '#base/channels/channels.js';
export { Channels, type PublishingChannel } from '#base/channels/publishing-channel.js';

/** The messages, enums and services of CRI v1, as generated. */
export * as cri from './generated/runtime/v1/cri.js';
