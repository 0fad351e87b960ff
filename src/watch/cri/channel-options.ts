import { type ChannelOptions } from '@grpc/grpc-js';

import { type Clock } from '#base/time/clock.js';

/** How to reach a gRPC server on a unix socket. */
export interface GrpcTransportOptions {
  /** Absolute path of the socket. */
  readonly socketPath: string;
  /** A larger message fails its call with RESOURCE_EXHAUSTED (default: 16 MiB). */
  readonly maxReceiveMessageBytes?: number;
  /** What is said in front of the library's own user agent. */
  readonly userAgent?: string;
  /** For when to ask whether a silent connection still works (default: the machine's own). */
  readonly clock?: Clock;
}

/** The receive limit unless told: the kubelet's. */
const DEFAULT_MAX_RECEIVE_MESSAGE_BYTES = 16 * 1024 * 1024;

const FLOW_CONTROL_WINDOW_BYTES = 16 * 1024 * 1024;
// A local socket is cheap to try. With gRPC's own second to two minutes the agent would stay blind for long
// after the runtime is back.
const RECONNECT_BACKOFF_MS = 100;

/** What gRPC's channel is made with. */
export function toChannelOptions(options: GrpcTransportOptions): ChannelOptions {
  return {
    'grpc.max_receive_message_length': options.maxReceiveMessageBytes ?? DEFAULT_MAX_RECEIVE_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    'grpc.initial_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
    'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
    'grpc.primary_user_agent': options.userAgent ?? 'podloop',
    // The path of a unix socket is no valid :authority; Go servers refuse it.
    'grpc.default_authority': 'localhost',
    // Of its own: closing one client must not depend on another one to the same runtime.
    'grpc.use_local_subchannel_pool': 1,
    // A change that was sent must never be sent twice behind our back.
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
    'grpc.service_config_disable_resolution': 1,
  };
}
