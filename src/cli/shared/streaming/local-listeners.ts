import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from 'node:net';
import { messageOf } from '#base/errors/errors.js';
import { failure } from '../../command-failure.js';
import { type ForwardedPort } from './forwarded-ports.js';

/** A port that is listened at. */
export interface Listener extends ForwardedPort {
  /** With brackets around an IPv6 one. */
  readonly address: string;
  readonly server: Server;
}

/** A new connection and the port of the pod that it is for. */
export type OnConnection = (socket: Socket, port: ForwardedPort) => void;

/**
 * Listens on each port of each address.
 *
 * `localhost` means 127.0.0.1 and ::1, and one of the two is enough. Rejects with a CommandFailure when a port is not
 * available, and then listens on none.
 */
export async function listenLocally(
  ports: readonly ForwardedPort[],
  addresses: readonly string[],
  onConnection: OnConnection,
): Promise<Listener[]> {
  const listeners: Listener[] = [];
  try {
    for (const port of ports) listeners.push(...(await listenAt(port, addresses, onConnection)));
  } catch (error) {
    closeListeners(listeners);
    throw error;
  }
  return listeners;
}

/** Stops accepting connections; existing ones continue. */
export function closeListeners(listeners: readonly Listener[]): void {
  for (const { server } of listeners) server.close();
}

async function listenAt(
  port: ForwardedPort,
  addresses: readonly string[],
  onConnection: OnConnection,
): Promise<Listener[]> {
  const listeners: Listener[] = [];
  let { local } = port;
  for (const address of addresses) {
    const own = address === 'localhost' ? ['127.0.0.1', '::1'] : [address];
    const failures: unknown[] = [];
    for (const host of own) {
      try {
        const listener = await listen({ ...port, local }, host, onConnection);
        // Any free port is the same one on each address.
        local = listener.local;
        listeners.push(listener);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length < own.length) continue;
    closeListeners(listeners);
    throw failure(
      `unable to listen on any of the requested ports: unable to listen on port ${port.local}: ${messageOf(failures[0])}`,
    );
  }
  return listeners;
}

function listen(port: ForwardedPort, host: string, onConnection: OnConnection): Promise<Listener> {
  return new Promise((resolve, reject) => {
    // Each direction ends on its own, in the pod too.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      socket.on('error', () => undefined);
      const { port: local } = server.address() as AddressInfo;
      onConnection(socket, { ...port, local });
    });
    server.once('error', reject);
    server.listen({ port: port.local, host, ipv6Only: isIPv6(host) }, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      const { port: local } = server.address() as AddressInfo;
      resolve({ ...port, local, address: isIPv6(host) ? `[${host}]` : host, server });
    });
  });
}
