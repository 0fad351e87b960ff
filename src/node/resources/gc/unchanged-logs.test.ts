import { appendFile, lstat, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { UnchangedLogs } from './unchanged-logs.js';

const LOG = '/logs/web/0.log';
const OPEN = '/proc/self/fd/7/0.log';
const SIZE = { dev: 1, ino: 2, size: 30 };

/** A watch that reports what the test wants, and counts its files. */
function lab() {
  const clock = new FakeClock();
  const watches = new Map<string, () => void>();
  const kernel = { hasWatches: true, tries: 0 };
  const still = new UnchangedLogs({
    clock,
    watch: (path, onNews) => {
      kernel.tries++;
      if (!kernel.hasWatches) throw new Error('ENOSPC');
      watches.set(path, onNews);
      return { close: () => watches.delete(path) };
    },
  });
  const look = (times: number, facts = SIZE): void => {
    for (let at = 0; at < times; at++) still.note(LOG, OPEN, facts);
  };
  return { clock, kernel, watches, still, look };
}

describe('a log', () => {
  it('is still once it was watched and a further look found nothing new', () => {
    const { still, watches, look } = lab();
    look(3);
    expect([watches.size, still.isStill(LOG)]).toEqual([0, false]);
    look(1);
    expect([[...watches.keys()], still.isStill(LOG)]).toEqual([[OPEN], false]);
    look(1);
    expect(still.isStill(LOG)).toBe(true);
  });

  it('is checked again from the first event on, and watched again after some checks', () => {
    const { still, watches, look } = lab();
    look(5);
    watches.get(OPEN)!();
    expect([watches.size, still.isStill(LOG)]).toEqual([0, false]);
    look(2);
    expect(watches.size).toBe(0);
    look(2);
    expect([watches.size, still.isStill(LOG)]).toEqual([1, true]);
  });

  it.each([
    ['grew', { ...SIZE, size: 31 }],
    ['is another one', { ...SIZE, ino: 3 }],
  ])('is not still when it %s between the look and the watch', (_, facts) => {
    const { still, watches, look } = lab();
    look(4);
    look(1, facts);
    expect([watches.size, still.isStill(LOG)]).toEqual([0, false]);
    look(3, facts);
    expect([watches.size, still.isStill(LOG)]).toEqual([1, false]);
  });

  it('is checked now and then although the watch reports nothing', async () => {
    const { clock, still, watches, look } = lab();
    look(5);
    await clock.advance(10 * 60_000);
    expect(still.isStill(LOG)).toBe(false);
    look(1);
    expect([watches.size, still.isStill(LOG)]).toEqual([1, true]);
  });

  it('is looked at each time once it was found changed three times without a word', async () => {
    const { clock, still, kernel, look } = lab();
    for (let size = 1; size <= 4; size++) {
      look(6, { ...SIZE, size });
      await clock.advance(10 * 60_000);
    }
    expect(kernel.tries).toBe(3);
    look(10, { ...SIZE, size: 4 });
    expect([kernel.tries, still.isStill(LOG)]).toEqual([3, false]);
  });

  it('is looked at each time when the kernel has no watches left, which is asked again later', async () => {
    const { clock, still, kernel, watches, look } = lab();
    kernel.hasWatches = false;
    look(10);
    expect([kernel.tries, still.isStill(LOG)]).toEqual([1, false]);
    kernel.hasWatches = true;
    await clock.advance(5 * 60_000);
    look(2);
    expect([watches.size, still.isStill(LOG)]).toEqual([1, true]);
  });

  it('is not watched once it is forgotten', () => {
    const { still, watches, look } = lab();
    look(5);
    still.keepOnly(new Set([LOG]));
    expect(still.isStill(LOG)).toBe(true);
    still.keepOnly(new Set());
    expect([watches.size, still.isStill(LOG)]).toEqual([0, false]);
    look(5);
    still.close();
    expect(watches.size).toBe(0);
  });
});

it('watches no more logs than others can spare', () => {
  const { still, watches } = lab();
  for (let log = 0; log < 2_500; log++)
    for (let look = 0; look < 5; look++) still.note(`${log}`, `${log}`, SIZE);
  expect(watches.size).toBe(2_000);
});

describe('on this machine', () => {
  let folder: string;
  let log: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-still-'));
    log = join(folder, '0.log');
    await writeFile(log, 'a line\n');
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it.each<[string, () => Promise<void>]>([
    ['is written to', () => appendFile(log, 'another line\n')],
    ['is moved away', () => rename(log, `${log}.1`)],
    ['is removed', () => rm(log)],
  ])('a log is not still once it %s', async (_, change) => {
    const still = new UnchangedLogs({ clock: new FakeClock() });
    for (let look = 0; look < 5; look++) still.note(log, log, await lstat(log));
    expect(still.isStill(log)).toBe(true);
    await change();
    await expect.poll(() => still.isStill(log)).toBe(false);
    still.close();
  });
});
