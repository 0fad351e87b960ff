import { type Socket } from 'node:net';

import { Client, type ClientUnaryCall, Metadata, status as grpcStatus } from '@grpc/grpc-js';

import { type GrpcTransportOptions, toChannelOptions } from './channel-options.js';
import { ObservedCredentials } from './observed-credentials.js';

// No server implements it, so every gRPC server answers Unimplemented by itself, however busy its handlers
// are.
const KNOCK_PATH = '/podloop.Connection/Knock';
// Deadline of the second connection. Each attempt takes a place in the backlog of a stopped runtime, so there
// must be few of them.
const ELSEWHERE_DEADLINE_MS = 30_000;

/** A check whether a connection works. */
export interface Knock {
  /** Never rejects: false if anything but the server itself ended it. */
  readonly answered: Promise<boolean>;
  /** Cancels it. Does nothing once it is settled. */
  end(): void;
}

/** Sends a call that the server answers without its handlers, on the client's own connection. */
export function startKnock(client: Client, deadlineMs?: number): Knock {
  const bytes = (message: Buffer): Buffer => message;
  const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
  let call: ClientUnaryCall | undefined;
  const answered = new Promise<boolean>((resolve) => {
    call = client.makeUnaryRequest(
      KNOCK_PATH,
      bytes,
      bytes,
      Buffer.alloc(0),
      new Metadata(),
      options,
      // Any other status may come from our own library instead of the server.
      (error) => resolve(error?.code === grpcStatus.UNIMPLEMENTED),
    );
  });
  return { answered, end: () => call?.cancel() };
}

/** The same on a separate connection, which is closed afterwards. It times out after half a minute. */
export function startKnockElsewhere(options: GrpcTransportOptions): Knock {
  let socket: Socket | undefined;
  const credentials = new ObservedCredentials({ onSocket: (connected) => (socket = connected) });
  const client = new Client(`unix:${options.socketPath}`, credentials, toChannelOptions(options));
  const knock = startKnock(client, ELSEWHERE_DEADLINE_MS);
  const answered = knock.answered.finally(() => {
    client.close();
    socket?.destroy();
  });
  return { answered, end: () => knock.end() };
}
