import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, open, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { aContainer, aContainerStatus, aPodStatus } from '#testing/index.js';
import { ANNOTATIONS } from './labels.js';
import { PodPaths } from './pod-paths.js';
import { type ContainerStatus } from './runtime.js';
import { endOfLog, readTerminationMessage } from './termination-message.js';
import { TerminationMessages } from './termination-messages.js';

interface RotatedLog {
  readonly rotated: readonly string[];
  readonly compressed?: number;
  readonly current?: string;
}

let folder: string;
let paths: PodPaths;
let file: string;
let log: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-message-'));
  paths = new PodPaths({ rootDir: folder, podLogsDir: join(folder, 'logs') });
  file = paths.terminationMessageFile('u1', 'main', 0);
  log = join(folder, '0.log');
  await mkdir(dirname(file), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function ended(policy = 'File', fields: Partial<ContainerStatus> = {}): ContainerStatus {
  const annotations = {
    [ANNOTATIONS.terminationMessagePath]: '/dev/termination-log',
    [ANNOTATIONS.terminationMessagePolicy]: policy,
  };
  const observed = aContainer({ state: 'exited' });
  return aContainerStatus(observed, { exitCode: 1, annotations, logPath: log, ...fields });
}
const read = (container: ContainerStatus): Promise<string | undefined> =>
  readTerminationMessage('u1', container, paths);

describe('the termination message of a container', () => {
  it('is what it wrote', async () => {
    await writeFile(file, 'out of paper\n');
    expect(await read(ended())).toBe('out of paper\n');
  });

  it('is the last 4 KiB of it, starting at a whole character', async () => {
    await writeFile(file, `${'x'.repeat(4000)}${'é'.repeat(2000)}!`);
    const message = (await read(ended()))!;
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(4096);
    expect(message).toBe(`${message.slice(0, message.length - 2001)}${'é'.repeat(2000)}!`);
    expect(message).not.toContain('\ufffd');
  });

  it('is absent while it runs', async () => {
    await writeFile(file, 'early');
    expect(await read({ ...ended(), state: 'running' })).toBeUndefined();
  });

  it('is never read through a link, nor from anything but a file', async () => {
    await writeFile(join(folder, 'secret'), 'secret');
    await symlink(join(folder, 'secret'), file);
    expect(await read(ended())).toBeUndefined();
    await rm(file);
    execFileSync('mkfifo', [file]);
    expect(await read(ended())).toBeUndefined();
    await rm(file);
    await mkdir(file);
    expect(await read(ended())).toBeUndefined();
  });

  it('is never read from a log behind a link in place of its folder', async () => {
    const other = join(folder, 'other');
    await mkdir(other);
    await writeFile(join(other, '0.log'), '2026-01-02T03:04:05Z stdout F of another\n');
    await symlink(other, join(folder, 'main'));
    const logPath = join(folder, 'main/0.log');
    expect(await read(ended('FallbackToLogsOnError', { logPath }))).toBeUndefined();
  });

  const line = (text: string): string => `2026-01-02T03:04:05Z stdout F ${text}\n`;
  const name = (second: number, ending = ''): string => `${log}.20260102-03040${second}${ending}`;
  it.each([
    ['the newest file is empty', { current: '', rotated: ['one\ntwo'] }, 'one\ntwo\n'],
    ['the newest file has some of it', { current: 'three', rotated: ['one', 'two'] }, 'one\ntwo\nthree\n'],
    ['older files are compressed', { current: '', rotated: ['one', 'two'], compressed: 2 }, 'one\ntwo\n'],
    ['there is no newest file', { rotated: ['one', 'two'], compressed: 1 }, 'one\ntwo\n'],
  ] as const)('are the end of a log that was rotated: %s', async (_, files, expected) => {
    const { rotated, compressed = 0, current }: RotatedLog = files;
    const toLog = (text: string): string => text.split('\n').filter(Boolean).map(line).join('');
    if (current !== undefined) await writeFile(log, toLog(current));
    for (const [index, text] of rotated.entries()) {
      const isCompressed = index < compressed;
      const bytes = isCompressed ? gzipSync(toLog(text)) : toLog(text);
      await writeFile(name(index, isCompressed ? '.gz' : ''), bytes);
    }
    expect(await read(ended('FallbackToLogsOnError'))).toBe(expected);
  });

  it.each([1, 2, 3, 4])('is the last 80 lines over %i rotated files, one of them twice', async (count) => {
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index}`);
    const each = Math.ceil(lines.length / (count + 1));
    for (let index = 0; index < count; index++) {
      const text = lines
        .slice(index * each, (index + 1) * each)
        .map(line)
        .join('');
      if (index % 2 === 0) await writeFile(name(index, '.gz'), gzipSync(text));
      if (index % 2 === 1 || index === 0) await writeFile(name(index), text);
    }
    await writeFile(
      log,
      lines
        .slice(count * each)
        .map(line)
        .join(''),
    );
    await writeFile(`${log}.mine`, line('of somebody else'));
    expect(await read(ended('FallbackToLogsOnError'))).toBe(`${lines.slice(-80).join('\n')}\n`);
  });

  it('ignores a compressed file that unpacks to too much, or is not one', async () => {
    await writeFile(name(1, '.gz'), gzipSync(Buffer.alloc(65 * 1024 * 1024)));
    await writeFile(name(2, '.gz'), 'no gzip');
    await symlink(name(1, '.gz'), name(3, '.gz'));
    expect(await read(ended('FallbackToLogsOnError'))).toBeUndefined();
  });

  it('is what can be read if a compressed file of its log fails while it is read', async () => {
    await writeFile(log, line('last'));
    const compressed = gzipSync(line('first'));
    await writeFile(name(1, '.gz'), compressed);
    // A file that opens and then fails, as on a broken disk.
    const handle = await open(name(1, '.gz'));
    const prototype = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    const streams = vi.spyOn(prototype, 'createReadStream').mockImplementation(
      () =>
        Readable.from(
          (function* () {
            yield compressed.subarray(0, 12);
            throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
          })(),
        ) as never,
    );
    try {
      expect(await read(ended('FallbackToLogsOnError'))).toBe('last\n');
      expect(streams).toHaveBeenCalledOnce();
    } finally {
      streams.mockRestore();
    }
    expect(await read(ended('FallbackToLogsOnError'))).toBe('first\nlast\n');
  });

  it('is the end of its log if it failed without a message and asks for the log', async () => {
    await writeFile(log, '2026-01-02T03:04:05Z stdout F first\n2026-01-02T03:04:05Z stderr F second\n');
    expect(await read(ended('FallbackToLogsOnError'))).toBe('first\nsecond\n');
    expect(await read(ended('File'))).toBeUndefined();
    expect(await read(ended('FallbackToLogsOnError', { exitCode: 0 }))).toBeUndefined();
    await writeFile(file, 'said');
    expect(await read(ended('FallbackToLogsOnError'))).toBe('said');
  });
});

describe('the end of a log', () => {
  it('is joined again from partial lines', () => {
    expect(endOfLog('t stdout P one \nt stdout F two\nt stderr F\n')).toBe('one two\n\n');
  });

  it('leaves out a line that was cut', () => {
    expect(endOfLog('4:05Z half\nt stdout F whole\n')).toBe('whole\n');
  });

  it('has at most 80 lines and 2048 bytes', () => {
    const lines = Array.from({ length: 100 }, (_, index) => `t stdout F ${index}\n`);
    expect(endOfLog(lines.join('')).split('\n').slice(0, 2)).toEqual(['20', '21']);
    expect(endOfLog(`t stdout F ${'y'.repeat(5000)}\n`)).toBe(`${'y'.repeat(2047)}\n`);
  });
});

it('reads the message of each container once, and forgets what is gone', async () => {
  const messages = new TerminationMessages({ paths });
  const pod = aPodStatus(undefined, { uid: 'u1', containers: [ended()] });
  await writeFile(file, 'first');
  await messages.observe(pod);
  await writeFile(file, 'later');
  await messages.observe(pod);
  expect([...messages.of('u1').values()]).toEqual(['first']);
  await messages.observe({ ...pod, containers: [] });
  expect(messages.of('u1').size).toBe(0);
  await messages.observe(pod);
  messages.forget('u1');
  expect(messages.of('u1').size).toBe(0);
});
