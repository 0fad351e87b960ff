/** The options that every gRPC channel to a unix socket of this machine has. */
export const UNIX_CHANNEL_OPTIONS = {
  // A unix socket's path is not a valid :authority; Go servers reject it.
  'grpc.default_authority': 'localhost',
  // A separate pool, so that closing one client does not affect another one of the same runtime.
  'grpc.use_local_subchannel_pool': 1,
  // A call that changes something must never be sent twice by the library.
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
} as const;
