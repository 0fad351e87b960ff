import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ResourceVersions } from './resource-versions.js';

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'podloop-versions-'))));
afterEach(async () => rm(folder, { recursive: true }));

const open = async (blockSize = 10) =>
  ResourceVersions.open({ file: join(folder, 'version'), blockSize }, 5_000_000);

it('go up from agent to agent, whenever one is killed', async () => {
  const first = await open();
  let last = 0;
  for (let step = 0; step < 100; step++) {
    const next = first.next();
    expect(next).toBeGreaterThan(last);
    last = next;
    await first.settled();
    if (step % 7 !== 0) continue;
    expect((await open()).next()).toBeGreaterThan(last);
    await writeFile(join(folder, 'version'), `${Math.ceil((last + 10) / 5) * 5}`);
  }
});

it('begin above all that was ever counted when nobody knows where', async () => {
  await writeFile(join(folder, 'version'), 'garbage');
  expect((await open()).next()).toBe(5_000_001);
});
