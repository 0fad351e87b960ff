import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { ContainerFiles } from '../container/container-files.js';
import { ContainerOutput } from '../container/output/container-output.js';
import { defer } from '../deferred.js';
import { openConsole } from './container-console.js';

let folder: string;
let files: ContainerFiles;
let output: ContainerOutput;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-console-'));
  files = new ContainerFiles(join(folder, 'c'));
  output = new ContainerOutput({ files });
  await mkdir(files.dir);
  await writeFile(join(files.dir, 'stdout.spool.0'), 'before\n');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function open(ended: Promise<unknown>) {
  const findScript = () => undefined;
  return openConsole({ files, output, stdin: false, tty: false, clock: new FakeClock(), findScript, ended });
}

it('hands out what comes from now on, to the end of the container', async () => {
  const end = defer<undefined>();
  const attached = await open(end.promise);
  const said = text(attached.stdout);
  await writeFile(join(files.dir, 'stdout.spool.0'), 'after\n', { flag: 'a' });
  end.resolve(undefined);
  await attached.ended;
  expect(await said).toBe('after\n');
  attached.close();
});

it('tells whoever attached that the output cannot be read any more', async () => {
  const attached = await open(new Promise(() => undefined));
  attached.stdout.resume();
  await rename(files.dir, join(folder, 'elsewhere'));
  await writeFile(files.dir, 'no folder');
  output.poke();
  await expect(attached.ended).rejects.toThrow(/output of the container cannot be read: ENOTDIR/);
  attached.close();
});

it('keeps the spools for those who are still reading, and gives them back then', async () => {
  const end = defer<undefined>();
  const attached = await open(end.promise);
  await writeFile(join(files.dir, 'stdout.spool.0'), 'last\n', { flag: 'a' });
  const dropped = output.dropSpools();
  end.resolve(undefined);
  expect(await text(attached.stdout)).toBe('last\n');
  attached.close();
  await dropped;
  expect(await readdir(files.dir)).toEqual([]);
});
