import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CriClient } from '../cri/index.js';
import { FakeClock } from '../testing/fake-clock.js';
import { checkRuntime } from './check-runtime.js';

// The other outcomes are tested through the program, in test/integration/watch-errors.test.ts.
it('a runtime that takes the connection and never says who it is fails the check after ten seconds', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-check-'));
  const clock = new FakeClock();
  const connections = new Set<{ destroy(): void }>();
  const server = createServer((socket) => connections.add(socket));
  try {
    const path = join(folder, 'silent.sock');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    await using client = new CriClient({ endpoint: path, clock });
    const check = checkRuntime(client).then(
      () => 'answered',
      (error: unknown) => error,
    );
    // The probe hangs up by itself; the second connection is the call.
    await expect.poll(() => client.callsInFlight().length).toBe(1);
    await clock.advance(10_000);
    expect(await check).toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
  } finally {
    for (const socket of connections) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  }
});

it('a check that is given up rejects with the reason of its signal', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-check-'));
  const connections = new Set<{ destroy(): void }>();
  const server = createServer((socket) => connections.add(socket));
  try {
    const path = join(folder, 'silent.sock');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    await using client = new CriClient({ endpoint: path });
    const stop = new AbortController();
    const check = checkRuntime(client, stop.signal).catch((error: unknown) => error);
    await expect.poll(() => client.callsInFlight().length).toBe(1);
    stop.abort(new Error('enough'));
    expect(await check).toMatchObject({ message: 'enough' });
  } finally {
    for (const socket of connections) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  }
});
