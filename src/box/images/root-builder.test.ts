import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RootHarness } from '#support/harness/root-harness.js';

let lab: RootHarness;

beforeEach(async () => {
  lab = await RootHarness.make();
});

afterEach(() => lab[Symbol.asyncDispose]());

describe('unpacking layers', () => {
  it('makes files, folders and links as they are', async () => {
    await lab.unpack([
      [
        { name: './' },
        { name: './usr/bin/', mode: 0o755 },
        { name: '/usr/bin/tool', mode: 0o711, mtime: 1_000_000, content: 'tool' },
        { name: 'bin', linkTo: 'usr/bin' },
        { name: 'usr/bin/same', hardLinkTo: 'usr/bin/tool' },
        { name: 'anywhere', linkTo: '/no/such/place' },
      ],
    ]);
    expect(await lab.tree()).toEqual({
      anywhere: '-> /no/such/place',
      bin: '-> usr/bin',
      usr: '/',
      'usr/bin': '/',
      'usr/bin/same': 'tool',
      'usr/bin/tool': 'tool',
    });
    const tool = await lstat(join(lab.root, 'usr/bin/tool'));
    expect(tool).toMatchObject({ nlink: 2, mtimeMs: 1_000_000_000 });
    expect(tool.ino).toBe((await lstat(join(lab.root, 'usr/bin/same'))).ino);
  });

  it('gives folders their own times, although files come into them later', async () => {
    await lab.unpack([
      [{ name: 'a/', mtime: 1_000 }, { name: 'a/b/', mtime: 2_000 }, { name: 'a/b/c' }],
      [{ name: 'a/b/', mtime: 3_000 }, { name: 'a/b/d' }],
    ]);
    expect((await lstat(join(lab.root, 'a'))).mtimeMs).toBe(1_000_000);
    expect((await lstat(join(lab.root, 'a/b'))).mtimeMs).toBe(3_000_000);
  });

  it('follows links of the same layer as a chroot does', async () => {
    await lab.unpack([
      [{ name: 'usr/lib/lower', content: '0' }],
      [
        { name: 'lib', linkTo: 'usr/lib' },
        { name: 'abs', linkTo: '/usr/lib' },
        { name: 'lib/one', content: '1' },
        { name: 'abs/two', content: '2' },
        { name: 'lib/hard', hardLinkTo: 'abs/two' },
        { name: 'abs/.wh.lower' },
      ],
    ]);
    expect(await lab.tree()).toEqual({
      abs: '-> /usr/lib',
      lib: '-> usr/lib',
      usr: '/',
      'usr/lib': '/',
      'usr/lib/hard': '2',
      'usr/lib/one': '1',
      'usr/lib/two': '2',
    });
  });

  it('lets links and files of lower layers give way to folders that a layer needs, as overlayfs does', async () => {
    await lab.unpack([
      [{ name: 'usr/lib/' }, { name: 'lib', linkTo: 'usr/lib' }, { name: 'file', content: 'x' }],
      [
        { name: 'lib/one', content: '1' },
        { name: 'file/two', content: '2' },
      ],
    ]);
    expect(await lab.tree()).toEqual({
      file: '/',
      'file/two': '2',
      lib: '/',
      'lib/one': '1',
      usr: '/',
      'usr/lib': '/',
    });
  });

  it('replaces what a lower layer has of another kind', async () => {
    await lab.unpack([
      [
        { name: 'a/' },
        { name: 'a/x', content: 'x' },
        { name: 'b', content: 'b' },
        { name: 'c', linkTo: 'a' },
      ],
      [{ name: 'a', content: 'file' }, { name: 'b/' }, { name: 'c/' }, { name: 'c/y', content: 'y' }],
    ]);
    expect(await lab.tree()).toEqual({ a: 'file', b: '/', c: '/', 'c/y': 'y' });
  });

  it('leaves the other names of a file alone when one is replaced', async () => {
    await lab.unpack([
      [
        { name: 'a', content: 'old' },
        { name: 'b', hardLinkTo: 'a' },
      ],
      [{ name: 'a', content: 'new' }],
    ]);
    expect(await lab.tree()).toEqual({ a: 'new', b: 'old' });
  });

  it('keeps holes of sparse files', async () => {
    const pax = { 'GNU.sparse.map': '0,1,1000000,1', 'GNU.sparse.size': '50000000' };
    await lab.unpack([[{ name: 'sparse', content: 'ab', pax }]]);
    const { size, blocks } = await lstat(join(lab.root, 'sparse'));
    expect(size).toBe(50_000_000);
    expect(blocks * 512).toBeLessThan(1_000_000);
  });

  it('makes named pipes', async () => {
    await lab.unpack([[{ name: 'pipe', fifo: true, mode: 0o640 }]]);
    const facts = await lstat(join(lab.root, 'pipe'));
    expect(facts.isFIFO()).toBe(true);
    expect(facts.mode & 0o7777).toBe(0o640);
  });

  it('counts attributes that it leaves out', async () => {
    const pax = { 'SCHILY.xattr.user.a': 'b', 'SCHILY.xattr.trusted.overlay.opaque': 'y' };
    expect(await lab.unpack([[{ name: 'a', pax }]])).toEqual({ devices: 0, attributes: 2 });
  });
});
