import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { untilTrue } from '#support/until-true.js';
import { JournalStore } from '../../../history/journal/journal-store.js';
import { AgentAbsent, AgentClient } from '../api/agent-client.js';
import { HistoryReader } from './history-reader.js';

it('a history that an agent has taken as it started is read from that agent', async () => {
  const rootDir = await mkdtemp(join(tmpdir(), 'podloop-history-reader-test-'));
  const taken = await JournalStore.open({ folder: join(rootDir, 'journal') });
  try {
    let asked = 0;
    const open = async () => {
      if (++asked === 1) throw new AgentAbsent('/there.sock');
      const records = Readable.from([Buffer.from('id: 1-0\ndata: {"id":"1-0","message":"one"}\n\n')]);
      return Object.assign(records, { headers: { 'content-type': 'text/event-stream' } });
    };
    const reader = new HistoryReader({
      ...{ client: { socketPath: '/there.sock', open } as unknown as AgentClient, rootDir, filter: {} },
      ...{ watch: false, clock: new FakeClock(), signal: new AbortController().signal },
    });
    const messages: string[] = [];
    for await (const { message } of reader.read()) messages.push(message);
    expect(messages).toEqual(['one']);
  } finally {
    await taken.close();
    await rm(rootDir, { recursive: true });
  }
});

/** The history that the server at the socket returns. */
async function readFrom(server: FakeAgentServer, clock: FakeClock): Promise<unknown[]> {
  const { signal } = new AbortController();
  const client = new AgentClient({ socketPath: server.socketPath, clock, signal });
  const reader = new HistoryReader({
    ...{ client, rootDir: '/nowhere', filter: {}, watch: false, clock, signal },
  });
  const records: unknown[] = [];
  for await (const record of reader.read()) records.push(record);
  return records;
}

it('what is no history is not taken for one in which nothing happened', async () => {
  const server = await FakeAgentServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on('GET /events', () => ({ kind: 'Something' }));
  await expect(readFrom(server, new FakeClock())).rejects.toThrow(
    'has not answered GET /events with a history',
  );
});

it('a history that does not begin is not waited for for ever', async () => {
  const server = await FakeAgentServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on('GET /events', () => undefined);
  const clock = new FakeClock();
  const told = expect(readFrom(server, clock)).rejects.toThrow('did not answer within 60s');
  await untilTrue(() => server.requests.length > 0);
  await clock.advance(60_000);
  await told;
});
