import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type SecureContext } from 'node:tls';
import { type Clock } from '../../util/clock.js';

/** A server, and how it is known. */
export interface ServerAddress {
  readonly protocol: 'https:' | 'http:';
  readonly host: string;
  readonly port: number;
  /** What its certificate must be for, when that is not `host`. */
  readonly serverName: string | undefined;
  /** Whatever certificate it has. */
  readonly insecure: boolean;
}

/** A connection that is up. */
export interface OpenSocket {
  readonly socket: Socket;
  /** What the server chose to speak; HTTP/1.1 when it does not choose. */
  readonly protocol: 'h2' | 'http/1.1';
}

const LONGEST_CONNECT_MS = 10_000;
/** As client-go: a connection whose other side is gone without a word is noticed. */
const KEEP_ALIVE_MS = 30_000;

/** Connects, with TLS unless the server is known without. Rejects with what is wrong, naming host and port. */
export async function openSocket(
  address: ServerAddress,
  context: SecureContext,
  clock: Pick<Clock, 'setTimer'>,
): Promise<OpenSocket> {
  const { host, port } = address;
  return await new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      timer.cancel();
      socket.destroy();
      reject(new Error(`cannot connect to ${host}:${port}: ${error.message}`, { cause: error }));
    };
    const isReady = (protocol: OpenSocket['protocol']): void => {
      timer.cancel();
      socket.removeListener('error', fail);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      resolve({ socket, protocol });
    };
    const timer = clock.setTimer(LONGEST_CONNECT_MS, () =>
      fail(new Error(`not connected within ${LONGEST_CONNECT_MS / 1_000}s`)),
    );
    let socket: Socket;
    if (address.protocol === 'http:') {
      socket = connectTcp({ host, port, noDelay: true }, () => isReady('http/1.1'));
    } else {
      const tls = connectTls(
        { ...toTlsOptions(address), host, port, secureContext: context, ALPNProtocols: ['h2', 'http/1.1'] },
        () => isReady(tls.alpnProtocol === 'h2' ? 'h2' : 'http/1.1'),
      );
      socket = tls.setNoDelay(true);
    }
    socket.on('error', fail);
  });
}

function toTlsOptions({ host, serverName, insecure }: ServerAddress) {
  const name = serverName ?? host;
  return {
    // An address is no name that could be asked for.
    servername: isIP(name) === 0 ? name : '',
    rejectUnauthorized: !insecure,
    checkServerIdentity: (_: string, certificate: Parameters<typeof checkServerIdentity>[1]) =>
      insecure ? undefined : checkServerIdentity(name, certificate),
  };
}
