import { type ConnectPort } from './forward-port.js';
import { CommandStreams, expectedStreams, SpdyCommandPeer } from './spdy-command.js';
import { SpdyPortForward } from './spdy-port-forward.js';
import { SpdySession, type SpdySessionOptions } from '../spdy/spdy-session.js';
import { type SpdyStream } from '../spdy/spdy-stream.js';
import { type CommandRequest, type StreamRequest } from '../stream-request.js';
import { connectPortsOf, runCommand, type StreamingServices } from '../streaming-services.js';

/** A client that was upgraded to SPDY/3.1. */
export interface SpdyClient extends Pick<SpdySessionOptions, 'transport' | 'endTransport' | 'clientCounts'> {
  readonly grant: StreamRequest;
  /** The version of the protocol that was agreed upon. */
  readonly protocol: string;
}

/** Serves a client until its connection is closed. Never rejects. */
export async function serveSpdy(services: StreamingServices, client: SpdyClient): Promise<void> {
  const { grant, protocol } = client;
  if (grant.kind === 'portforward') {
    await servePortForward(services, client, connectPortsOf(services, grant));
  } else {
    await serveCommand(services, client, grant, protocol);
  }
}

async function serveCommand(
  services: StreamingServices,
  client: SpdyClient,
  request: CommandRequest,
  protocol: string,
): Promise<void> {
  const streams = new CommandStreams(expectedStreams(request, protocol));
  const session = openSession(services, client, (stream) => streams.add(stream));
  const late = services.clock.setTimer(services.streamCreationTimeoutMs, () => void session.close(), {
    unref: true,
  });
  const command = streams.complete.then((all) => {
    late.cancel();
    return runCommand(services, new SpdyCommandPeer({ session, streams: all, protocol }), request);
  });
  await session.run();
  late.cancel();
  // It has begun only if the streams were complete; what it runs ends with its client.
  if (streams.areComplete) await command;
}

async function servePortForward(
  services: StreamingServices,
  client: SpdyClient,
  connect: ConnectPort,
): Promise<void> {
  const { clock, streamCreationTimeoutMs } = services;
  const session = openSession(services, client, (stream) => forwarding.add(stream));
  const { gone } = session;
  const forwarding = new SpdyPortForward({ connect, gone, clock, streamCreationTimeoutMs });
  await session.run();
  forwarding.close();
}

function openSession(
  { clock, logger, idleTimeoutMs }: StreamingServices,
  client: SpdyClient,
  onStream: (stream: SpdyStream) => void,
): SpdySession {
  return new SpdySession({ ...client, onStream, clock, logger, idleTimeoutMs });
}
