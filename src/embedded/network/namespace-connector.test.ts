import { createServer, type Server, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { connectInside, isConnectionRefused } from './namespace-connector.js';

const never = new AbortController().signal;
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Answers only when the other side has said all: shows that each direction closes on its own. */
async function serve(host: string, greeting: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.write(greeting);
    let length = 0;
    client.on('data', (chunk: Buffer) => (length += chunk.length));
    client.on('end', () => client.end(`${length}`));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

// A namespace of somebody else takes root; that of this very process can be entered by its own pid as root only, too.
const ways: [string, number | undefined][] = [['in the host’s network', undefined]];
if (process.geteuid?.() === 0) ways.push(['in the namespace of a process', process.pid]);

describe.each(ways)('a connection %s', (_way, holderPid) => {
  it('loses nothing of a greeting and closes each direction on its own', async () => {
    const port = await serve('127.0.0.1', 'hello ');
    const socket = await connectInside(holderPid, port, never);
    socket.end('x'.repeat(300_000));
    expect(await text(socket)).toBe('hello 300000');
  });

  it('goes to ::1 when nothing listens at 127.0.0.1', async () => {
    const port = await serve('::1', 'six ');
    const socket = await connectInside(holderPid, port, never);
    socket.end();
    expect(await text(socket)).toBe('six 0');
  });

  it('tells that nothing listens', async () => {
    const port = await serve('127.0.0.1', '');
    await new Promise((resolve) => servers.pop()!.close(resolve));
    const failure: unknown = await connectInside(holderPid, port, never).catch((error: unknown) => error);
    expect(isConnectionRefused(failure)).toBe(true);
  });

  it('is given up with the reason of the signal', async () => {
    const port = await serve('127.0.0.1', '');
    const controller = new AbortController();
    const connection = connectInside(holderPid, port, controller.signal);
    controller.abort(new Error('enough'));
    await expect(connection).rejects.toThrow('enough');
  });
});

describe('a connection to a namespace that is gone', () => {
  it('is refused, but not as one to a port at which nothing listens', async () => {
    const failure: unknown = await connectInside(2 ** 22 + 1, 80, never).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'ENETNS' });
    expect(isConnectionRefused(failure)).toBe(false);
  });
});
