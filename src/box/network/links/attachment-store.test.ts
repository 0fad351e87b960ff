import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type AttachmentRecord } from './attachment-record.js';
import { AttachmentStore } from './attachment-store.js';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloop-attachments-test-'));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

function record(sandboxId: string): AttachmentRecord {
  const holder = { pid: 7, startTicks: '8' };
  return { sandboxId, bootId: 'boot', holder, ips: ['10.88.0.2'], hostPorts: [], portsBy: 'rules' };
}

describe('the store of attachments', () => {
  it('gives back what was put into it, also after a restart, until it is deleted', async () => {
    const store = await AttachmentStore.open({ dir, logger: SILENT_LOGGER });
    await Promise.all([store.put(record('a')), store.put(record('b'))]);
    await store.delete('b');
    await store.delete('b');
    const again = await AttachmentStore.open({ dir, logger: SILENT_LOGGER });
    expect(again.all).toEqual([record('a')]);
    expect(again.find('a')).toEqual(record('a'));
    expect(JSON.parse(await readFile(again.pathOf('a'), 'utf8'))).toEqual({ version: 1, ...record('a') });
  });

  it('leaves what it cannot read where it is, says whose it is, and forgets what was never finished', async () => {
    await writeFile(join(dir, 'a.json'), JSON.stringify(record('a')));
    await writeFile(join(dir, 'b.json'), '');
    await writeFile(join(dir, 'c.json'), '{"sandboxId":"c"}');
    await writeFile(join(dir, 'd.json.tmp'), '{');
    await writeFile(join(dir, 'e.json'), JSON.stringify(record('another')));
    const logger = new LogRecorder();
    const store = await AttachmentStore.open({ dir, logger });
    expect(store.all).toEqual([record('a')]);
    expect([...store.unreadable].sort()).toEqual(['b', 'c', 'e']);
    expect((await readdir(dir)).sort()).toEqual(['a.json', 'b.json', 'c.json', 'e.json']);
    expect(logger.complaints).toHaveLength(3);
  });

  it('knows what it could not read once that is written anew, and keeps for people what is put aside', async () => {
    await writeFile(join(dir, 'b.json'), '');
    await writeFile(join(dir, 'c.json'), '');
    const store = await AttachmentStore.open({ dir, logger: SILENT_LOGGER });
    await store.put(record('b'));
    await store.setAside('c');
    expect([...store.unreadable]).toEqual([]);
    expect(store.all).toEqual([record('b')]);
    expect((await readdir(dir)).sort()).toEqual(['b.json', 'c.json.unreadable']);
  });

  it('claims at once what it is given, and lets go of it when it cannot be written down', async () => {
    const store = await AttachmentStore.open({ dir, logger: SILENT_LOGGER });
    await rm(dir, { recursive: true });
    const written = store.put(record('a'));
    expect(store.find('a')).toEqual(record('a'));
    await expect(written).rejects.toThrow('ENOENT');
    expect(store.find('a')).toBeUndefined();
    await writeFile(dir, '');
  });
});
