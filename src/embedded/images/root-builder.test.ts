import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packTar, type TarMember } from '../../testing/pack-tar.js';
import { StreamSource } from './byte-source.js';
import { RootBuilder, type UnpackReport } from './root-builder.js';
import { readTar } from './tar-reader.js';
import { UNPACK_LIMITS, type UnpackLimits } from './unpack-limits.js';

const IS_ROOT = process.getuid?.() === 0;
let folder: string;
let root: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-root-'));
  root = join(folder, 'root');
  await mkdir(root);
  await mkdir(join(folder, 'outside'));
  await writeFile(join(folder, 'outside', 'precious'), 'precious');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

interface Settings {
  readonly privileged?: boolean;
  readonly limits?: Partial<UnpackLimits>;
  readonly signal?: AbortSignal;
}

async function unpack(
  layers: readonly (readonly TarMember[])[],
  settings: Settings = {},
): Promise<UnpackReport> {
  const { privileged = IS_ROOT, limits, signal = new AbortController().signal } = settings;
  const builder = new RootBuilder({ root, privileged, limits: { ...UNPACK_LIMITS, ...limits }, signal });
  for (const layer of layers) await builder.addLayer(readTar(new StreamSource(inOne(packTar(layer)))));
  return builder.finish();
}

async function* inOne(archive: Buffer): AsyncGenerator<Buffer> {
  yield archive;
}

/** Every path in the root with what is there: `/` for a folder, `-> target` for a link, the text of a file. */
async function tree(): Promise<Record<string, string>> {
  const names = await listBelow(root);
  const entries = await Promise.all(
    names.map(async (name) => {
      const path = join(root, name);
      const facts = await lstat(path);
      if (facts.isDirectory()) return [name, '/'];
      if (facts.isSymbolicLink()) return [name, `-> ${await readlink(path)}`];
      return [name, facts.isFile() ? await readFile(path, 'utf8') : '?'];
    }),
  );
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Every path below a folder; readdir's own recursion would follow links. */
async function listBelow(top: string): Promise<string[]> {
  const entries = await readdir(top, { withFileTypes: true });
  const below = entries.map(async (entry) => {
    const inside = entry.isDirectory() ? await listBelow(join(top, entry.name)) : [];
    return [entry.name, ...inside.map((name) => `${entry.name}/${name}`)];
  });
  return (await Promise.all(below)).flat().sort();
}

/** Nothing beside the root was made, removed or changed. */
async function expectNothingOutside(): Promise<void> {
  expect((await readdir(folder)).sort()).toEqual(['outside', 'root']);
  expect(await listBelow(join(folder, 'outside'))).toEqual(['precious']);
  expect(await readFile(join(folder, 'outside', 'precious'), 'utf8')).toBe('precious');
  expect((await lstat(join(folder, 'outside', 'precious'))).mode & 0o7777).not.toBe(0o4777);
}

describe('unpacking layers', () => {
  it('makes files, folders and links as they are', async () => {
    await unpack([
      [
        { name: './' },
        { name: './usr/bin/', mode: 0o755 },
        { name: '/usr/bin/tool', mode: 0o711, mtime: 1_000_000, content: 'tool' },
        { name: 'bin', linkTo: 'usr/bin' },
        { name: 'usr/bin/same', hardLinkTo: 'usr/bin/tool' },
        { name: 'anywhere', linkTo: '/no/such/place' },
      ],
    ]);
    expect(await tree()).toEqual({
      anywhere: '-> /no/such/place',
      bin: '-> usr/bin',
      usr: '/',
      'usr/bin': '/',
      'usr/bin/same': 'tool',
      'usr/bin/tool': 'tool',
    });
    const tool = await lstat(join(root, 'usr/bin/tool'));
    expect(tool).toMatchObject({ nlink: 2, mtimeMs: 1_000_000_000 });
    expect(tool.ino).toBe((await lstat(join(root, 'usr/bin/same'))).ino);
  });

  it('gives folders their own times, although files come into them later', async () => {
    await unpack([
      [{ name: 'a/', mtime: 1_000 }, { name: 'a/b/', mtime: 2_000 }, { name: 'a/b/c' }],
      [{ name: 'a/b/', mtime: 3_000 }, { name: 'a/b/d' }],
    ]);
    expect((await lstat(join(root, 'a'))).mtimeMs).toBe(1_000_000);
    expect((await lstat(join(root, 'a/b'))).mtimeMs).toBe(3_000_000);
  });

  it('follows links of the same layer as a chroot does', async () => {
    await unpack([
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
    expect(await tree()).toEqual({
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
    await unpack([
      [{ name: 'usr/lib/' }, { name: 'lib', linkTo: 'usr/lib' }, { name: 'file', content: 'x' }],
      [
        { name: 'lib/one', content: '1' },
        { name: 'file/two', content: '2' },
      ],
    ]);
    expect(await tree()).toEqual({
      file: '/',
      'file/two': '2',
      lib: '/',
      'lib/one': '1',
      usr: '/',
      'usr/lib': '/',
    });
  });

  it('replaces what a lower layer has of another kind', async () => {
    await unpack([
      [
        { name: 'a/' },
        { name: 'a/x', content: 'x' },
        { name: 'b', content: 'b' },
        { name: 'c', linkTo: 'a' },
      ],
      [{ name: 'a', content: 'file' }, { name: 'b/' }, { name: 'c/' }, { name: 'c/y', content: 'y' }],
    ]);
    expect(await tree()).toEqual({ a: 'file', b: '/', c: '/', 'c/y': 'y' });
  });

  it('leaves the other names of a file alone when one is replaced', async () => {
    await unpack([
      [
        { name: 'a', content: 'old' },
        { name: 'b', hardLinkTo: 'a' },
      ],
      [{ name: 'a', content: 'new' }],
    ]);
    expect(await tree()).toEqual({ a: 'new', b: 'old' });
  });

  it('keeps holes of sparse files', async () => {
    const pax = { 'GNU.sparse.map': '0,1,1000000,1', 'GNU.sparse.size': '50000000' };
    await unpack([[{ name: 'sparse', content: 'ab', pax }]]);
    const { size, blocks } = await lstat(join(root, 'sparse'));
    expect(size).toBe(50_000_000);
    expect(blocks * 512).toBeLessThan(1_000_000);
  });

  it('makes named pipes', async () => {
    await unpack([[{ name: 'pipe', fifo: true, mode: 0o640 }]]);
    const facts = await lstat(join(root, 'pipe'));
    expect(facts.isFIFO()).toBe(true);
    expect(facts.mode & 0o7777).toBe(0o640);
  });

  it('counts attributes that it leaves out', async () => {
    const pax = { 'SCHILY.xattr.user.a': 'b', 'SCHILY.xattr.trusted.overlay.opaque': 'y' };
    expect(await unpack([[{ name: 'a', pax }]])).toEqual({ devices: 0, attributes: 2 });
  });
});

describe('a whiteout', () => {
  it('removes a file, a folder with all that is in it, or a link and not what it leads to', async () => {
    await unpack([
      [
        { name: 'a/b/c', content: 'c' },
        { name: 'file' },
        { name: 'kept', content: 'k' },
        { name: 'link', linkTo: 'kept' },
      ],
      [{ name: 'a/.wh.b' }, { name: '.wh.file' }, { name: '.wh.link' }, { name: '.wh.never-there' }],
    ]);
    expect(await tree()).toEqual({ a: '/', kept: 'k' });
  });

  it.each([
    ['before', true],
    ['behind', false],
  ])('that stands %s what its own layer brings removes only what was there', async (_where, first) => {
    const whiteouts = [{ name: '.wh.a' }, { name: 'd/.wh..wh..opq' }, { name: '.wh.e' }];
    const news = [
      { name: 'a', content: 'new' },
      { name: 'd/new/x', content: 'x' },
      { name: 'e/y', content: 'y' },
    ];
    await unpack([
      [
        { name: 'a', content: 'old' },
        { name: 'd/old', content: 'old' },
        { name: 'd/new/old', content: 'old' },
        { name: 'e/old', content: 'old' },
      ],
      first ? [...whiteouts, ...news] : [...news, ...whiteouts],
    ]);
    expect(await tree()).toEqual({
      a: 'new',
      d: '/',
      'd/new': '/',
      'd/new/x': 'x',
      e: '/',
      'e/y': 'y',
    });
  });

  it('of a whole folder leaves the folder', async () => {
    await unpack([[{ name: 'd/a' }, { name: 'd/b/c' }], [{ name: 'd/.wh..wh..opq' }]]);
    expect(await tree()).toEqual({ d: '/' });
  });

  it('in a folder that is not there, or of an older kind, removes nothing, and the folder is made', async () => {
    await unpack([
      [{ name: 'a' }],
      [{ name: 'no/.wh.a' }, { name: '.wh..wh.plnk' }, { name: '.wh..wh..wh.a' }],
    ]);
    expect(await tree()).toEqual({ a: '', no: '/' });
  });

  it.each(['.wh.', '.wh..', '.wh...'])('called %s is refused', async (name) => {
    await expect(unpack([[{ name: 'd/x' }], [{ name: `d/${name}` }]])).rejects.toThrow('removes no file');
    await expectNothingOutside();
  });

  it('removes nothing outside, whatever links are on the way', async () => {
    await unpack([
      [
        { name: 'out', linkTo: '../outside' },
        { name: 'abs', linkTo: join(folder, 'outside') },
      ],
      [{ name: 'out/.wh.precious' }, { name: 'abs/.wh.precious' }, { name: 'out/.wh..wh..opq' }],
    ]);
    await expectNothingOutside();
  });
});

describe('a hostile archive', () => {
  it.each<[string, TarMember[]]>([
    ['a path with ..', [{ name: '../outside/precious', content: 'evil' }]],
    ['a path with .. in its middle', [{ name: 'a/../../outside/precious', content: 'evil' }]],
    ['a folder called ..', [{ name: '../', mode: 0o777 }]],
    ['a hard link whose target has ..', [{ name: 'a', hardLinkTo: '../outside/precious' }]],
    ['a hard link to a file of the host', [{ name: 'a', hardLinkTo: '/etc/passwd' }]],
    ['a hard link to a folder', [{ name: 'd/' }, { name: 'a', hardLinkTo: 'd' }]],
    ['a hard link to the root', [{ name: 'a', hardLinkTo: './' }]],
    ['a root that is a link', [{ name: './', linkTo: '/etc' }]],
    [
      'a file below a file',
      [
        { name: 'a', content: 'x' },
        { name: 'a/b', content: 'y' },
      ],
    ],
    ['links in a circle', [{ name: 'a', linkTo: 'b' }, { name: 'b', linkTo: 'a' }, { name: 'a/c' }]],
    ['a link to nothing', [{ name: 'a', claims: { flag: '2' } }]],
    ['a name with a zero in it', [{ name: 'a', pax: { path: 'a\0b' } }]],
    ['a name that is too long', [{ name: 'n'.repeat(300) }]],
    ['a path that is too long', [{ name: 'p/'.repeat(3_000) }]],
    ['an owner that nobody can be', [{ name: 'a', uid: 2 ** 40 }]],
  ])('with %s is refused, and nothing outside is touched', async (_what, members) => {
    await expect(unpack([members], { privileged: IS_ROOT })).rejects.toMatchObject({ code: status.UNKNOWN });
    await expectNothingOutside();
  });

  it.each<[string, TarMember[]]>([
    [
      'through a relative link',
      [
        { name: 'l', linkTo: '../outside' },
        { name: 'l/precious', content: 'evil', mode: 0o4777 },
      ],
    ],
    [
      'through a link with many steps up',
      [
        { name: 'l', linkTo: `${'../'.repeat(30)}tmp` },
        { name: 'l/precious', content: 'evil' },
      ],
    ],
    [
      'through links one behind the other',
      [
        { name: 'a', linkTo: '..' },
        { name: 'b', linkTo: 'a/../..' },
        { name: 'b/outside/precious', content: 'evil' },
      ],
    ],
    [
      'onto a link',
      [
        { name: 'l', linkTo: '../outside/precious' },
        { name: 'l', content: 'evil', mode: 0o4777 },
      ],
    ],
    [
      'onto a link, as a folder',
      [
        { name: 'l', linkTo: '../outside' },
        { name: 'l/', mode: 0o4777 },
      ],
    ],
    [
      'through a hard link to a link',
      [
        { name: 'l', linkTo: '../outside/precious' },
        { name: 'h', hardLinkTo: 'l' },
        { name: 'h', content: 'evil', mode: 0o4777 },
      ],
    ],
    [
      'by the times of a folder whose place a link takes',
      [{ name: 'a/outside/' }, { name: 'a', linkTo: '..' }],
    ],
    [
      'by a pipe onto a link',
      [
        { name: 'l', linkTo: '../outside/new' },
        { name: 'l', fifo: true },
      ],
    ],
    [
      'by a folder that becomes a link while it is known',
      [{ name: 'd/x' }, { name: 'd', linkTo: '../outside' }, { name: 'd/precious', content: 'evil' }],
    ],
  ])('that would write %s stays inside', async (_what, members) => {
    const before = await lstat(join(folder, 'outside'));
    await unpack([members]);
    await expectNothingOutside();
    const after = await lstat(join(folder, 'outside'));
    expect([after.mode, after.mtimeMs]).toEqual([before.mode, before.mtimeMs]);
  });

  it('of any order of links, folders, files and whiteouts stays inside', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aMember, { minLength: 2, maxLength: 12 }), async (members) => {
        await rm(root, { recursive: true, force: true });
        await mkdir(root);
        await unpack([members.slice(0, 6), members.slice(6)]).catch((error: unknown) => {
          expect(error).toMatchObject({ code: status.UNKNOWN });
        });
        await expectNothingOutside();
      }),
      { numRuns: 150 },
    );
  });

  it.each<[string, TarMember[], Partial<UnpackLimits>]>([
    ['more bytes', [{ name: 'a', claims: { size: 1_001 } }], { bytes: 1_000 }],
    [
      'more bytes in its holes',
      [{ name: 'a', pax: { 'GNU.sparse.map': '0,0', 'GNU.sparse.size': '1001' } }],
      { bytes: 1_000 },
    ],
    ['more entries', [{ name: 'a' }, { name: 'a' }, { name: 'a' }], { entries: 2 }],
    ['more than the disk has', [{ name: 'a', content: 'x' }], { freeBytes: 2 ** 60, freeShare: 2 }],
  ])('with %s than is allowed is refused before it is written', async (_what, members, limits) => {
    await expect(unpack([members], { limits })).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  it('is left half way when nobody wants it any more', async () => {
    const stop = AbortSignal.abort(new Error('gone'));
    await expect(unpack([[{ name: 'a' }]], { signal: stop })).rejects.toThrow('gone');
    expect(await tree()).toEqual({});
  });
});

describe('without root', () => {
  it('nothing is setuid, everything is readable to its owner, devices are left out', async () => {
    const report = await unpack(
      [
        [
          { name: 'su', mode: 0o6755 },
          { name: 'shadow', mode: 0o000, uid: 1, gid: 42 },
          { name: 'shut/', mode: 0o000 },
          { name: 'shut/in', content: 'x' },
          { name: 'tmp/', mode: 0o1777 },
          { name: 'dev/sda', device: { kind: 'block', major: 8, minor: 0 } },
        ],
      ],
      { privileged: false },
    );
    const modeOf = async (name: string) => (await lstat(join(root, name))).mode & 0o7777;
    expect(await modeOf('su')).toBe(0o755);
    expect(await modeOf('shadow')).toBe(0o400);
    expect(await modeOf('shut')).toBe(0o700);
    expect(await modeOf('tmp')).toBe(0o1777);
    expect((await lstat(join(root, 'shadow'))).uid).toBe(process.getuid?.());
    expect(await tree()).not.toHaveProperty('dev/sda');
    expect(report.devices).toBe(1);
  });
});

describe.runIf(IS_ROOT)('as root', () => {
  it('owners, setuid bits and the owners of links are kept', async () => {
    await unpack([
      [
        { name: 'su', mode: 0o6755, uid: 7, gid: 8 },
        { name: 'link', linkTo: 'su', uid: 9, gid: 10 },
        { name: 'd/', mode: 0o2775, uid: 11, gid: 12 },
      ],
    ]);
    const factsOf = async (name: string) => {
      const { uid, gid, mode } = await lstat(join(root, name));
      return [uid, gid, mode & 0o7777];
    };
    expect(await factsOf('su')).toEqual([7, 8, 0o6755]);
    expect((await factsOf('link')).slice(0, 2)).toEqual([9, 10]);
    expect(await factsOf('d')).toEqual([11, 12, 0o2775]);
  });

  it('file capabilities are kept, or counted where they cannot be', async () => {
    // cap_net_bind_service, effective and permitted, as the kernel stores it.
    const capabilities = '\u0001\0\0\u0002\0\u0004\0\0\0\0\0\0\0\0\0\0\0\0\0\0';
    const content = 'x'.repeat(70_000);
    const pax = { 'SCHILY.xattr.security.capability': capabilities, 'SCHILY.xattr.user.a': 'b' };
    const { attributes } = await unpack([
      [
        { name: 'bin/server', content, mode: 0o750, uid: 3_000_000, gid: 4, mtime: 1_000, pax },
        { name: 'next' },
      ],
    ]);
    const path = join(root, 'bin/server');
    expect(await readFile(path, 'utf8')).toBe(content);
    const { uid, gid, mode, mtimeMs } = await lstat(path);
    expect([uid, gid, mode & 0o7777, mtimeMs]).toEqual([3_000_000, 4, 0o750, 1_000_000]);
    expect((await readdir(folder)).sort()).toEqual(['outside', 'root']);
    if (attributes === 2) return;
    expect(attributes).toBe(1);
    const { stdout } = await promisify(execFile)(
      'tar',
      ['-c', '--xattrs', '--xattrs-include=*', '-C', join(root, 'bin'), 'server'],
      { encoding: 'buffer' },
    );
    for await (const entry of readTar(new StreamSource(inOne(stdout))))
      expect([...entry.attributes]).toEqual([['security.capability', capabilities]]);
  });

  it('devices are made, or counted where the right is missing, and overlay marks left out', async () => {
    const character = { kind: 'character', major: 1, minor: 3 } as const;
    const { devices } = await unpack([
      [
        { name: 'null', mode: 0o666, device: character },
        { name: 'mark', device: { ...character, major: 0, minor: 0 } },
      ],
    ]);
    expect(await tree()).toEqual(devices === 0 ? { null: '?' } : {});
    if (devices > 0) return;
    const { stdout } = await promisify(execFile)('stat', ['-c', '%F %t %T %a', join(root, 'null')]);
    expect(stdout.trim()).toBe('character special file 1 3 666');
  });
});

const NAMES = ['a', 'b', 'a/b', 'b/a', 'a/outside', 'outside', 'precious', 'a/precious', 'outside/precious'];
const TARGETS = ['..', '../outside', '/', 'a', 'b', 'a/..', '../..', 'outside', '../outside/precious', '.'];
const aName = fc.constantFrom(...NAMES);
const aMember: fc.Arbitrary<TarMember> = fc.oneof(
  fc.record({ name: aName, content: fc.constant('evil'), mode: fc.constant(0o4777) }),
  fc.record({ name: aName.map((name) => `${name}/`), mode: fc.constant(0o4777) }),
  fc.record({ name: aName, linkTo: fc.constantFrom(...TARGETS) }),
  fc.record({ name: aName, hardLinkTo: aName }),
  fc.record({ name: aName.map((name) => name.replace(/(^|\/)(\w+)$/, '$1.wh.$2')) }),
  fc.record({ name: aName.map((name) => `${name}/.wh..wh..opq`) }),
);
