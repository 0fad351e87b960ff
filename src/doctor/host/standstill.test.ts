import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { HostFiles } from '../facts/host-files.js';
import { CpuClocks, readStandstill } from './standstill.js';

let root: string;
let files: HostFiles;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

/** A thread that last ran on that CPU when its clock showed that many seconds. */
async function addThread(pid: number, tid: number, cpu: number, atS: number): Promise<void> {
  const fields = Array.from({ length: 49 }, (_, at) => (at === 36 ? cpu : 0)).join(' ');
  for (const folder of [...(tid === pid ? [`proc/${pid}`] : []), `proc/${pid}/task/${tid}`]) {
    await write(`${folder}/stat`, `${tid} (a (b) c) ${fields.replace('0', 'S')}\n`);
    await write(
      `${folder}/sched`,
      `a (${tid}, #threads: 1)\n---\nse.exec_start                                :  ${(atS * 1_000).toFixed(6)}\nse.vruntime  : 9\n`,
    );
  }
}

it('is as long as whoever ran last on the same CPU has run after it', async () => {
  await addThread(7, 7, 1, 40);
  await addThread(2, 2, 1, 95);
  await addThread(3, 3, 1, 100);
  // The clocks of CPUs differ by what a hypervisor took from each.
  await addThread(4, 4, 0, 700);
  expect(await readStandstill(files, 7)).toEqual({ stillForMs: 60_000 });
  // Nothing has run after it there.
  expect(await readStandstill(files, 4)).toEqual({ stillForMs: 0 });
});

it('is not measured by a process that is moved to another CPU while it is read', async () => {
  await addThread(7, 7, 1, 40);
  await addThread(2, 2, 1, 95);
  await addThread(3, 3, 1, 9_000);
  let reads = 0;
  class Moving extends HostFiles {
    override async read(path: string): Promise<string> {
      const text = await super.read(path);
      // Its time is that of CPU 0 as soon as it has run there.
      return path === '/proc/3/stat' && ++reads > 2 ? text.replace(/ 1( 0)+\n$/, ' 0$1\n') : text;
    }
  }
  const moving = new Moving({ root, clock: new SystemClock(), signal: new AbortController().signal });
  expect(await readStandstill(moving, 7)).toEqual({ stillForMs: 55_000 });
});

it('ends with the thread that ran last, unless one is asked for', async () => {
  await addThread(7, 7, 1, 40);
  await addThread(7, 8, 0, 650);
  await addThread(3, 3, 1, 100);
  await addThread(4, 4, 0, 700);
  expect(await readStandstill(files, 7)).toEqual({ stillForMs: 50_000 });
  expect(await readStandstill(files, 7, { thread: 7 })).toEqual({ stillForMs: 60_000 });
});

it('is not known where the kernel does not say it, or the process is gone', async () => {
  await addThread(7, 7, 1, 40);
  await addThread(3, 3, 1, 100);
  expect(await readStandstill(files, 8)).toEqual({});
  await rm(join(root, 'proc/7/task/7/sched'));
  expect(await readStandstill(files, 7)).toEqual({});
});

it('reads the other processes once for all that are asked about at one time', async () => {
  for (const [pid, atS] of [40, 50, 100].entries()) await addThread(pid + 1, pid + 1, 1, atS);
  let lists = 0;
  class Counting extends HostFiles {
    override async list(path: string): Promise<string[]> {
      if (path === '/proc') lists++;
      return await super.list(path);
    }
  }
  const counting = new Counting({ root, clock: new SystemClock(), signal: new AbortController().signal });
  const clocks = new CpuClocks(counting);
  const found = await Promise.all([1, 2].map((pid) => readStandstill(counting, pid, { clocks })));
  expect(found).toEqual([{ stillForMs: 60_000 }, { stillForMs: 50_000 }]);
  expect(lists).toBe(1);
});
