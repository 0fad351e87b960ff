import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { HostFiles, type SilentPaths } from './host-files.js';

function open(root: string, silentPaths?: SilentPaths): HostFiles {
  return new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal, silentPaths });
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-host-files-'));
  onTestFinished(async () => rm(folder, { recursive: true }));
  return folder;
}

it('many short rounds of reads on the spot let the loop go on', async () => {
  const files = open('/');
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  for (let round = 0; round < 640; round++) {
    await files.findAllAtOnce([`/proc/${process.pid}/stat`, `/proc/${process.pid}/status`]);
  }
  isOver = true;
  expect(turns).toBeGreaterThan(10);
});

it.each([
  { status: 'FDSize:\t4096\n', isInstant: true },
  { status: 'FDSize:\t8192\n', isInstant: false },
  { status: '', isInstant: false },
])('files that a process has open are listed on the spot where they are few: $status', async (each) => {
  const root = await makeFolder();
  await mkdir(join(root, 'proc/7/fd/3'), { recursive: true });
  await writeFile(join(root, 'proc/7/status'), each.status);
  expect(await open(root).list('/proc/7/fd')).toEqual(['3']);
  // No thread is left that could wait.
  const hanging = new Map(['/a', '/b', '/c', '/d'].map((path) => [path, 0] as const));
  const listed = open(root, hanging).list('/proc/7/fd');
  if (each.isInstant) expect(await listed).toEqual(['3']);
  else await expect(listed).rejects.toThrow('files do not answer');
});

it('a file is read once as soon as it is there', async () => {
  const root = await makeFolder();
  const files = open(root);
  await mkdir(join(root, 'bundle'));
  expect(await files.findOnce('/bundle/address')).toBeUndefined();
  await writeFile(join(root, 'bundle/address'), 'unix:///s');
  expect(await files.findOnce('/bundle/address')).toBe('unix:///s');
  await writeFile(join(root, 'bundle/address'), 'another');
  expect(await files.findOnce('/bundle/address')).toBe('unix:///s');
});

it('what waits for a file ends with the signal, and leaves no listener', async () => {
  const stop = new AbortController();
  const files = new HostFiles({ root: '/', clock: new SystemClock(), signal: stop.signal });
  const never = new Promise<never>(() => undefined);
  const waiting = Promise.allSettled([files.within(never), files.within(never)]);
  expect(await files.within(Promise.resolve(7))).toBe(7);
  stop.abort(new Error('enough'));
  const outcomes = await waiting;
  expect(outcomes.map((each) => each.status === 'rejected' && String(each.reason))).toEqual([
    ...['Error: enough', 'Error: enough'],
  ]);
  await expect(files.within(never)).rejects.toThrow('enough');
});
