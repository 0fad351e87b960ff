import * as fs from 'node:fs/promises';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { AtomicWriter, type AtomicWriterOptions, DEFINITION_DIGITS } from './atomic-writer.js';
import { type ContentFileSystem } from './content-file-system.js';
import { type ContentPayload } from './content-payload.js';

const DEFINITION = '1'.repeat(DEFINITION_DIGITS);
let top: string;
let folder: string;

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'podloop-content-'));
  folder = join(top, 'volume');
  await mkdir(folder);
});
afterEach(() => rm(top, { recursive: true, force: true }));

const clock = new FakeClock({ nowMs: Date.UTC(2026, 10, 22, 0, 50, 12, 345) });
beforeEach(() => clock.jumpWallClock(Date.UTC(2026, 10, 22, 0, 50, 12, 345) - clock.now()));
const writer = (more: Partial<AtomicWriterOptions> = {}): AtomicWriter =>
  new AtomicWriter({ folder, definition: DEFINITION, clock, ...more });

function payload(files: Readonly<Record<string, string>>, mode = 0o644): ContentPayload {
  return new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));
}

/** What a container sees: every path that does not begin with two dots, links followed. */
async function view(): Promise<Record<string, string>> {
  const seen: Record<string, string> = {};
  const waiting = (await readdir(folder)).filter((name) => !name.startsWith('..'));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const full = join(folder, path);
    if ((await stat(full)).isDirectory())
      waiting.push(...(await readdir(full)).map((name) => `${path}/${name}`));
    else seen[path] = await readFile(full, 'utf8');
  }
  return seen;
}

const hidden = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.startsWith('..')).sort();

describe('a volume that is written', () => {
  it('has the layout that programs in containers know from kubelets', async () => {
    expect(
      await writer({ random: () => 0.000123 }).write(payload({ 'app.yaml': 'a: 1', 'x/y/z': 'deep' })),
    ).toBe(true);
    const generation = `..2026_11_22_00_50_12.345000123${DEFINITION}`;
    expect((await readdir(folder)).sort()).toEqual([generation, '..data', 'app.yaml', 'x'].sort());
    expect(await readlink(join(folder, '..data'))).toBe(generation);
    expect(await readlink(join(folder, 'app.yaml'))).toBe('..data/app.yaml');
    expect(await readlink(join(folder, 'x'))).toBe('..data/x');
    expect(await view()).toEqual({ 'app.yaml': 'a: 1', 'x/y/z': 'deep' });
  });

  it('has the modes it is given, whatever the mask of the process', async () => {
    const before = process.umask(0o077);
    try {
      await writer().write(
        new Map([
          ['open', { data: Buffer.from('1'), mode: 0o666 }],
          ['sub/closed', { data: Buffer.from('2'), mode: 0o400 }],
          ['none', { data: Buffer.from('3'), mode: 0 }],
        ]),
      );
    } finally {
      process.umask(before);
    }
    const modes = ['open', 'sub', 'sub/closed', 'none', '..data/.'].map(
      async (path) => (await stat(join(folder, path))).mode & 0o7777,
    );
    expect(await Promise.all(modes)).toEqual([0o666, 0o755, 0o400, 0, 0o755]);
  });

  it('is left alone where nothing has changed', async () => {
    const files = payload({ a: '1', 'b/c': '2' });
    await writer().write(files);
    const before = await hidden();
    expect(await writer().write(files)).toBe(false);
    expect(await hidden()).toEqual(before);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a file has other content of the same length', () => writeFile(join(folder, '..data/a'), '9')],
    ['a file has another mode', () => chmod(join(folder, '..data/a'), 0o600)],
    ['a file is gone', () => rm(join(folder, '..data/a'))],
    ['a folder is gone', () => rm(join(folder, '..data/b'), { recursive: true })],
    ['there is a file too many', () => writeFile(join(folder, '..data/b/d'), '')],
    ['there is a folder too many', () => mkdir(join(folder, '..data/d'))],
    [
      'a file is a link',
      () => rm(join(folder, '..data/a')).then(() => symlink('b/c', join(folder, '..data/a'))),
    ],
    ['there is no link to the generation', () => rm(join(folder, '..data'))],
    [
      'the generation is gone',
      async () => rm(join(folder, await readlink(join(folder, '..data'))), { recursive: true }),
    ],
  ])('is rewritten when %s', async (_, spoil) => {
    const files = payload({ a: '1', 'b/c': '2' });
    await writer().write(files);
    await spoil();
    expect(await writer().write(files)).toBe(true);
    expect(await view()).toEqual({ a: '1', 'b/c': '2' });
    expect((await stat(join(folder, 'a'))).mode & 0o7777).toBe(0o644);
  });

  it('is rewritten when its mode keeps an agent without root from reading what is there', async () => {
    await writer().write(payload({ a: '1' }));
    const readFile = (): Promise<never> => Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }));
    expect(await writer({ files: { ...fs, readFile } }).write(payload({ a: '1' }))).toBe(true);
  });

  it('gets back the links that somebody took away, without a new generation', async () => {
    const files = payload({ a: '1', 'b/c': '2' });
    await writer().write(files);
    await rm(join(folder, 'a'));
    await rm(join(folder, 'b'));
    await symlink('/etc', join(folder, 'b'));
    expect(await writer().write(files)).toBe(false);
    expect(await view()).toEqual({ a: '1', 'b/c': '2' });
  });

  it('loses the names that are not wanted any more, and may turn a file into a folder', async () => {
    await writer().write(payload({ a: '1', gone: '2', 'b/c': '3', 'b/d': '4' }));
    await writer().write(payload({ 'a/b': '5', 'b/c': '3' }));
    expect(await view()).toEqual({ 'a/b': '5', 'b/c': '3' });
    await writer().write(new Map());
    expect(await view()).toEqual({});
  });

  it('keeps the generation that was just replaced, and those that were a moment ago, but not for long nor too many', async () => {
    await writer().write(payload({ a: '0' }));
    clock.jumpWallClock(60_000);
    await writer().write(payload({ a: '1' }));
    expect(await hidden()).toHaveLength(3);
    for (let number = 2; number < 30; number++) {
      clock.jumpWallClock(10);
      await writer().write(payload({ a: String(number) }));
    }
    expect(await hidden()).toHaveLength(10);
    const texts = await Promise.all(
      (await hidden()).slice(0, -1).map((name) => readFile(join(folder, name, 'a'), 'utf8')),
    );
    expect(texts).toEqual(['21', '22', '23', '24', '25', '26', '27', '28', '29']);
    clock.jumpWallClock(6_000);
    await writer().write(payload({ a: '29' }));
    expect(await hidden()).toEqual([await readlink(join(folder, '..data')), '..data']);
  });

  it('says for which definition it was written, and is rewritten for another', async () => {
    const other = '2'.repeat(DEFINITION_DIGITS);
    expect(await writer().findDefinition()).toBeUndefined();
    await writer().write(payload({ a: '1' }));
    expect(await writer({ definition: other }).findDefinition()).toBe(DEFINITION);
    expect(await writer({ definition: other }).write(payload({ a: '1' }))).toBe(true);
    expect(await writer().findDefinition()).toBe(other);
  });
});

describe.runIf(process.getuid?.() === 0)('a volume of a group', () => {
  const owners = async (...paths: string[]): Promise<string[]> =>
    Promise.all(
      paths.map(async (path) => {
        const { uid, gid, mode } = await stat(join(folder, path));
        return `${uid}:${gid} ${(mode & 0o7777).toString(8)}`;
      }),
    );

  it('belongs to it, and it may read what it holds', async () => {
    await writer({ group: 2000 }).write(payload({ a: '1', 'b/c': '2' }, 0o400));
    expect(await owners('a', 'b/c', 'b', '..data/.')).toEqual([
      '0:2000 440',
      '0:2000 440',
      '0:2000 2755',
      '0:2000 2755',
    ]);
    expect(await writer({ group: 2000 }).write(payload({ a: '1', 'b/c': '2' }, 0o400))).toBe(false);
  });

  it('is given back when the pod has no such group any more, also where the volume hands it down', async () => {
    await fs.chown(folder, 0, 2000);
    await chmod(folder, 0o2777);
    await writer({ group: 2000 }).write(payload({ 'b/c': '2' }));
    await writer().write(payload({ 'b/c': '2' }));
    expect(await owners('b/c', 'b', '..data/.')).toEqual(['0:0 644', '0:0 755', '0:0 755']);
  });
});

describe('what lies in the volume', () => {
  it('is removed and never followed', async () => {
    const outside = join(top, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'precious'), 'precious');
    await writer().write(payload({ a: '1' }));
    await symlink(outside, join(folder, 'planted'));
    await symlink(join(outside, 'precious'), join(folder, '..data_tmp'));
    await mkdir(join(folder, '..link_tmp'));
    await writer().write(payload({ a: '2', planted: '3', 'new/file': '4' }));
    expect(await view()).toEqual({ a: '2', planted: '3', 'new/file': '4' });
    expect(await readdir(outside)).toEqual(['precious']);
    expect(await readFile(join(outside, 'precious'), 'utf8')).toBe('precious');
    expect((await hidden()).filter((name) => name.endsWith('_tmp'))).toEqual([]);
  });

  it.each<[string, (outside: string) => Promise<unknown>]>([
    ['a link that leads out', (outside) => symlink(outside, join(folder, '..data'))],
    [
      'a link to a name with steps',
      (outside) => symlink(`../${outside.split('/').at(-1)!}`, join(folder, '..data')),
    ],
    ['a folder', () => mkdir(join(folder, '..data/x'), { recursive: true })],
    ['a file', () => writeFile(join(folder, '..data'), 'x')],
  ])('is replaced where it is %s in place of the link to the files', async (_, plant) => {
    const outside = join(top, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'a'), '1');
    await plant(outside);
    expect(await writer().findDefinition()).toBeUndefined();
    expect(await writer().write(payload({ a: '1' }))).toBe(true);
    expect((await lstat(join(folder, '..data'))).isSymbolicLink()).toBe(true);
    expect(await view()).toEqual({ a: '1' });
    expect(await readdir(outside)).toEqual(['a']);
  });

  it('is replaced where a folder has the name of a file', async () => {
    await mkdir(join(folder, 'a/b'), { recursive: true });
    await writer().write(payload({ a: '1' }));
    expect(await view()).toEqual({ a: '1' });
  });
});

it.each([
  ['', 'invalid path: must not be empty: ""'],
  ['/etc/passwd', 'invalid path: must be relative path: /etc/passwd'],
  ['../../etc/passwd', "invalid path: must not contain '..': ../../etc/passwd"],
  ['a/../../b', "invalid path: must not contain '..': a/../../b"],
  ['..data', "invalid path: must not start with '..': ..data"],
  ['./..data/a', "invalid path: must not start with '..': ./..data/a"],
  ['.', 'invalid path: must name a file: .'],
  ['./', 'invalid path: must name a file: ./'],
  ['a\0b', 'invalid path: must not contain a NUL character'],
  ['x'.repeat(256), 'invalid path: filenames must be less than or equal to 255 characters'],
  ['ä'.repeat(128), 'invalid path: filenames must be less than or equal to 255 characters'],
  ['x/'.repeat(2048) + 'y', 'invalid path: must be less than or equal to 4096 characters'],
])('takes no path %j, and has done nothing then', async (path, message) => {
  await writer().write(payload({ a: '1' }));
  const before = await hidden();
  await expect(writer().write(payload({ a: '2', [path]: '3' }))).rejects.toThrow(message);
  expect(await hidden()).toEqual(before);
  expect(await view()).toEqual({ a: '1' });
});

it('takes no file that is the folder of another one', async () => {
  await expect(writer().write(payload({ 'a/b': '1', 'a//b/c': '2' }))).rejects.toThrow(
    'invalid path: "a/b" is a file, and cannot be the folder of "a/b/c"',
  );
});

it('takes paths in any form, and names as long as the system does', async () => {
  const long = 'x'.repeat(255);
  await writer().write(payload({ 'a//b/./c/': '1', [long]: '2', './d': '3', 'f/..g': '5' }));
  expect(await view()).toEqual({ 'a/b/c': '1', [long]: '2', d: '3', 'f/..g': '5' });
});

it('holds thousands of files, and large ones', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`key-${index}`, String(index)]),
  );
  await writer().write(payload({ ...many, large: 'x'.repeat(1 << 20) }));
  expect((await readdir(join(folder, '..data'))).length).toBe(5_001);
  expect((await readFile(join(folder, 'large'))).length).toBe(1 << 20);
  expect(await readFile(join(folder, 'key-4999'), 'utf8')).toBe('4999');
  expect(await writer().write(payload({ ...many, large: 'x'.repeat(1 << 20) }))).toBe(false);
}, 60_000);

describe('a writer that is killed', () => {
  const OLD = { a: 'old', 'dir/x': 'old', 'gone/y': 'old' };
  const NEW = { a: 'new, and longer', 'dir/x': 'new', 'fresh/z': 'new', more: 'new' };

  /** Fails for good at the `step`-th change of the disk, before it or half way through it. */
  function dyingFiles(step: number, half: boolean): { files: ContentFileSystem; readonly changes: number } {
    const state = { changes: 0 };
    const changing = new Set(['chmod', 'lchown', 'mkdir', 'rename', 'rm', 'symlink', 'writeFile']);
    const files = new Proxy(fs, {
      get: (target, name: string) => {
        const original = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
        if (!changing.has(name)) return original;
        return async (...args: unknown[]) => {
          state.changes++;
          if (state.changes > step) throw new Error('killed');
          if (state.changes < step) return await original(...args);
          if (half && name === 'writeFile') {
            await original(args[0], (args[1] as Uint8Array).subarray(0, 1), args[2]);
          } else if (half) await original(...args);
          throw new Error('killed');
        };
      },
    }) as ContentFileSystem;
    return {
      files,
      get changes() {
        return state.changes;
      },
    };
  }

  /** What every file that a reader finds says: of one generation, or of both. */
  async function textsSeen(): Promise<Record<string, string>> {
    const seen: Record<string, string> = {};
    for (const path of new Set([...Object.keys(OLD), ...Object.keys(NEW)])) {
      const text = await readFile(join(folder, path), 'utf8').catch(() => undefined);
      if (text !== undefined) seen[path] = text;
    }
    return seen;
  }

  it.each([false, true])(
    'anywhere leaves all of the old files or all of the new (half way: %j)',
    async (half) => {
      const outcomes = new Set<string>();
      for (let step = 1; ; step++) {
        await rm(folder, { recursive: true });
        await mkdir(folder);
        await writer().write(payload(OLD));
        const dying = dyingFiles(step, half);
        const outcome = await writer({ files: dying.files })
          .write(payload(NEW))
          .then(
            () => 'done',
            () => 'killed',
          );
        const current = (await readFile(join(folder, '..data/a'), 'utf8')) === OLD.a ? OLD : NEW;
        outcomes.add(`${outcome} ${current === OLD ? 'old' : 'new'}`);
        const seen = await textsSeen();
        for (const [path, text] of Object.entries(seen)) {
          expect(current, `step ${step}: ${path} of another generation`).toHaveProperty([path], text);
        }
        if (current === OLD) expect(seen, `step ${step}`).toEqual(OLD);
        // Whoever comes next brings it to its end, whichever way.
        await writer().write(payload(NEW));
        expect(await view()).toEqual(NEW);
        clock.jumpWallClock(6_000);
        await writer().write(payload(NEW));
        expect(await hidden()).toEqual([await readlink(join(folder, '..data')), '..data']);
        if (outcome === 'done') break;
      }
      expect([...outcomes].sort()).toEqual(['done new', 'killed new', 'killed old']);
    },
  );

  it('during its first write leaves nothing that counts as written', async () => {
    for (let step = 1; ; step++) {
      await rm(folder, { recursive: true });
      await mkdir(folder);
      const dying = dyingFiles(step, true);
      const outcome = await writer({ files: dying.files })
        .write(payload(NEW))
        .then(
          () => 'done',
          () => 'killed',
        );
      const isWritten = (await writer().findDefinition()) !== undefined;
      if (isWritten) expect(await readFile(join(folder, '..data/fresh/z'), 'utf8')).toBe('new');
      await writer().write(payload(OLD));
      expect(await view(), `step ${step}`).toEqual(OLD);
      if (outcome === 'done') break;
    }
  });
});
