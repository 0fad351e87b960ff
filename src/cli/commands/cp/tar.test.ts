import { execFile } from 'node:child_process';
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeText, readHeader } from '#base/wire/tar/tar-header.js';
import { encodeHeader, EntryKind, padding, type WrittenHeader } from '#base/wire/tar/tar-writer.js';
import { namePrefix, readFileSpec } from './file-spec.js';
import { readSentTar } from './read-sent-tar.js';
import { TarUnpacker } from './unpack-tar.js';
import { writeTar } from './write-tar.js';

const run = promisify(execFile);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-tar-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** An entry of a tar that somebody has made up. */
function entry(header: Partial<WrittenHeader>, content = ''): Buffer {
  const body = Buffer.from(content);
  const whole = {
    name: 'x',
    kind: EntryKind.file,
    mode: 0o644,
    modified: 0,
    target: '',
    ...header,
    size: body.length,
  };
  return Buffer.concat([encodeHeader(whole), body, padding(body.length)]);
}

interface Unpacked {
  readonly warnings: readonly string[];
  readonly files: readonly string[];
}

/** Unpacks small chunks into `target` and returns what is below the folder afterwards. */
async function unpack(tar: Buffer, prefix: string, target = join(folder, 'target')): Promise<Unpacked> {
  const warnings: string[] = [];
  const warn = (message: string): Promise<void> => {
    warnings.push(message.replaceAll(folder, ''));
    return Promise.resolve();
  };
  const chunks = Array.from({ length: Math.ceil(tar.length / 100) }, (_, at) =>
    tar.subarray(at * 100, at * 100 + 100),
  );
  const unpacker = new TarUnpacker({ prefix, target, warn });
  await unpacker.unpack(readSentTar(Readable.from(chunks) as AsyncIterable<Buffer>));
  const files = await readdir(folder, { recursive: true });
  return { warnings, files: files.sort() };
}

const END = Buffer.alloc(1024);

describe('a tar of files', () => {
  it('is one that tar itself unpacks, links and long names included', async () => {
    const source = join(folder, 'source');
    const long = 'n'.repeat(120);
    await mkdir(join(source, 'empty'), { recursive: true });
    await writeFile(join(source, 'one'), 'one\n');
    await writeFile(join(source, long), 'x'.repeat(1000));
    await symlink('one', join(source, 'link'));
    await link(join(source, 'one'), join(source, 'hard'));
    const skipped: string[] = [];
    await writeFile(
      join(folder, 'made.tar'),
      await buffer(Readable.from(writeTar(source, 'out', (path) => skipped.push(path)))),
    );
    await run('tar', ['-xf', join(folder, 'made.tar'), '-C', folder]);
    expect(skipped).toEqual([]);
    expect((await readdir(join(folder, 'out'))).sort()).toEqual(
      ['empty', 'hard', 'link', long, 'one'].sort(),
    );
    expect(await readlink(join(folder, 'out/link'))).toBe('one');
    expect(await readFile(join(folder, 'out', long), 'utf8')).toBe('x'.repeat(1000));
  });

  it('leaves out what it cannot hold, and says so: pipes, and names and targets that are no text', async () => {
    const source = join(folder, 'source');
    await mkdir(source);
    await writeFile(join(source, 'one'), '');
    await run('mkfifo', [join(source, 'pipe')]);
    await writeFile(Buffer.concat([Buffer.from(`${source}/odd`), Buffer.from([0xff])]), '');
    await symlink(Buffer.from([0x61, 0xff]), join(source, 'astray'));
    const skipped: string[] = [];
    const onSkipped = (path: string, what: string): void => void skipped.push(`${what} ${basename(path)}`);
    await writeFile(
      join(folder, 'made.tar'),
      await buffer(Readable.from(writeTar(source, 'out', onSkipped))),
    );
    await run('tar', ['-xf', join(folder, 'made.tar'), '-C', folder]);
    expect(await readdir(join(folder, 'out'))).toEqual(['one']);
    expect(skipped).toEqual([
      'file whose name is not UTF-8 odd\ufffd',
      'link whose target is not UTF-8 astray',
      'special file pipe',
    ]);
  });

  it.each(['gnu', 'pax', 'ustar', 'v7'])('of the format %s is read, as tar writes it', async (format) => {
    const source = join(folder, 'source/sub');
    await mkdir(source, { recursive: true });
    const name = format === 'v7' ? 'n'.repeat(50) : 'n'.repeat(90);
    await writeFile(join(source, name), 'y'.repeat(3000));
    await writeFile(join(source, 'empty'), '');
    await run('tar', ['-cf', join(folder, 'made.tar'), `--format=${format}`, '-C', folder, 'source']);
    await rm(join(folder, 'source'), { recursive: true });
    const tar = await readFile(join(folder, 'made.tar'));
    const { files, warnings } = await unpack(tar, 'source');
    expect(warnings).toEqual([]);
    expect(files).toEqual(['made.tar', 'target', 'target/sub', 'target/sub/empty', `target/sub/${name}`]);
    expect(await readFile(join(folder, 'target/sub', name), 'utf8')).toBe('y'.repeat(3000));
  });

  it('may have names that are longer than a header holds', () => {
    const name = `${'d/'.repeat(100)}ü`;
    const bytes = encodeHeader({ name, kind: EntryKind.file, size: 0, mode: 0o600, modified: 5, target: '' });
    expect(bytes.length).toBe(512 * 3);
    expect(bytes.toString('utf8', 512)).toContain(`path=${name}\n`);
    expect(readHeader(bytes.subarray(0, 512), decodeText)).toMatchObject({ flag: 'x', mtime: 5 });
  });
});

describe('a tar that a container sends', () => {
  it.each(['src/../../escaped', 'src/a/../../../escaped', 'src/..'])(
    'writes nothing outside with %s',
    async (name) => {
      const { files, warnings } = await unpack(Buffer.concat([entry({ name }, 'bad'), END]), 'src');
      expect(warnings).toEqual([expect.stringContaining('is outside target destination, skipping')]);
      expect(files).toEqual([]);
    },
  );

  it.each(['other', '/etc/passwd', '../src/x', 'srcx/file'])(
    'is refused whole with the name %s',
    async (name) => {
      await expect(unpack(Buffer.concat([entry({ name }, 'bad'), END]), 'src')).rejects.toThrow(
        'tar contents corrupted',
      );
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it('makes no links, and so writes through none of its own', async () => {
    const tar = Buffer.concat([
      entry({ name: 'src/way', kind: EntryKind.link, target: '/tmp' }),
      entry({ name: 'src/way/file' }, 'inside'),
      END,
    ]);
    const { files, warnings } = await unpack(tar, 'src');
    expect(warnings).toEqual(['warning: skipping symlink: "/target/way" -> "/tmp"']);
    expect(files).toEqual(['target', 'target/way', 'target/way/file']);
  });

  it('follows no link that is there already out of the target', async () => {
    await mkdir(join(folder, 'target'));
    await mkdir(join(folder, 'elsewhere'));
    await symlink('../elsewhere', join(folder, 'target/way'));
    await symlink('../elsewhere/victim', join(folder, 'target/last'));
    await writeFile(join(folder, 'elsewhere/victim'), 'safe');
    const tar = Buffer.concat([
      entry({ name: 'src/way/file' }, 'bad'),
      entry({ name: 'src/way/sub/', kind: EntryKind.folder }),
      entry({ name: 'src/last' }, 'bad'),
      END,
    ]);
    const { warnings } = await unpack(tar, 'src');
    expect(warnings).toHaveLength(3);
    expect(await readdir(join(folder, 'elsewhere'))).toEqual(['victim']);
    expect((await readdir(join(folder, 'target'))).sort()).toEqual(['last', 'way']);
    expect(await readFile(join(folder, 'elsewhere/victim'), 'utf8')).toBe('safe');
  });

  it('writes to no pipe and no device that is there already', async () => {
    await mkdir(join(folder, 'target'));
    await run('mkfifo', [join(folder, 'target/pipe')]);
    const isRoot = process.getuid?.() === 0;
    // The number of /dev/full: to write to it is an error.
    if (isRoot) await run('mknod', [join(folder, 'target/device'), 'c', '1', '7']);
    const names = ['pipe', ...(isRoot ? ['device'] : [])];
    const tar = names.map((name) => entry({ name: `src/${name}` }, 'bad'));
    const { warnings } = await unpack(Buffer.concat([...tar, entry({ name: 'src/z' }, 'z'), END]), 'src');
    expect(warnings).toEqual(
      names.map((name) => `warning: there is no plain file at "/target/${name}", skipping`),
    );
    expect(await readFile(join(folder, 'target/z'), 'utf8')).toBe('z');
  });

  it('goes through links that stay in the target', async () => {
    await mkdir(join(folder, 'target/releases/1'), { recursive: true });
    await symlink('releases/1', join(folder, 'target/relative'));
    await symlink(join(folder, 'target/releases'), join(folder, 'target/absolute'));
    const names = ['relative/one', 'absolute/1/two', 'absolute/2/three'];
    const tar = names.map((name) => entry({ name: `src/${name}` }, name));
    const { files, warnings } = await unpack(Buffer.concat([...tar, END]), 'src');
    expect(warnings).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining(['target/releases/1/one', 'target/releases/1/two', 'target/releases/2/three']),
    );
  });

  it('empties no file for a hard link to itself, nor for one that is linked to it here already', async () => {
    await mkdir(join(folder, 'target'));
    await writeFile(join(folder, 'target/one'), 'old and long');
    await link(join(folder, 'target/one'), join(folder, 'target/two'));
    const tar = Buffer.concat([
      entry({ name: 'src/one' }, 'one'),
      ...['src/one', 'src/two'].map((name) => entry({ name, kind: EntryKind.hardLink, target: 'src/one' })),
      END,
    ]);
    await unpack(tar, 'src');
    for (const name of ['one', 'two'])
      expect(await readFile(join(folder, 'target', name), 'utf8')).toBe('one');
  });

  it('says of which path it cannot be written', async () => {
    await mkdir(join(folder, 'target'));
    await writeFile(join(folder, 'target/file'), '');
    await mkdir(join(folder, 'target/folder'));
    const [file, below] = [join(folder, 'target/folder'), join(folder, 'target/file/below')];
    await expect(unpack(entry({ name: 'src/folder' }, 'x'), 'src')).rejects.toThrow(`'${file}'`);
    await expect(unpack(entry({ name: 'src/file/below' }, 'x'), 'src')).rejects.toThrow(`'${below}'`);
    const made = unpack(entry({ name: 'src/file/', kind: EntryKind.folder }), 'src');
    await expect(made).rejects.toThrow(`${join(folder, 'target/file')} is no folder`);
  });

  it('gets copies for hard links to what it has sent itself, and to nothing else', async () => {
    await writeFile(join(folder, 'secret'), 'secret');
    const tar = Buffer.concat([
      entry({ name: 'src/one' }, 'one'),
      entry({ name: 'src/two', kind: EntryKind.hardLink, target: 'src/one' }),
      entry({ name: 'src/three', kind: EntryKind.hardLink, target: join(folder, 'secret') }),
      END,
    ]);
    const { files, warnings } = await unpack(tar, 'src');
    expect(warnings).toEqual([expect.stringContaining('warning: skipping hard link')]);
    expect(files).toEqual(['secret', 'target', 'target/one', 'target/two']);
    expect(await readFile(join(folder, 'target/two'), 'utf8')).toBe('one');
    expect((await lstat(join(folder, 'target/two'))).nlink).toBe(1);
  });

  it('is unpacked as fast where names have a great many slashes or zeros', async () => {
    const tar = Buffer.concat([
      entry({ name: `src${'/'.repeat(400_000)}x` }, 'x'),
      entry({ kind: EntryKind.gnuLongName }, `src/y${'\0'.repeat(400_000)}z`),
      entry({ name: 'short' }, 'y'),
      END,
    ]);
    expect((await unpack(tar, 'src')).files).toEqual(['target', 'target/x', 'target/y']);
  });

  it('keeps the holes of a file, and copies such files again for hard links', async () => {
    const source = join(folder, 'holes');
    const file = await open(source, 'w');
    await file.write('begin', 0);
    await file.write('end', 3_000_000);
    await file.truncate(5_000_000);
    await file.close();
    await link(source, join(folder, 'same'));
    const before = await readFile(source);
    for (const format of ['gnu', 'posix']) {
      const args = ['--sparse', `--format=${format}`, '-C', folder, 'holes', 'same'];
      await run('tar', ['-cf', join(folder, 'made.tar'), ...args]);
      const made = await readFile(join(folder, 'made.tar'));
      expect(made.length).toBeLessThan(100_000);
      const { warnings } = await unpack(made, '');
      expect(warnings).toEqual([]);
      for (const name of ['holes', 'same']) {
        expect((await readFile(join(folder, 'target', name))).equals(before)).toBe(true);
      }
      expect((await lstat(join(folder, 'target/holes'))).blocks * 512).toBeLessThan(1_000_000);
      await rm(join(folder, 'target'), { recursive: true });
    }
  });

  it('may have names that are no text: their files are copied under changed ones', async () => {
    const odd = Buffer.concat([entry({ name: 'src/odd_' }, 'x'), entry({ name: 'src/plain' }, 'y'), END]);
    odd[odd.indexOf('_')] = 0xff;
    // The sum of the header, with 0xff for an underscore.
    const sum = Number.parseInt(odd.toString('latin1', 148, 154), 8) + 0xff - 0x5f;
    odd.write(sum.toString(8).padStart(6, '0'), 148, 'latin1');
    const { files } = await unpack(odd, 'src');
    expect(files).toEqual(['target', 'target/odd\ufffd', 'target/plain']);
  });

  it('gets no devices and no pipes', async () => {
    const kinds = ['3', '4', '6'].map((kind) => entry({ name: `src/${kind}`, kind }));
    const { files, warnings } = await unpack(Buffer.concat([...kinds, END]), 'src');
    expect(warnings).toHaveLength(3);
    expect(files).toEqual(['target']);
  });

  it('puts a single file into a folder that is there, or under the name that was asked for', async () => {
    await mkdir(join(folder, 'target'));
    const tar = Buffer.concat([entry({ name: 'etc/conf' }, 'a=1'), END]);
    expect((await unpack(tar, 'etc/conf')).files).toEqual(['target', 'target/conf']);
    expect((await unpack(tar, 'etc/conf', join(folder, 'new/name'))).files).toContain('new/name');
  });

  it.each([
    [
      'that is cut off',
      Buffer.concat([entry({ name: 'src' }, 'x'.repeat(600))]).subarray(0, 700),
      'damaged: it ends within "src"',
    ],
    ['that is none', Buffer.alloc(512, 'no tar '), 'damaged: the check sum of a header is wrong'],
    [
      'with a name of gigabytes',
      encodeHeader({ ...hugeHeader(), kind: EntryKind.gnuLongName }),
      'damaged: an extended header of type "L" claims 2147483648 bytes',
    ],
  ])('%s is an error', async (_, tar, message) => {
    await expect(unpack(tar, 'src')).rejects.toThrow(message);
  });

  it('fails where no folder can be made', async () => {
    const sent = unpack(entry({ name: 'out' }, 'x'), 'out', '/proc/podloop-test/there');
    await expect(sent).rejects.toThrow(/ENOENT.*'\/proc\/podloop-test'/);
  });

  it('needs nothing behind its last entry', async () => {
    expect((await unpack(entry({ name: 'src' }, 'x'), 'src')).files).toEqual(['target']);
  });
});

function hugeHeader(): WrittenHeader {
  return { name: 'x', kind: EntryKind.file, size: 2 ** 31, mode: 0, modified: 0, target: '' };
}

describe('a side of a copy', () => {
  it.each([
    ['file', { pod: undefined, namespace: undefined, path: 'file' }],
    ['pod:/a', { pod: 'pod', namespace: undefined, path: '/a' }],
    ['ns/pod:a:b', { pod: 'pod', namespace: 'ns', path: 'a:b' }],
  ])('is read of %s', (text, spec) => {
    expect(readFileSpec(text)).toEqual(spec);
  });

  it.each([':/a', 'a/b/c:/d'])('is refused of %s', (text) => {
    expect(() => readFileSpec(text)).toThrow('filespec must match the canonical format');
  });

  it.each([
    ['/tmp/foo', 'tmp/foo'],
    ['/tmp//foo/', 'tmp/foo'],
    ['../../x', 'x'],
    ['.', ''],
    ['/', ''],
  ])('%s begins its names with %j', (path, prefix) => {
    expect(namePrefix(path)).toBe(prefix);
  });
});
