import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RecordFolder, type RecordFolderOptions } from './record-folder.js';

interface Named {
  readonly name: string;
}

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'podloop-records-'))));
afterEach(async () => rm(folder, { recursive: true }));

const open = (options: Partial<RecordFolderOptions<Named>> = {}) =>
  new RecordFolder<Named>({
    folder,
    parse: ({ name }) => {
      if (typeof name !== 'string') throw new Error('it has no name');
      return { name };
    },
    ...options,
  });

it('records are found by their keys, also under names that stand for others', async () => {
  const names = { toName: encodeURIComponent, toKey: decodeURIComponent };
  const keys = ['plain', 'a/b', '..', 'ä b', 'x.json'];
  for (const key of keys) await open({ names }).fileOf(key).write({ name: key });
  const { values, unreadable } = await open({ names }).load();
  expect([...values].sort()).toEqual(keys.map((key) => [key, { name: key }]).sort());
  expect(unreadable).toEqual([]);
});

it('unfinished writes are removed, other files and folders are left alone', async () => {
  await open().fileOf('a').write({ name: 'a' });
  await writeFile(join(folder, 'b.json.tmp'), '{"name"');
  await writeFile(join(folder, 'notes.txt'), 'ours');
  await writeFile(join(folder, 'upper.JSON'), '');
  await mkdir(join(folder, 'c'));
  expect([...(await open().load()).values.keys()]).toEqual(['a']);
  expect((await readdir(folder)).sort()).toEqual(['a.json', 'c', 'notes.txt', 'upper.JSON']);
});

it('names of another kind are left alone', async () => {
  await writeFile(join(folder, 'key.json'), 'garbage');
  await open().fileOf('1').write({ name: 'one' });
  const toKey = (name: string) => (/^\d+$/.test(name) ? name : undefined);
  const { values, unreadable } = await open({ names: { toName: String, toKey } }).load();
  expect([[...values.keys()], unreadable]).toEqual([['1'], []]);
});

it('each record that cannot be read is named, with what is left of it, and the others are there', async () => {
  await open().fileOf('a').write({ name: 'a' });
  await writeFile(join(folder, 'b.json'), '{"name":1}');
  await writeFile(join(folder, 'c.json'), '{');
  await mkdir(join(folder, 'd.json'));
  await open().fileOf('e').write({ name: 'f' });
  const check = (key: string, { name }: Named): void => {
    if (key !== name) throw new Error(`it is of ${name}`);
  };
  const { values, unreadable } = await open({ check }).load();
  expect([...values.keys()]).toEqual(['a']);
  const found = unreadable.map(({ key, text, error }) => [key, text, (error as Error).message]);
  expect(found.sort()).toEqual([
    ['b', '{"name":1}', 'it has no name'],
    ['c', '{', 'it is damaged'],
    ['d', undefined, expect.stringContaining('EISDIR')],
    ['e', '{"version":1,"name":"f"}\n', 'it is of f'],
  ]);
  expect(await readdir(folder)).toHaveLength(5);
});

it('a missing folder has none, and one that is no folder is an error', async () => {
  expect((await open({ folder: join(folder, 'missing') }).load()).values.size).toBe(0);
  await writeFile(join(folder, 'file'), '');
  await expect(open({ folder: join(folder, 'file') }).load()).rejects.toMatchObject({ code: 'ENOTDIR' });
});
