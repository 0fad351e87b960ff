import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listenPrivately } from './private-socket.js';

let folder: string;
let servers: Server[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-socket-'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) server.close();
  await rm(folder, { recursive: true });
});

const NO_ROOM = Object.assign(new Error('listen ENOSPC: no space left on device'), { code: 'ENOSPC' });

async function bind(path: string): Promise<void> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

/** Where only one more name has room in the folder of the socket, and none while the one of a killed server is there. */
async function bindWithoutRoom(path: string): Promise<void> {
  const names = await readdir(folder);
  if (dirname(path) !== folder || names.length > 0) throw NO_ROOM;
  await bind(path);
}

async function leaveSocket(path: string): Promise<void> {
  await bind(`${path}.old`);
  // Closing a server removes the name that it was given.
  await rename(`${path}.old`, path);
  await new Promise((resolve) => servers.pop()!.close(resolve));
}

it('is there once the server listens, for its owner alone', async () => {
  const path = join(folder, 's.sock');
  await leaveSocket(path);
  const socket = await listenPrivately(`unix://${path}`, bind);
  expect(socket.endpoint).toBe(`unix://${path}`);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['s.sock']);
  await socket.remove();
  expect(await readdir(folder)).toEqual([]);
});

it('takes the room of the socket of a killed server where there is no other', async () => {
  const path = join(folder, 's.sock');
  await leaveSocket(path);
  await listenPrivately(path, bindWithoutRoom);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['s.sock']);
});

it('is not created where others could open it before it is whole', async () => {
  await chmod(folder, 0o755);
  await expect(listenPrivately(join(folder, 's.sock'), bindWithoutRoom)).rejects.toBe(NO_ROOM);
  expect(await readdir(folder)).toEqual([]);
});

it('leaves another file and a folder alone', async () => {
  const path = join(folder, 's.sock');
  await writeFile(path, '');
  await expect(listenPrivately(path, bind)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  await rm(path);
  await mkdir(path);
  await expect(listenPrivately(path, bind)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
});
