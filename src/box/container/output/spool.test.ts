import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOpenBelow } from '#support/find-open-below.js';
import { SpoolReader } from './spool-reader.js';
import { SPOOL_FILE_BYTES, SPOOL_FILES, SUPERVISOR_SCRIPT } from '../supervisor-script.js';

const run = promisify(execFile);

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloop-spool-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function spoolFiles(stream = 'stdout'): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => name.startsWith(`${stream}.spool.`));
  return names.sort((a, b) => beginOf(a) - beginOf(b));
}

function beginOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('.') + 1));
}

/** Reads an output from its beginning to its end in pieces of an odd size. */
async function readAll(stream: 'stdout' | 'stderr'): Promise<Buffer> {
  const reader = new SpoolReader({ dir, stream });
  const pieces: Buffer[] = [];
  const buffer = Buffer.alloc(777_777);
  for (let position = 0; ;) {
    const bytes = await reader.read(buffer, position);
    if (bytes === 0) {
      await reader.close();
      return Buffer.concat(pieces);
    }
    pieces.push(Buffer.from(buffer.subarray(0, bytes)));
    position += bytes;
  }
}

describe('a reader of a spool', () => {
  it('reads across files, takes up what grows, and waits for no file that is not there yet', async () => {
    const size = SPOOL_FILE_BYTES;
    await writeFile(join(dir, 'stdout.spool.0'), Buffer.alloc(size, 'a'));
    const reader = new SpoolReader({ dir, stream: 'stdout' });
    const buffer = Buffer.alloc(10);
    expect(await reader.read(buffer, size - 4)).toBe(4);
    expect(await reader.read(buffer, size)).toBe(0);
    await using first = await open(join(dir, 'stdout.spool.0'), 'a');
    await first.writeFile('bb');
    expect(await reader.read(buffer, size - 1)).toBe(3);
    await writeFile(join(dir, `stdout.spool.${size + 2}`), 'ccc');
    expect(await reader.read(buffer, size - 1)).toBe(6);
    expect(buffer.toString('latin1', 0, 6)).toBe('abbccc');
    expect(await reader.findEnd()).toBe(size + 5);
    // Back again, and from a file to which it was not led by reading.
    expect(await reader.read(buffer, 0)).toBe(10);
    const other = new SpoolReader({ dir, stream: 'stdout' });
    expect(await other.read(buffer, size + 3)).toBe(2);
    await other.close();
    await reader.close();
  });

  it('removes what ends before a position, but never the file that is written', async () => {
    for (const begin of [0, 100, 300]) await writeFile(join(dir, `stdout.spool.${begin}`), 'x');
    await writeFile(join(dir, 'stderr.spool.0'), 'x');
    const reader = new SpoolReader({ dir, stream: 'stdout' });
    await reader.release(99);
    expect(await spoolFiles()).toHaveLength(3);
    await reader.release(250);
    expect(await spoolFiles()).toEqual(['stdout.spool.100', 'stdout.spool.300']);
    expect(await reader.findNext(50)).toBe(100);
    expect(await reader.findNext(100)).toBe(100);
    await reader.release(10_000);
    expect(await spoolFiles()).toEqual(['stdout.spool.300']);
    expect(await spoolFiles('stderr')).toEqual(['stderr.spool.0']);
    expect(await reader.read(Buffer.alloc(1), 50)).toBe(0);
    await reader.close();
  });

  it('leaves nothing open when it is closed while it opens a file', async () => {
    await writeFile(join(dir, 'stdout.spool.0'), 'text');
    const reader = new SpoolReader({ dir, stream: 'stdout' });
    const buffer = Buffer.alloc(4);
    const reading = reader.read(buffer, 0);
    await reader.close();
    expect(await reading).toBe(0);
    expect(await reader.read(buffer, 0)).toBe(0);
    expect(await findOpenBelow(dir)).toEqual([]);
  });

  it('finds nothing where nothing was written, or nothing is left', async () => {
    const reader = new SpoolReader({ dir: join(dir, 'gone'), stream: 'stderr' });
    expect(await reader.read(Buffer.alloc(1), 0)).toBe(0);
    expect(await reader.findEnd()).toBe(0);
    expect(await reader.findNext(7)).toBe(7);
    await reader.release(7);
  });
});

describe('what the supervisor spools', () => {
  /** Starts a supervisor over a script; resolves when it has ended. */
  async function supervise(script: string): Promise<{ ended: Promise<void> }> {
    await run('mkfifo', [join(dir, 'stdout.pipe'), join(dir, 'stderr.pipe')]);
    await writeFile(join(dir, 'exit'), `${' '.repeat(63)}\n`);
    await writeFile(
      join(dir, 'command'),
      `read -r self </proc/self/stat\necho "$self" >pid\nexec setsid sh -c '${script}'\n`,
    );
    const path = join(dir, 'supervisor.sh');
    await writeFile(path, SUPERVISOR_SCRIPT);
    const env = { PATH: '/usr/bin:/bin' };
    const child = spawn('/bin/sh', [path, dir, '0', 'log'], { stdio: 'ignore', detached: true, env });
    const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
    return { ended };
  }

  it('is all that was written, whether by lines or by megabytes', async () => {
    const script = 'seq 1 200000; head -c 40000000 /dev/zero; echo end >&2';
    const { ended } = await supervise(script);
    const reader = new SpoolReader({ dir, stream: 'stdout' });
    // Somebody who reads, so that it need not wait.
    const buffer = Buffer.alloc(1_000_000);
    const state = { over: false };
    void ended.then(() => (state.over = true));
    let position = 0;
    let zeros = 0;
    let lines = '';
    for (;;) {
      const { over } = state;
      const bytes = await reader.read(buffer, position);
      if (bytes === 0 && over) break;
      const zero = buffer.subarray(0, bytes).indexOf(0);
      lines += buffer.toString('latin1', 0, zero < 0 ? bytes : zero);
      zeros += zero < 0 ? 0 : bytes - zero;
      position += bytes;
      await reader.release(position);
      if (bytes === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await reader.close();
    expect(lines.split('\n').slice(0, -1)).toEqual(
      Array.from({ length: 200_000 }, (_, at) => String(at + 1)),
    );
    expect(zeros).toBe(40_000_000);
    expect((await readAll('stderr')).toString()).toBe('end\n');
  });

  it('can be read by its owner alone, as all that it writes', async () => {
    const { ended } = await supervise('echo out; echo err >&2');
    await ended;
    for (const name of ['stdout.spool.0', 'stderr.spool.0', 'pid']) {
      expect(`${name} ${((await stat(join(dir, name))).mode & 0o777).toString(8)}`).toBe(`${name} 600`);
    }
  });

  it('has an end: with four full files the container waits until one is removed', async () => {
    const total = 3 * SPOOL_FILES * SPOOL_FILE_BYTES;
    const { ended } = await supervise(`head -c ${total} /dev/zero; echo done >&2`);
    const reader = new SpoolReader({ dir, stream: 'stdout' });
    const sizeNow = async (): Promise<number> => {
      const sizes = await Promise.all(
        (await spoolFiles()).map(async (name) => (await stat(join(dir, name))).size),
      );
      return sizes.reduce((sum, size) => sum + size, 0);
    };
    // It stands still: the same size in ten looks.
    for (let same = 0, last = -1; same < 10;) {
      const size = await sizeNow();
      same = size === last && size > 0 ? same + 1 : 0;
      last = size;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const files = await spoolFiles();
    expect(files).toHaveLength(SPOOL_FILES + 1);
    expect(await sizeNow()).toBeGreaterThanOrEqual(SPOOL_FILES * SPOOL_FILE_BYTES);
    expect(await sizeNow()).toBeLessThan(2 * SPOOL_FILES * SPOOL_FILE_BYTES);
    expect((await readAll('stderr')).toString()).toBe('');
    let bytes = 0;
    const state = { over: false };
    void ended.then(() => (state.over = true));
    const buffer = Buffer.alloc(1_000_000);
    for (;;) {
      const { over } = state;
      const read = await reader.read(buffer, bytes);
      bytes += read;
      await reader.release(bytes);
      if (read === 0 && over) break;
      if (read === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(bytes).toBe(total);
    await reader.close();
  });

  it('leaves no waiting process behind when its folder is gone', async () => {
    const { ended } = await supervise('exec cat /dev/zero');
    await until(async () => (await spoolFiles()).length > SPOOL_FILES);
    process.kill(Number.parseInt(await readFile(join(dir, 'pid'), 'utf8'), 10), 'SIGKILL');
    await until(async () => (await readFile(join(dir, 'exit'), 'utf8')).startsWith('exit 137'));
    const gone = `${dir}-gone`;
    // As RemoveContainer does: under another name first.
    await rename(dir, gone);
    try {
      await rm(gone, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
    } finally {
      await mkdir(dir);
    }
    await ended;
  });
});

async function until(ask: () => Promise<boolean>): Promise<void> {
  while (!(await ask())) await new Promise((resolve) => setTimeout(resolve, 5));
}
