import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packRaw, packTar, type TarMember } from '#support/builders/pack-tar.js';
import { StreamSource } from './byte-source.js';
import { readTar } from './tar-reader.js';

interface Seen {
  readonly kind: string;
  readonly name: string;
  readonly linkName: string;
  readonly size: number;
  readonly text: string;
}

async function* inChunks(archive: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < archive.length; at += size) yield archive.subarray(at, at + size);
}

async function readAll(archive: Buffer, chunk = 4_096): Promise<Seen[]> {
  const seen: Seen[] = [];
  for await (const { kind, name, linkName, size, content } of readTar(
    new StreamSource(inChunks(archive, chunk)),
  )) {
    const whole = Buffer.alloc(size);
    for await (const { offset, data } of content()) data.copy(whole, offset);
    seen.push({ kind, name, linkName, size, text: whole.toString() });
  }
  return seen;
}

const end = Buffer.alloc(1024);

describe('reading an archive', () => {
  it('gives members of every kind with what is in them', async () => {
    const archive = packTar([
      { name: 'a/' },
      { name: 'a/file', content: 'hello' },
      { name: 'a/link', linkTo: 'file' },
      { name: 'a/hard', hardLinkTo: 'a/file' },
      { name: 'dev/null', device: { kind: 'character', major: 1, minor: 3 } },
      { name: 'dev/sda', device: { kind: 'block', major: 8, minor: 0 } },
      { name: 'pipe', fifo: true },
    ]);
    const seen = await readAll(archive);
    expect(seen.map(({ kind, name, linkName, text }) => [kind, name, linkName, text])).toEqual([
      ['folder', 'a/', '', ''],
      ['file', 'a/file', '', 'hello'],
      ['symlink', 'a/link', 'file', ''],
      ['link', 'a/hard', 'a/file', ''],
      ['character', 'dev/null', '', ''],
      ['block', 'dev/sda', '', ''],
      ['fifo', 'pipe', '', ''],
    ]);
  });

  it('reads long names and other records of extended headers', async () => {
    const name = `${'folder/'.repeat(40)}file-é`;
    const target = 't'.repeat(300);
    const seen = await readAll(
      packTar([
        { name, content: 'x' },
        { name: 'l', linkTo: target },
      ]),
    );
    expect(seen.map(({ name, linkName }) => [name, linkName])).toEqual([
      [name, ''],
      ['l', target],
    ]);
  });

  it('reads owners, times and attributes from extended headers over those of the header', async () => {
    const pax = { uid: '70000', gid: '80000', mtime: '12.5', 'SCHILY.xattr.user.a': 'b=c\nd' };
    const archive = packTar([{ name: 'a', uid: 1, gid: 2, mtime: 3, mode: 0o4755, pax }]);
    for await (const entry of readTar(new StreamSource(inChunks(archive, 100)))) {
      expect(entry).toMatchObject({ uid: 70_000, gid: 80_000, mtime: 12.5, mode: 0o4755 });
      expect([...entry.attributes]).toEqual([['user.a', 'b=c\nd']]);
    }
    expect.assertions(2);
  });

  it('reads numbers that are too large or too small for octal digits', async () => {
    const archive = packTar([{ name: 'a', uid: 3_000_000, mtime: -5 }]);
    for await (const entry of readTar(new StreamSource(inChunks(archive, 512))))
      expect(entry).toMatchObject({ uid: 3_000_000, mtime: -5 });
    expect.assertions(1);
  });

  it("reads GNU's long names", async () => {
    const name = 'n'.repeat(200);
    const archive = Buffer.concat([
      ...packRaw('././@LongLink', 'L', Buffer.from(`${name}\0`)),
      ...packRaw('././@LongLink', 'K', Buffer.from(`${name}2\0`)),
      packTar([{ name: 'short', linkTo: 'short' }]),
    ]);
    expect(await readAll(archive)).toMatchObject([{ kind: 'symlink', name, linkName: `${name}2` }]);
  });

  it('applies a global header to what follows, until another one', async () => {
    const archive = Buffer.concat([
      ...packRaw('g', 'g', Buffer.from('18 linkpath=other\n')),
      packTar([
        { name: 'l', linkTo: 'x' },
        { name: 'm', linkTo: 'y' },
      ]),
    ]);
    expect((await readAll(archive)).map(({ linkName }) => linkName)).toEqual(['other', 'other']);
  });

  it('needs no blocks of zeros at the end, and reads nothing behind them', async () => {
    const one = packTar([{ name: 'a', content: 'x' }]);
    expect(await readAll(one.subarray(0, -1024))).toHaveLength(1);
    expect(await readAll(Buffer.concat([one, one]))).toHaveLength(1);
    expect(await readAll(Buffer.alloc(0))).toEqual([]);
  });

  it('gives the same whatever the pieces are in which it comes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aMember, { maxLength: 6 }),
        fc.integer({ min: 1, max: 2_000 }),
        async (members, chunk) => {
          const seen = await readAll(packTar(members), chunk);
          expect(seen.map(({ name, text }) => [name, text])).toEqual(
            members.map(({ name, content }) => [name, content ?? '']),
          );
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('a sparse file', () => {
  const holes = `${'\0'.repeat(1000)}abc${'\0'.repeat(500)}de${'\0'.repeat(95)}`;
  const facts = { kind: 'file', name: 'real', size: 1600, text: holes };

  it('of format 0.0 has its holes', async () => {
    const records = ['GNU.sparse.size=1600', 'GNU.sparse.numblocks=2']
      .concat(['GNU.sparse.offset=1000', 'GNU.sparse.numbytes=3'])
      .concat(['GNU.sparse.offset=1503', 'GNU.sparse.numbytes=2']);
    const archive = Buffer.concat([
      ...packRaw('x', 'x', Buffer.concat(records.map(toRecord))),
      packTar([{ name: 'real', content: 'abcde' }]),
    ]);
    expect(await readAll(archive)).toMatchObject([facts]);
  });

  it('of format 0.1 has its holes', async () => {
    const pax = {
      'GNU.sparse.size': '1600',
      'GNU.sparse.numblocks': '2',
      'GNU.sparse.name': 'real',
      'GNU.sparse.map': '1000,3,1503,2',
    };
    expect(await readAll(packTar([{ name: 'GNUSparseFile.1/real', content: 'abcde', pax }]))).toMatchObject([
      facts,
    ]);
  });

  it('of format 1.0 has its holes', async () => {
    const pax = {
      'GNU.sparse.major': '1',
      'GNU.sparse.minor': '0',
      'GNU.sparse.name': 'real',
      'GNU.sparse.realsize': '1600',
    };
    const content = `${'2\n1000\n3\n1503\n2\n'.padEnd(512, '\0')}abcde`;
    const archive = packTar([
      { name: 'GNUSparseFile.1/real', content, pax },
      { name: 'next', content: 'n' },
    ]);
    expect(await readAll(archive)).toMatchObject([facts, { name: 'next', text: 'n' }]);
  });

  it("of GNU's own format has its holes, also where the map needs more blocks", async () => {
    const parts = Array.from({ length: 30 }, (_, index): [number, number] => [index * 10, 1]);
    const archive = Buffer.concat([
      ...toGnuSparse('real', 300, parts, 'x'.repeat(30)),
      packTar([{ name: 'next', content: 'n' }]),
    ]);
    expect(await readAll(archive)).toMatchObject([
      { name: 'real', size: 300, text: `x${'\0'.repeat(9)}`.repeat(30) },
      { name: 'next', text: 'n' },
    ]);
  });

  it.each([
    ['overlap', '0,4,2,1', '1600'],
    ['exceed the file', '0,3,1599,2', '1600'],
    ['are less than the data', '0,3', '1600'],
    ['come in an odd number', '0,3,5', '1600'],
    ['are no numbers', '0,x,5,2', '1600'],
    ['are beyond every number', `0,3,${'9'.repeat(30)},2`, '1600'],
  ])('whose parts %s is refused', async (_what, map, size) => {
    const pax = { 'GNU.sparse.map': map, 'GNU.sparse.size': size };
    await expect(readAll(packTar([{ name: 'a', content: 'abcde', pax }]))).rejects.toThrow('damaged');
  });
});

describe('a damaged archive', () => {
  it('is not read for ever when the map of a sparse file never ends', async () => {
    await expect(readAll(toEndlessMap(6_000), 512 * 64)).rejects.toThrow('too many parts');
  });

  const good = packTar([{ name: 'a', content: 'x'.repeat(600) }]);

  it.each([
    ['within a header', 300],
    ['within a content', 700],
    ['within the filling', 1_300],
  ])('that ends %s is refused', async (_what, length) => {
    await expect(readAll(good.subarray(0, length))).rejects.toThrow('damaged');
  });

  it.each<[string, Buffer]>([
    ['a wrong check sum', flip(good, 0)],
    ['a size that is no number', withField(good, 124, 'zzzzzzzzzzz')],
    ['an unknown type', Buffer.concat([...packRaw('a', 'Q', Buffer.alloc(0)), end])],
    ['an extended header that claims gigabytes', header('x', 8 * 1024 ** 3)],
    ['a long name that claims gigabytes', header('L', 8 * 1024 ** 3)],
    ['an extended header that claims more than any number', withBinarySize('x')],
    ['a file that claims more than any number', withBinarySize('0')],
    ['an extended header without a length', extended('path=x\n')],
    ['an extended header whose record is too long', extended('99 path=x\n')],
    ['an extended header whose record has no end', extended('9 path=xy')],
    ['an extended header without a key', extended('5 =x\n')],
    ['an extended header with a size that is no number', extended('10 size=x\n')],
    ['an extended header with a negative size', extended('11 size=-1\n')],
    ['an extended header and nothing behind it', Buffer.concat(packRaw('x', 'x', Buffer.from('9 path=a\n')))],
    [
      'a name that is not UTF-8',
      Buffer.concat([...packRaw('x', 'x', Buffer.from('9 path=\xff\n', 'latin1')), good]),
    ],
    ['more extended headers than anybody writes', Buffer.concat([...many(20), good])],
  ])('with %s is refused', async (_what, archive) => {
    await expect(readAll(archive)).rejects.toThrow('damaged');
  });

  it('is refused or read, and never read for ever, whatever byte is changed', async () => {
    const archive = packTar([
      { name: 'n'.repeat(120), content: 'abc' },
      { name: 'b', linkTo: 'a' },
    ]);
    await fc.assert(
      fc.asyncProperty(fc.nat(archive.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const changed = Buffer.from(archive);
        changed[at] = changed[at]! ^ change;
        const result = await readAll(changed).catch((error: unknown) => String(error));
        expect(Array.isArray(result) || /damaged/.test(result)).toBe(true);
      }),
    );
  });
});

const aMember: fc.Arbitrary<TarMember & { content?: string }> = fc.oneof(
  fc.record({ name: fc.stringMatching(/^[a-z/]{1,150}[a-z]$/), content: fc.string({ maxLength: 2_000 }) }),
  fc.record({ name: fc.stringMatching(/^[a-z]{1,20}\/$/) }),
);

function toRecord(text: string): Buffer {
  const rest = ` ${text}\n`;
  const length = rest.length + 2;
  return Buffer.from(`${length}${rest}`);
}

function many(count: number): Buffer[] {
  return Array.from({ length: count }, () => packRaw('x', 'x', Buffer.from('9 path=a\n'))).flat();
}

function extended(records: string): Buffer {
  return Buffer.concat([...packRaw('x', 'x', Buffer.from(records)), good()]);
}

function good(): Buffer {
  return packTar([{ name: 'a', content: 'x' }]);
}

function flip(archive: Buffer, at: number): Buffer {
  const changed = Buffer.from(archive);
  changed[at]! ^= 1;
  return changed;
}

function header(flag: string, size: number): Buffer {
  return packTar([{ name: 'a', claims: { flag, size } }]);
}

function withBinarySize(flag: string): Buffer {
  return withField(header(flag, 0), 124, '\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff');
}

/** Other bytes in the first header, and a check sum that is right. */
function withField(archive: Buffer, at: number, text: string): Buffer {
  const changed = Buffer.from(archive);
  changed.write(text, at, 'latin1');
  return withSum(changed);
}

function withSum(archive: Buffer): Buffer {
  archive.write(' '.repeat(8), 148, 'latin1');
  const sum = archive.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return archive;
}

/** A sparse file whose map blocks each say only that another one follows. */
function toEndlessMap(blocks: number): Buffer {
  const [block] = packRaw('endless', 'S', Buffer.alloc(0));
  block![482] = 1;
  const more = Buffer.alloc(512);
  more[504] = 1;
  return Buffer.concat([withSum(block!), ...Array.from({ length: blocks }, () => more)]);
}

/** GNU's own sparse format: the first parts in the header, the others in blocks behind it. */
function toGnuSparse(
  name: string,
  size: number,
  parts: readonly [number, number][],
  content: string,
): Buffer[] {
  const [block, ...data] = packRaw(name, 'S', Buffer.from(content));
  const octal = (target: Buffer, value: number, at: number) =>
    target.write(`${value.toString(8).padStart(11, '0')}\0`, at, 'latin1');
  const put = (target: Buffer, at: number, some: readonly [number, number][]) =>
    some.forEach(([offset, length], index) => {
      octal(target, offset, at + 24 * index);
      octal(target, length, at + 24 * index + 12);
    });
  put(block!, 386, parts.slice(0, 4));
  octal(block!, size, 483);
  const blocks: Buffer[] = [];
  for (let at = 4; at < parts.length; at += 21) {
    const more = Buffer.alloc(512);
    put(more, 0, parts.slice(at, at + 21));
    more[504] = at + 21 < parts.length ? 1 : 0;
    blocks.push(more);
  }
  block![482] = blocks.length > 0 ? 1 : 0;
  return [withSum(block!), ...blocks, ...data];
}
