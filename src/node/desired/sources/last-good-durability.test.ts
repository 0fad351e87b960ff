import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as wholeFile from '#base/fs/whole-file.js';
import { type LastGood, LastGoodStore } from './last-good-store.js';

/** What was asked of the disk, in its order. */
const asked: string[] = [];
let syncFailure: Error | undefined;

vi.mock('#base/fs/whole-file.js', async (importOriginal) => {
  const whole = await importOriginal<typeof wholeFile>();
  return {
    ...whole,
    writeWhole: async (path: string, content: string, options: wholeFile.WriteWholeOptions = {}) => {
      await whole.writeWhole(path, content, options);
      const { durable = true, syncsFolder = durable } = options;
      asked.push(durable && !syncsFolder ? 'durable file' : `file ${JSON.stringify(options)}`);
    },
    syncPath: async (path: string) => {
      if (syncFailure !== undefined) throw syncFailure;
      await whole.syncPath(path);
      asked.push(`sync of ${basename(path)}`);
    },
  };
});

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-last-good-'));
  asked.length = 0;
  syncFailure = undefined;
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

describe('many last good versions at once', () => {
  const names = Array.from({ length: 30 }, (_, at) => `${at}.yaml`);
  const versions = names.map((name): LastGood => ({ origin: '/pods', name, pods: [], objects: [] }));

  it('are each brought to the disk, and their names all together, after the last of them', async () => {
    const store = new LastGoodStore({ folder, source: 'file', nodeName: 'n' });
    expect(await store.save(versions)).toEqual(new Map());
    expect(asked).toEqual([...names.map(() => 'durable file'), `sync of ${basename(folder)}`]);
    expect(await readdir(folder)).toHaveLength(names.length);
  });

  it('are all taken for not kept when their names may be lost', async () => {
    syncFailure = new Error('no disk');
    const store = new LastGoodStore({ folder, source: 'file', nodeName: 'n' });
    expect(await store.save(versions)).toEqual(new Map(names.map((name) => [name, 'no disk'])));
  });
});
