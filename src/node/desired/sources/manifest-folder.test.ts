import { chmod, link, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManifestFolder, type PresentLook } from './manifest-folder.js';

let root: string;
let folder: ManifestFolder;
const at = (name: string): string => join(root, 'pods', name);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-manifest-folder-'));
  await mkdir(join(root, 'pods'));
  folder = new ManifestFolder(join(root, 'pods'));
});
afterEach(async () => rm(root, { recursive: true, force: true }));

async function look(): Promise<PresentLook> {
  const found = await folder.look(false);
  if (found.kind !== 'present') throw new Error('the folder is missing');
  return found;
}

/** Names whose sign, or whose being there, is another than in the look before. */
async function changedBy(change: () => Promise<unknown>): Promise<string[]> {
  const { files: before } = await look();
  await change();
  const { files } = await look();
  const names = new Set([...before.keys(), ...files.keys()]);
  const changed = [...names].filter((name) => before.get(name)?.sign !== files.get(name)?.sign).sort();
  // Who compares the maps learns the same as who compares what is in them.
  expect(files === before).toBe(changed.length === 0);
  return changed;
}

describe('a look at a folder', () => {
  beforeEach(async () => {
    for (const name of ['a.yaml', 'b.yaml', 'c.yaml']) await writeFile(at(name), 'one');
  });

  it('gives the same files as the one before as long as nothing has changed', async () => {
    expect(await changedBy(async () => undefined)).toEqual([]);
    expect(await changedBy(async () => mkdir(at('below')))).toEqual([]);
    expect(await changedBy(async () => writeFile(at('notes.txt'), 'no manifest'))).toEqual([]);
    expect((await look()).others).toEqual(['notes.txt']);
  });

  it('shows what was written, came, went and was renamed', async () => {
    expect(await changedBy(async () => writeFile(at('b.yaml'), 'longer than before'))).toEqual(['b.yaml']);
    expect(await changedBy(async () => writeFile(at('d.yaml'), 'new'))).toEqual(['d.yaml']);
    expect(await changedBy(async () => rm(at('a.yaml')))).toEqual(['a.yaml']);
    expect(await changedBy(async () => rename(at('b.yaml'), at('a.yaml')))).toEqual(['a.yaml', 'b.yaml']);
    expect([...(await look()).files.keys()]).toEqual(['a.yaml', 'c.yaml', 'd.yaml']);
  });

  it('shows another content of the same size and time, in place or not', async () => {
    const then = new Date('2026-01-01');
    for (const name of ['a.yaml', 'b.yaml']) await utimes(at(name), then, then);
    const inPlace = async (): Promise<void> => {
      await writeFile(at('a.yaml'), 'two');
      await utimes(at('a.yaml'), then, then);
    };
    expect(await changedBy(inPlace)).toEqual(['a.yaml']);
    const replaced = async (): Promise<void> => {
      await writeFile(join(root, 'elsewhere'), 'two');
      await utimes(join(root, 'elsewhere'), then, then);
      await rename(join(root, 'elsewhere'), at('b.yaml'));
    };
    expect(await changedBy(replaced)).toEqual(['b.yaml']);
  });

  it('shows what is written to the target of a link, or under another name of the file', async () => {
    await writeFile(join(root, 'target'), 'one');
    await symlink(join(root, 'target'), at('link.yaml'));
    await link(at('c.yaml'), join(root, 'twin'));
    const { files } = await look();
    const sole = [...files].filter(([, { isSole }]) => isSole).map(([name]) => name);
    expect(sole).toEqual(['a.yaml', 'b.yaml']);
    expect(await changedBy(async () => undefined)).toEqual([]);
    expect(await changedBy(async () => writeFile(join(root, 'target'), 'another'))).toEqual(['link.yaml']);
    expect(await changedBy(async () => writeFile(join(root, 'twin'), 'another'))).toEqual(['c.yaml']);
    expect(await changedBy(async () => rm(join(root, 'target')))).toEqual(['link.yaml']);
    expect(await changedBy(async () => rm(join(root, 'twin')))).toEqual(['c.yaml']);
    expect((await look()).files.get('c.yaml')).toMatchObject({ isSole: true });
  });

  it('shows when a file becomes a folder or a link, or may not be looked at otherwise than before', async () => {
    expect(await changedBy(async () => chmod(at('a.yaml'), 0o600))).toEqual(['a.yaml']);
    const toFolder = async (): Promise<void> => rm(at('a.yaml')).then(async () => mkdir(at('a.yaml')));
    expect(await changedBy(toFolder)).toEqual(['a.yaml']);
    const toLink = async (): Promise<void> => {
      await rename(at('b.yaml'), join(root, 'moved'));
      await symlink(join(root, 'moved'), at('b.yaml'));
    };
    expect(await changedBy(toLink)).toEqual(['b.yaml']);
  });

  it('is of the folder that is there now', async () => {
    const before = await look();
    await rename(join(root, 'pods'), join(root, 'old'));
    expect(await folder.look(false)).toEqual({ kind: 'missing' });
    await mkdir(join(root, 'pods'));
    const after = await look();
    expect([before.files.size, after.files.size]).toEqual([3, 0]);
    expect(after.identity).not.toBe(before.identity);
  });
});
