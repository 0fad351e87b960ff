import { lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TarMember } from '#support/builders/pack-tar.js';
import { IS_ROOT, NOTHING_OUTSIDE, RootHarness } from '#support/harness/root-harness.js';
import { type UnpackLimits } from './archive/unpack-limits.js';

let lab: RootHarness;

beforeEach(async () => {
  lab = await RootHarness.make();
});

afterEach(() => lab[Symbol.asyncDispose]());

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
    await expect(lab.unpack([members], { privileged: IS_ROOT })).rejects.toMatchObject({
      code: status.UNKNOWN,
    });
    expect(await lab.lookOutside()).toEqual(NOTHING_OUTSIDE);
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
    const before = await lstat(join(lab.folder, 'outside'));
    await lab.unpack([members]);
    expect(await lab.lookOutside()).toEqual(NOTHING_OUTSIDE);
    const after = await lstat(join(lab.folder, 'outside'));
    expect([after.mode, after.mtimeMs]).toEqual([before.mode, before.mtimeMs]);
  });

  it('of any order of links, folders, files and whiteouts stays inside', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aMember, { minLength: 2, maxLength: 12 }), async (members) => {
        await rm(lab.root, { recursive: true, force: true });
        await mkdir(lab.root);
        await lab.unpack([members.slice(0, 6), members.slice(6)]).catch((error: unknown) => {
          expect(error).toMatchObject({ code: status.UNKNOWN });
        });
        expect(await lab.lookOutside()).toEqual(NOTHING_OUTSIDE);
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
    await expect(lab.unpack([members], { limits })).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    });
  });

  it('is left half way when nobody wants it any more', async () => {
    const stop = AbortSignal.abort(new Error('gone'));
    await expect(lab.unpack([[{ name: 'a' }]], { signal: stop })).rejects.toThrow('gone');
    expect(await lab.tree()).toEqual({});
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
