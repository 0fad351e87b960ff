import { type WebSocket } from 'ws';
import { type Clock } from '#base/time/clock.js';
import { forwardPort, type ConnectPort } from './forward-port.js';
import { MAX_CHANNELS, WebSocketChannels } from './websocket-channels.js';

/** The subprotocols of port-forward by channels; '' is what a client gets that asks for none. */
export const WEBSOCKET_PORT_FORWARD_PROTOCOLS: readonly string[] = [
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
];

/** How many ports the channels of a subprotocol have room for: each takes two. */
export function mostPortsOf(protocol: string): number {
  return Math.floor((isBase64(protocol) ? MAX_CHANNELS.base64 : MAX_CHANNELS.binary) / 2);
}

function isBase64(protocol: string): boolean {
  return protocol === 'v4.base64.channel.k8s.io';
}

/** What {@link forwardPortsByChannels} needs. */
export interface WebSocketPortForwardOptions {
  readonly socket: WebSocket;
  readonly protocol: string;
  /** Those that the request named, not more than {@link mostPortsOf} says. */
  readonly ports: readonly number[];
  readonly connect: ConnectPort;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
}

/**
 * The old port-forward by WebSocket: one connection to each of the ports that the request named, on channel 2n its
 * data and on 2n + 1 its errors. Each channel begins with the port in two bytes, little-endian. Resolves when all
 * have ended.
 */
export async function forwardPortsByChannels(options: WebSocketPortForwardOptions): Promise<void> {
  const { socket, protocol, ports, connect, clock, idleTimeoutMs } = options;
  const base64 = isBase64(protocol);
  const channels = new WebSocketChannels({ socket, base64, halfClose: false, clock, idleTimeoutMs });
  await Promise.all(
    ports.map(async (port, at) => {
      const [data, error] = [2 * at, 2 * at + 1];
      const inbound = channels.openInbound(data);
      const outbound = channels.openOutbound(data);
      const name = Buffer.alloc(2);
      name.writeUInt16LE(port);
      channels.send(data, name);
      channels.send(error, name);
      const { gone } = channels;
      const ways = { inbound, outbound, clientEnds: false };
      const message = await forwardPort({ port, connect, ...ways, gone, clock });
      if (message !== undefined && !gone.aborted) channels.send(error, Buffer.from(message));
    }),
  );
  await channels.close();
}
