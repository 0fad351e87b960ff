import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { HostFiles } from '../facts/host-files.js';
import { readInotify } from './read-inotify.js';

let root: string;
let files: HostFiles;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
  await mkdir(join(root, 'proc/sys/fs/inotify'), { recursive: true });
  for (const [name, limit] of Object.entries({ instances: '128', watches: '65536' }))
    await writeFile(join(root, `proc/sys/fs/inotify/max_user_${name}`), `${limit}\n`);
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const failing = (code: string) => () => {
  throw Object.assign(new Error(`${code}: watch`), { code });
};

describe('inotify', () => {
  it('is used up where no instance or no watch is left for one more file', async () => {
    const limits = { instances: 128, watches: 65_536 };
    const isRoot = true;
    expect(await readInotify(files, { isRoot, tryWatch: () => undefined })).toEqual(limits);
    expect(await readInotify(files, { isRoot, tryWatch: failing('EMFILE') })).toEqual({
      ...{ ...limits, usedUp: 'instances' },
    });
    expect(await readInotify(files, { isRoot, tryWatch: failing('ENOSPC') })).toEqual({
      ...{ ...limits, usedUp: 'watches' },
    });
  });

  it('is not known for another reason, and by another user than that of the runtime', async () => {
    await expect(readInotify(files, { isRoot: true, tryWatch: failing('ENOENT') })).rejects.toThrow('ENOENT');
    await expect(readInotify(files, { isRoot: false })).rejects.toThrow('EACCES');
  });

  it('of this machine can be tried, which leaves nothing behind', async () => {
    const { usedUp } = await readInotify(files, { isRoot: true });
    expect([undefined, 'instances', 'watches']).toContain(usedUp);
  });
});
