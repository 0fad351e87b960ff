import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { AgentClient } from '../../shared/api/agent-client.js';
import { agentReports } from './report-source.js';

it('waits no longer for an agent that does not answer once nobody wants its report', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-report-test-'));
  const socketPath = join(folder, 'a.sock');
  // It never answers.
  const server = createServer();
  try {
    server.listen(socketPath);
    await once(server, 'listening');
    const { signal } = new AbortController();
    const source = agentReports(new AgentClient({ socketPath, clock: new FakeClock(), signal }));
    const quitting = new AbortController();
    const asked = once(server, 'request') as Promise<[IncomingMessage]>;
    const reading = expect(source.read(quitting.signal)).rejects.toThrow(/abort/);
    const [{ socket }] = await asked;
    const gone = once(socket, 'close');
    quitting.abort();
    await reading;
    await gone;
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
