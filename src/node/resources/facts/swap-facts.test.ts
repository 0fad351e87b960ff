import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readSwapFacts } from './swap-facts.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-swap-'));
  await mkdir(join(folder, 'tree/system.slice'), { recursive: true });
  await writeFile(join(folder, 'meminfo'), 'MemTotal: 100 kB\nSwapTotal:     2048 kB\nSwapFree: 1 kB\n');
});
afterEach(() => rm(folder, { recursive: true }));

const unified = (): string => `30 24 0:26 / ${join(folder, 'tree')} rw - cgroup2 cgroup2 rw\n`;
const read = (mountinfo: string) => readSwapFacts(true, { mountinfo, meminfo: join(folder, 'meminfo') });

it('a node has the swap that the kernel has, where it can be limited', async () => {
  await writeFile(join(folder, 'tree/system.slice/memory.swap.max'), 'max\n');
  expect(await read(unified())).toEqual({ isLimited: true, capacityBytes: 2_097_152n });
});

it('a node has none where it is not counted, or by version 1', async () => {
  expect(await read(unified())).toBeUndefined();
  await writeFile(join(folder, 'tree/system.slice/memory.swap.max'), 'max\n');
  const hybrid = `${unified()}31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n`;
  expect(await read(hybrid)).toBeUndefined();
  expect(await read('')).toBeUndefined();
});
