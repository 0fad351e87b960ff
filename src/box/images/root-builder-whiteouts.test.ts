import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOTHING_OUTSIDE, RootHarness } from '#support/harness/root-harness.js';

let lab: RootHarness;

beforeEach(async () => {
  lab = await RootHarness.make();
});

afterEach(() => lab[Symbol.asyncDispose]());

describe('a whiteout', () => {
  it('removes a file, a folder with all that is in it, or a link and not what it leads to', async () => {
    await lab.unpack([
      [
        { name: 'a/b/c', content: 'c' },
        { name: 'file' },
        { name: 'kept', content: 'k' },
        { name: 'link', linkTo: 'kept' },
      ],
      [{ name: 'a/.wh.b' }, { name: '.wh.file' }, { name: '.wh.link' }, { name: '.wh.never-there' }],
    ]);
    expect(await lab.tree()).toEqual({ a: '/', kept: 'k' });
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
    await lab.unpack([
      [
        { name: 'a', content: 'old' },
        { name: 'd/old', content: 'old' },
        { name: 'd/new/old', content: 'old' },
        { name: 'e/old', content: 'old' },
      ],
      first ? [...whiteouts, ...news] : [...news, ...whiteouts],
    ]);
    expect(await lab.tree()).toEqual({
      a: 'new',
      d: '/',
      'd/new': '/',
      'd/new/x': 'x',
      e: '/',
      'e/y': 'y',
    });
  });

  it('of a whole folder leaves the folder', async () => {
    await lab.unpack([[{ name: 'd/a' }, { name: 'd/b/c' }], [{ name: 'd/.wh..wh..opq' }]]);
    expect(await lab.tree()).toEqual({ d: '/' });
  });

  it('in a folder that is not there, or of an older kind, removes nothing, and the folder is made', async () => {
    await lab.unpack([
      [{ name: 'a' }],
      [{ name: 'no/.wh.a' }, { name: '.wh..wh.plnk' }, { name: '.wh..wh..wh.a' }],
    ]);
    expect(await lab.tree()).toEqual({ a: '', no: '/' });
  });

  it.each(['.wh.', '.wh..', '.wh...'])('called %s is refused', async (name) => {
    await expect(lab.unpack([[{ name: 'd/x' }], [{ name: `d/${name}` }]])).rejects.toThrow('removes no file');
    expect(await lab.lookOutside()).toEqual(NOTHING_OUTSIDE);
  });

  it('removes nothing outside, whatever links are on the way', async () => {
    await lab.unpack([
      [
        { name: 'out', linkTo: '../outside' },
        { name: 'abs', linkTo: join(lab.folder, 'outside') },
      ],
      [{ name: 'out/.wh.precious' }, { name: 'abs/.wh.precious' }, { name: 'out/.wh..wh..opq' }],
    ]);
    expect(await lab.lookOutside()).toEqual(NOTHING_OUTSIDE);
  });
});
