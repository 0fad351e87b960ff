import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.js';
import { JournalStore } from '../../journal/journal-store.js';
import { AgentAbsent, type AgentClient } from '../api/agent-client.js';
import { HistoryReader } from './history-reader.js';

it('a history that an agent has taken as it started is read from that agent', async () => {
  const rootDir = await mkdtemp(join(tmpdir(), 'podloop-history-reader-test-'));
  const taken = await JournalStore.open({ folder: join(rootDir, 'journal') });
  try {
    let asked = 0;
    const open = async () => {
      if (++asked === 1) throw new AgentAbsent('/there.sock');
      return Readable.from([Buffer.from('id: 1-0\ndata: {"id":"1-0","message":"one"}\n\n')]);
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
