import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { connectAtOnce } from './connect-at-once.js';

const never = new AbortController().signal;
let server: Server | undefined;
afterEach(() => server?.close());

async function listen(serve: (socket: Socket) => void): Promise<{ host: string; port: number }> {
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

it('has every connection open before the first one is answered', async () => {
  const open: Socket[] = [];
  const place = await listen((socket) => {
    open.push(socket);
    if (open.length === 20) for (const each of open) each.pipe(each);
  });
  expect(await connectAtOnce(place, 20, never)).toBeGreaterThan(0);
});

it.each([
  ['is closed', (socket: Socket) => void socket.end()],
  ['answers something else', (socket: Socket) => void socket.end('x'.repeat(100))],
])('fails when one of them %s', async (_, serve) => {
  let count = 0;
  const place = await listen((socket) => (count++ === 3 ? serve(socket) : void socket.pipe(socket)));
  await expect(connectAtOnce(place, 8, never)).rejects.toThrow(/closed before|came back/);
});

it('ends with its signal', async () => {
  const place = await listen(() => undefined);
  const ending = new AbortController();
  const asked = connectAtOnce(place, 3, ending.signal);
  ending.abort();
  await expect(asked).rejects.toThrow();
});
