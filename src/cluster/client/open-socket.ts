import { connect as connectTcp, isIP, type Socket } from 'node:net';
import {
  checkServerIdentity,
  connect as connectTls,
  type ConnectionOptions,
  type SecureContext,
  TLSSocket,
} from 'node:tls';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { withinTime } from '#base/async/within-time.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { type ProxyAddress } from '#base/wire/find-proxy.js';
import { type HttpEndpoint } from '#base/wire/http-endpoint.js';
import { openTunnel } from '#base/wire/open-tunnel.js';
import { untilReady } from '#base/wire/until-ready.js';

/** A server, the way to it, and how it is known. */
export interface ServerAddress extends HttpEndpoint {
  /** What its certificate must be for, when that is not `host`. */
  readonly serverName: string | undefined;
  /** Whatever certificate it has; its proxy likewise, as with client-go. */
  readonly insecure: boolean;
  /** It is reached through this one. */
  readonly proxy?: ProxyAddress;
}

/** A connection that is up. */
export interface OpenSocket {
  readonly socket: Socket;
  /** What the server chose to speak; HTTP/1.1 when it does not choose. */
  readonly protocol: 'h2' | 'http/1.1';
}

const MAX_CONNECT_MS = 10_000;
/** As client-go: a connection whose other side is gone without a word is noticed. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Connects, with TLS unless the server is known without. A proxy that speaks TLS is verified by the same authority as the
 * server, as with client-go. Rejects with what is wrong, naming host and port.
 */
export async function openSocket(
  address: ServerAddress,
  context: SecureContext,
  clock: Pick<Clock, 'setTimer'>,
): Promise<OpenSocket> {
  const { proxy, insecure, serverName = address.host } = address;
  const late = (): Error => new Error(`not connected within ${MAX_CONNECT_MS / 1_000}s`);
  const { signal } = new AbortController();
  const limits = { clock, limitMs: MAX_CONNECT_MS, late, signal };
  try {
    return await withinTime<OpenSocket>(limits, async (inner) => {
      const below = proxy && (await connectToProxy(address, proxy, context, inner));
      const protocols = { secureContext: context, ALPNProtocols: ['h2', 'http/1.1'] };
      const tls = { ...toTlsOptions(serverName, insecure), ...protocols, ...(below && { socket: below }) };
      const socket = address.protocol === 'http:' && below ? below : await connect(address, tls, inner);
      const isHttp2 = socket instanceof TLSSocket && socket.alpnProtocol === 'h2';
      return { socket, protocol: isHttp2 ? 'h2' : 'http/1.1' };
    });
  } catch (error) {
    const way = proxy === undefined ? '' : ` through the proxy ${joinHostPort(proxy)}`;
    const what = `cannot connect to ${joinHostPort(address)}${way}`;
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  }
}

/** Gives a connection that goes on to the server. */
async function connectToProxy(
  server: ServerAddress,
  proxy: ProxyAddress,
  context: SecureContext,
  signal: AbortSignal,
): Promise<Socket> {
  const tls = { ...toTlsOptions(proxy.host, server.insecure), secureContext: context };
  return await openTunnel(await connect(proxy, tls, signal), proxy, joinHostPort(server), signal);
}

/** With TLS where it is spoken. Rejects with what is wrong, or with the signal's reason, and leaves nothing open then. */
async function connect(
  { protocol, host, port }: HttpEndpoint,
  tls: ConnectionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  signal.throwIfAborted();
  const isPlain = protocol === 'http:';
  const socket: Socket = isPlain ? connectTcp({ host, port }) : connectTls({ ...tls, host, port });
  socket.setNoDelay(true);
  await untilReady(socket, signal, (resolve, reject) => {
    // Both stay: whoever is given the connection listens a moment later only.
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('the connection broke')));
    socket.once(isPlain ? 'connect' : 'secureConnect', resolve);
  });
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
}

function toTlsOptions(name: string, insecure: boolean): ConnectionOptions {
  return {
    // An address is no name that could be asked for.
    servername: isIP(name) === 0 ? name : '',
    rejectUnauthorized: !insecure,
    checkServerIdentity: (_, certificate) => (insecure ? undefined : checkServerIdentity(name, certificate)),
  };
}
