import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { makeRunFolder } from './run-folder.js';

it('removes the folders of runs that were killed, and no others', async () => {
  const parent = await mkdtemp(path.join(tmpdir(), 'podloop-run-folder-'));
  try {
    const first = await makeRunFolder('relay', parent);
    // Beyond the largest pid that Linux gives.
    for (const name of ['podloop-bench-run-4194305-relay-x', 'podloop-bench-run-mine', 'other'])
      await mkdir(path.join(parent, name));
    const second = await makeRunFolder('memory', parent);
    expect((await readdir(parent)).toSorted()).toEqual(
      [path.basename(first), path.basename(second), 'other', 'podloop-bench-run-mine'].toSorted(),
    );
    expect(existsSync(first)).toBe(true);
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
});
