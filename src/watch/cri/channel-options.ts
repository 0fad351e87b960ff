import { type ChannelOptions } from '@grpc/grpc-js';

import { type Clock } from '#base/time/clock.js';
import { UNIX_CHANNEL_OPTIONS } from '#base/wire/unix-channel-options.js';

/** How to reach a gRPC server on a unix socket. */
export interface GrpcTransportOptions {
  /** Absolute path of the socket. */
  readonly socketPath: string;
  /** A larger message fails its call with RESOURCE_EXHAUSTED (default: 16 MiB). */
  readonly maxReceiveMessageBytes?: number;
  /** Put in front of the library's own user agent. */
  readonly userAgent?: string;
  /** Times the checks whether a silent connection still works (default: the system clock). */
  readonly clock?: Clock;
}

/** Default receive limit: the kubelet's. */
const DEFAULT_MAX_RECEIVE_MESSAGE_BYTES = 16 * 1024 * 1024;

const FLOW_CONTROL_WINDOW_BYTES = 16 * 1024 * 1024;
// Retrying a local socket is cheap. gRPC's own back-off of 1 s to 2 min would leave the agent blind for long
// after the runtime is back.
const RECONNECT_BACKOFF_MS = 100;

/** The options of gRPC's channel. */
export function toChannelOptions(options: GrpcTransportOptions): ChannelOptions {
  return {
    'grpc.max_receive_message_length': options.maxReceiveMessageBytes ?? DEFAULT_MAX_RECEIVE_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    'grpc.initial_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
    'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
    'grpc.primary_user_agent': options.userAgent ?? 'podloop',
    ...UNIX_CHANNEL_OPTIONS,
    'grpc.enable_channelz': 0,
    'grpc.service_config_disable_resolution': 1,
  };
}
