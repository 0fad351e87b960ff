/**
 * The relay between gRPC clients and a gRPC server, on which chaos and record are built.
 *
 * In: connections to a unix socket. Out: the same bytes on connections to the server's socket, and back. It reads the
 * frames of HTTP/2 (RFC 9113) as they pass, decodes the header blocks because a call's method stands in there, and
 * asks an interceptor about each call. A call that nobody wants to see costs no more than that. One that is tapped
 * goes on as it comes while its messages are put together beside it. One that is taken ends here and begins here
 * anew, with flow control of its own; only from then on may bytes differ from what an end sent.
 *
 * ```ts
 * await using relay = await FrameRelay.start({
 *   listen: 'unix:///tmp/relay.sock',
 *   upstream: 'unix:///run/containerd/containerd.sock',
 *   intercept: ({ path }) =>
 *     path.endsWith('/Version')
 *       ? { request: 'tap', response: 'tap', createHandler: (call) => new Recorder(call) }
 *       : undefined,
 * });
 * ```
 *
 * It assumes that both ends speak HTTP/2 with prior knowledge, as gRPC on a unix socket does. A connection that does not
 * passes through untouched and unseen.
 *
 * @module
 */
export {
  type CallControl,
  type CallHandler,
  type CallHeaders,
  type CallInterceptor,
  type CallPlan,
  type CallStart,
  type SideMode,
  type SideName,
} from './call-handler.js';
export { FrameRelay, type RelayCounts } from './frame-relay.js';
export { GrpcMessage, MESSAGE_PREFIX_BYTES } from './grpc-message.js';
export { GRPC_STATUS_NAMES } from './grpc-status.js';
export { findHeader } from './hpack/header-field.js';
