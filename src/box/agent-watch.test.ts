import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type FolderLock, lockFolder, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { waitForAgentEnd } from './agent-watch.js';

let rootDir: string;
let clock: FakeClock;
let ending: AbortController;
let pods: number;
let looks: number;

beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'podloop-agent-watch-'));
  clock = new FakeClock();
  ending = new AbortController();
  pods = 0;
  looks = 0;
});
afterEach(async () => {
  ending.abort();
  await rm(rootDir, { recursive: true, force: true });
});

const agent = async (): Promise<FolderLock> => lockFolder(rootDir, NODE_ROOT_LOCK, { clock });

function watch(): { readonly end: Promise<FolderLock | undefined>; hasEnded: boolean } {
  const isIdle = (): boolean => (looks++, pods === 0);
  const watched = {
    end: waitForAgentEnd({ rootDir, isIdle, clock, signal: ending.signal }),
    hasEnded: false,
  };
  watched.end.then(
    () => (watched.hasEnded = true),
    () => undefined,
  );
  return watched;
}

/**
 * Lets time pass, and the real lock be asked for between the steps, until the watch has looked so often again and has its
 * answer: a lock that is asked for still would be given to it as soon as an agent lets go.
 */
async function look(watched: { readonly hasEnded: boolean }, times = 2): Promise<void> {
  const until = looks + times;
  while (looks < until) {
    await clock.advance(100);
    await new Promise((done) => setTimeout(done, 1));
  }
  // It sleeps again once it was answered.
  while (clock.nextTimerInMs === undefined && !watched.hasEnded)
    await new Promise((done) => setTimeout(done, 1));
}

it('goes on while an agent works in the folder, whichever, and ends when none does', async () => {
  const first = await agent();
  const watched = watch();
  await look(watched);
  await first.release();
  const second = await agent();
  await look(watched);
  expect(watched.hasEnded).toBe(false);
  await second.release();
  await look(watched);
  await using lock = await watched.end;
  expect(lock).toBeDefined();
});

it('goes on without an agent while there is something to do', async () => {
  await (await agent()).release();
  pods = 1;
  const watched = watch();
  await look(watched);
  expect(watched.hasEnded).toBe(false);
  pods = 0;
  await look(watched);
  await using lock = await watched.end;
  expect(lock).toBeDefined();
});

it('keeps a new agent waiting until the end has come', async () => {
  await (await agent()).release();
  const watched = watch();
  await look(watched);
  const lock = await watched.end;
  const next = agent();
  let isThere = false;
  void next.then(() => (isThere = true));
  await clock.advance(500);
  expect(isThere).toBe(false);
  await lock!.release();
  while (!(isThere as boolean)) {
    await clock.advance(100);
    await new Promise((done) => setTimeout(done, 1));
  }
  await (await next).release();
});

it('ends where no agent has been, as in a folder that is being removed, and makes nothing there', async () => {
  const watched = watch();
  await look(watched, 1);
  expect(await watched.end).toBeUndefined();
  expect(await readdir(rootDir)).toEqual([]);
});

it('ends with the folder', async () => {
  await rm(rootDir, { recursive: true });
  const watched = watch();
  await look(watched, 1);
  expect(await watched.end).toBeUndefined();
});

it('rejects when it is told to end', async () => {
  const owner = await agent();
  const watched = watch();
  await look(watched);
  ending.abort(new Error('told to end'));
  await expect(watched.end).rejects.toThrow('told to end');
  await owner.release();
});
