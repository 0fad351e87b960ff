import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { untilTrue } from '#support/until-true.js';
import { makeHttpServer } from './make-http-server.js';
import { makeCertificate } from '../tls/make-certificate.js';

const UPGRADE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';
/** What `/proc/net/tcp` calls the timer of a connection that says nothing. */
const ASKS_WHETHER_IT_IS_THERE = '02';

/** The timer of the server's end of a connection as the kernel has it: its kind, and in how many hundredths of a second it is due. */
function timerOf(port: number, clientPort: number): { kind: string; dueIn: number } {
  const hex = (number: number): string => number.toString(16).toUpperCase().padStart(4, '0');
  const rows = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  const row = rows.find(
    ([, local = '', remote = '']) =>
      local.endsWith(`:${hex(port)}`) && remote.endsWith(`:${hex(clientPort)}`),
  );
  const [kind = '', due = ''] = (row?.[5] ?? '').split(':');
  return { kind, dueIn: Number.parseInt(due, 16) };
}

describe.each(['without TLS', 'with TLS'])('a connection %s whose client says nothing', (how) => {
  it.each([
    ['before a request', ''],
    ['within a session that it was upgraded to', UPGRADE],
  ])('is found to be dead by the kernel: %s', async (_, request) => {
    const times = { validFrom: new Date(0), validTo: new Date(2.4e12) };
    const tls =
      how === 'with TLS'
        ? await makeCertificate({ commonName: 'a', purpose: 'server', ...times })
        : undefined;
    const server = makeHttpServer(tls === undefined ? {} : { tls });
    server.on('upgrade', (_request, socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const raw = connect({ host: '127.0.0.1', port });
    const client: Socket = tls === undefined ? raw : connectTls({ socket: raw, rejectUnauthorized: false });
    await once(client, tls === undefined ? 'connect' : 'secureConnect');
    if (request !== '') {
      client.write(request);
      await once(client, 'data');
    }
    // Until all that was sent is acknowledged the kernel has another timer.
    await untilTrue(() => timerOf(port, raw.localPort!).kind === ASKS_WHETHER_IT_IS_THERE);
    expect(timerOf(port, raw.localPort!).dueIn).toBeLessThanOrEqual(1_500);
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
});
