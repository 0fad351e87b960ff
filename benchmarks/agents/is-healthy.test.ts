import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { isHealthy, waitUntilHealthy } from './is-healthy.js';

const { signal } = new AbortController();

it('asks at the socket of an object that only has a getter for it', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'podloop-healthy-'));
  class Node {
    get socketPath(): string {
      return path.join(folder, 'agent.sock');
    }
  }
  const node = new Node();
  expect(await isHealthy(node, signal)).toBe(false);
  let status = 503;
  const server = createServer((request, answer) => {
    answer.writeHead(request.url === '/healthz' ? status : 404).end();
    status = 200;
  }).listen(node.socketPath);
  await once(server, 'listening');
  try {
    await waitUntilHealthy(node, signal);
    expect(await isHealthy(node, signal)).toBe(true);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});

it('asks at a port', async () => {
  const server = createServer((_, answer) => answer.writeHead(200).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    expect(await isHealthy({ port: (server.address() as AddressInfo).port }, signal)).toBe(true);
  } finally {
    server.close();
  }
});
