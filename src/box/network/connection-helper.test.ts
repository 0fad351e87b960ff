import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { ConnectionHelper } from './connection-helper.js';

it('rejects at once when the signal has been aborted before', async () => {
  const helper = new ConnectionHelper({ holderPid: process.pid, namespace: 'net:[1]' });
  try {
    const reason = new Error('nobody wants it');
    await expect(helper.connect(1, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(helper.openCount).toBe(0);
  } finally {
    helper.end();
    await helper.ended;
  }
});

it('makes what is asked for in one turn, and lets go of what was given up in it', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const namespace = readlinkSync('/proc/self/ns/net');
  const helper = new ConnectionHelper({ holderPid: process.pid, namespace });
  const sockets: Socket[] = [];
  try {
    const never = new AbortController().signal;
    const wanted = Array.from({ length: 20 }, () => new AbortController());
    const asked = wanted.map(({ signal }) => helper.connect(port, { signal }));
    const given = [3, 4, 11].map((at) => {
      wanted[at]!.abort(new Error(`${at} is given up`));
      return at;
    });
    const outcomes = await Promise.allSettled(asked);
    sockets.push(...outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
    expect(outcomes.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))).toEqual(given);
    for (const [at, socket] of sockets.entries()) {
      socket.write(`connection ${at}`);
      expect(String(await once(socket, 'data'))).toBe(`connection ${at}`);
    }
    // The helper goes on with the next turn.
    const next = await helper.connect(port, { signal: never });
    sockets.push(next);
    expect(helper.openCount).toBe(0);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
    helper.end();
    await helper.ended;
  }
});

it('says when it has been asked: once it runs, and at once from then on', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const helper = new ConnectionHelper({
    holderPid: process.pid,
    namespace: readlinkSync('/proc/self/ns/net'),
  });
  const sockets: Socket[] = [];
  try {
    const events: string[] = [];
    const { signal } = new AbortController();
    const first = helper.connect(port, { signal, onAsked: () => events.push('first asked') });
    events.push('first begun');
    sockets.push(await first);
    events.push('first made');
    const second = helper.connect(port, { signal, onAsked: () => events.push('second asked') });
    events.push('second begun');
    sockets.push(await second);
    expect(events).toEqual(['first begun', 'first asked', 'first made', 'second asked', 'second begun']);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
    helper.end();
    await helper.ended;
  }
});
