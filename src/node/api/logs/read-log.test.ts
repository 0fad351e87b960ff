import { appendFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogFolder } from './log-folder.js';
import { type LogSelection } from './log-printer.js';
import { readLog, type ReadLogOptions } from './read-log.js';

let root: string;
let place: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-log-'));
  place = join(root, 'pod', 'main');
  await mkdir(place, { recursive: true });
});
afterEach(async () => rm(root, { recursive: true }));

const time = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.5Z`;
const line = (text: string, { at = 1, tag = 'F', stream = 'stdout' } = {}): string =>
  `${time(at)} ${stream} ${tag} ${text}\n`;
const write = async (name: string, ...lines: string[]) => writeFile(join(place, name), lines.join(''));

async function read(
  selection: Partial<LogSelection> = {},
  more: Partial<ReadLogOptions> = {},
): Promise<string> {
  await using folder = (await LogFolder.open(root, ['pod', 'main']))!;
  const signal = new AbortController().signal;
  const texts: string[] = [];
  const options = { folder, name: '0.log', selection: { timestamps: false, ...selection }, signal, ...more };
  for await (const piece of readLog(options)) texts.push(piece.toString());
  return texts.join('');
}

describe('a log', () => {
  it('is read with what it was rotated into, compressed or not, oldest first', async () => {
    await writeFile(join(place, '0.log.20260102-030401.gz'), gzipSync(line('one') + line('two')));
    await write('0.log.20260102-030402', line('three'));
    await write('0.log', line('four'));
    await write('1.log', line('of another start'));
    await write('0.log.20260102-030403.tmp', line('half compressed'));
    await write('0.log.20260102-030401', line('compressed already'));
    expect(await read()).toBe('one\ntwo\nthree\nfour\n');
    expect(await read({}, { tailLines: 1 })).toBe('four\n');
    expect(await read({}, { tailLines: 2 })).toBe('three\nfour\n');
    expect(await read({}, { tailLines: 3 })).toBe('two\nthree\nfour\n');
    expect(await read({}, { tailLines: 9 })).toBe('one\ntwo\nthree\nfour\n');
    expect(await read({}, { tailLines: 0 })).toBe('');
  });

  it('has lines joined that the runtime has broken, of each stream by itself', async () => {
    await write(
      '0.log',
      line('ab', { tag: 'P' }),
      line('error', { stream: 'stderr', at: 2 }),
      line('cd', { tag: 'P', at: 3 }),
      line('ef', { at: 4 }),
      line('', { at: 5 }),
      line('un', { tag: 'P', at: 6 }),
    );
    expect(await read()).toBe('error\nabcdef\n\nun');
    expect(await read({ timestamps: true })).toBe(
      `${time(2)} error\n${time(1)} abcdef\n${time(5)} \n${time(6)} un`,
    );
    expect(await read({ stream: 'stderr' })).toBe('error\n');
    expect(await read({}, { tailLines: 1 })).toBe('un');
    expect(await read({}, { tailLines: 2 })).toBe('\nun');
  });

  it('is read as it was when its reader came, although it is rotated and compressed before he gets so far', async () => {
    await write('0.log.20260102-030401', line('one'));
    await write('0.log.20260102-030402', line('two'));
    await write('0.log', line('three'));
    const rotateOnce = async () => {
      await writeFile(join(place, '0.log.20260102-030402.gz'), gzipSync(line('two')));
      await rm(join(place, '0.log.20260102-030402'));
      await rename(join(place, '0.log'), join(place, '0.log.20260102-030403'));
      await write('0.log', line('four', { at: 4 }));
    };
    await using folder = (await LogFolder.open(root, ['pod', 'main']))!;
    const signal = new AbortController().signal;
    const texts: string[] = [];
    for await (const piece of readLog({ folder, name: '0.log', selection: { timestamps: false }, signal })) {
      if (texts.push(piece.toString()) === 1) await rotateOnce();
    }
    expect(texts.join('')).toBe('one\ntwo\nthree\n');
  });

  it.each([undefined, 2])(
    'ends with what was there when its reader came, of the last %s lines',
    async (tailLines) => {
      await write('0.log', line('one'), line('two'));
      await using folder = (await LogFolder.open(root, ['pod', 'main']))!;
      // It grows whenever somebody opens it or asks how long it is, and while it is read.
      const grow = async () => appendFile(join(place, '0.log'), line('late') + line('later'));
      const open = folder.openFile.bind(folder);
      folder.openFile = async (name) => {
        const file = (await open(name))!;
        const [stat, readBlock] = [file.stat.bind(file), file.read.bind(file)];
        file.stat = (async () => {
          const facts = await stat();
          await grow();
          return facts;
        }) as typeof file.stat;
        file.read = async (...args: Parameters<typeof readBlock>) => {
          await grow();
          return readBlock(...args);
        };
        return file;
      };
      const signal = new AbortController().signal;
      const texts: string[] = [];
      const selection = { timestamps: false };
      for await (const piece of readLog({ folder, name: '0.log', selection, tailLines, signal })) {
        texts.push(piece.toString());
        await grow();
      }
      const lines = texts.join('').trimEnd().split('\n');
      if (tailLines === undefined) expect(lines.slice(0, 2)).toEqual(['one', 'two']);
      else expect(lines).toHaveLength(tailLines);
    },
  );

  it('passes over what no runtime wrote, and what is being written', async () => {
    await write(
      '0.log',
      'garbage\n',
      line('good'),
      '\n',
      '{"log":"docker"}\n',
      '2026-01-02T03:04:05Z stdout F rest',
    );
    expect(await read()).toBe('good\n');
  });

  it('is cut to a time and to a number of bytes', async () => {
    await write('0.log', line('old', { at: 1 }), line('new', { at: 5 }), line('newer', { at: 6 }));
    const sinceNs = BigInt(Date.parse(time(5))) * 1_000_000n;
    expect(await read({ sinceNs })).toBe('new\nnewer\n');
    expect(await read({ sinceNs, limitBytes: 6 })).toBe('new\nne');
    expect(await read({ limitBytes: 1 })).toBe('o');
  });

  it('follows no link out of its folder', async () => {
    await writeFile(join(root, 'secret'), line('secret'));
    await symlink(join(root, 'secret'), join(place, '0.log'));
    expect(await read()).toBe('');
    await mkdir(join(root, 'other'));
    await writeFile(join(root, 'other', '0.log'), line('secret'));
    await symlink(join(root, 'other'), join(root, 'pod', 'link'));
    expect(await LogFolder.open(root, ['pod', 'link'])).toBeUndefined();
    await expect(LogFolder.open(root, ['pod', '..'])).rejects.toThrow('no name of a file');
  });

  it('has the same end however long its lines and blocks are', async () => {
    const lines = fc.array(
      fc.record({ size: fc.integer({ min: 0, max: 40_000 }), isPartial: fc.boolean() }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(lines, fc.integer({ min: 0, max: 14 }), async (given, tailLines) => {
        const texts = given.map(({ size, isPartial }, index) =>
          line('x'.repeat(size) + String(index), { tag: isPartial ? 'P' : 'F' }),
        );
        await write('0.log', ...texts, 'being written');
        const whole = await read();
        const all = whole.split(/(?<=\n)/).filter((each) => each !== '');
        expect(await read({}, { tailLines })).toBe(
          all.slice(all.length - Math.min(tailLines, all.length)).join(''),
        );
      }),
      { numRuns: 40 },
    );
  });
});

describe('a log that is followed', () => {
  /** A follower whose looks the test counts out. */
  function follow(more: Partial<ReadLogOptions> = {}) {
    const state = { isWritten: true, looks: 0, wake: (): void => undefined };
    const ending = new AbortController();
    const changes = {
      next: () =>
        new Promise<void>((resolve) => {
          state.looks++;
          state.wake = resolve;
          ending.signal.addEventListener('abort', () => resolve());
        }),
    };
    const texts: string[] = [];
    const run = read(
      {},
      { signal: ending.signal, ...more, follow: { changes, isWritten: () => state.isWritten } },
    );
    return { state, ending, texts, run };
  }

  const waits = async (state: { looks: number }, count: number) => expect.poll(() => state.looks).toBe(count);

  it('goes on in the new file when it is rotated, and ends when nobody writes any more and all was read', async () => {
    await write('0.log', line('one'), line('two'));
    const { state, run } = follow({ tailLines: 1 });
    await waits(state, 1);
    await appendFile(join(place, '0.log'), line('three', { at: 3 }));
    await rename(join(place, '0.log'), join(place, '0.log.20260102-030403'));
    await write('0.log', line('four', { at: 4 }));
    state.wake();
    await waits(state, 2);
    await appendFile(join(place, '0.log'), line('five', { at: 5 }));
    state.isWritten = false;
    state.wake();
    expect(await run).toBe('two\nthree\nfour\nfive\n');
  });

  it('misses nothing when it is late and the log was rotated several times, and compressed', async () => {
    await write('0.log', line('one', { at: 1 }));
    const { state, run } = follow();
    await waits(state, 1);
    await rm(join(place, '0.log'));
    await writeFile(
      join(place, '0.log.20260102-030401.gz'),
      gzipSync(line('one', { at: 1 }) + line('two', { at: 2 })),
    );
    await write('0.log.20260102-030402', line('three', { at: 3 }));
    await write('0.log', line('four', { at: 4 }));
    state.isWritten = false;
    state.wake();
    expect(await run).toBe('one\ntwo\nthree\nfour\n');
  });

  it('misses nothing when it is rotated once more while its reader is slow', async () => {
    await write('0.log', line('one', { at: 1 }));
    await using folder = (await LogFolder.open(root, ['pod', 'main']))!;
    const { signal } = new AbortController();
    let isWritten = true;
    const rotate = async (second: number) =>
      rename(join(place, '0.log'), join(place, `0.log.20260102-03040${second}`));
    const changes = {
      next: async () => {
        await rename(join(place, '0.log'), join(place, 'gone'));
        await rm(join(place, 'gone'));
        await write('0.log.20260102-030401', line('one', { at: 1 }), line('two', { at: 2 }));
        await write('0.log.20260102-030402', line('three', { at: 3 }));
        await write('0.log', line('four', { at: 4 }));
      },
    };
    const texts: string[] = [];
    const follow = { changes, isWritten: () => isWritten };
    for await (const piece of readLog({
      ...{ folder, name: '0.log', selection: { timestamps: false }, signal, follow },
    })) {
      texts.push(piece.toString());
      if (!texts.join('').endsWith('two\n')) continue;
      await rotate(3);
      await write('0.log', line('five', { at: 5 }));
      isWritten = false;
    }
    expect(texts.join('')).toBe('one\ntwo\nthree\nfour\nfive\n');
  });

  it('waits for a file that is not there yet, and for the end of a line', async () => {
    const { state, run } = follow();
    await waits(state, 1);
    await write('0.log', line('one').slice(0, 30));
    state.wake();
    await waits(state, 2);
    await appendFile(join(place, '0.log'), line('one').slice(30));
    state.isWritten = false;
    state.wake();
    expect(await run).toBe('one\n');
  });

  it('ends when its reader has gone', async () => {
    await write('0.log', line('one'));
    const { state, run, ending } = follow();
    await waits(state, 1);
    ending.abort();
    expect(await run).toBe('one\n');
  });
});
