import { type Socket } from 'node:net';

import { Client, type ClientUnaryCall, Metadata, status as grpcStatus } from '@grpc/grpc-js';

import { type GrpcTransportOptions, toChannelOptions } from './channel-options.js';
import { ObservedCredentials } from './observed-credentials.js';

// No server has it, so that every gRPC server answers Unimplemented by itself, whatever else it is busy with.
const KNOCK_PATH = '/podloop.Connection/Knock';
// Of the second connection. One attempt takes a place among those that a stopped runtime has not accepted yet, so
// that there must be few of them.
const ELSEWHERE_DEADLINE_MS = 30_000;

/** A question whether a connection works. */
export interface Knock {
  /** Never rejects: false when anything but the server itself ended it. */
  readonly answered: Promise<boolean>;
  /** Gives it up. Does nothing once it is settled. */
  end(): void;
}

/** Asks the server what it answers without its handlers, on the client's own connection. */
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
      // Any other status would be our own library's word, not the server's.
      (error) => resolve(error?.code === grpcStatus.UNIMPLEMENTED),
    );
  });
  return { answered, end: () => call?.cancel() };
}

/** The same on a connection of its own, which is closed afterwards. It is given up after half a minute. */
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
