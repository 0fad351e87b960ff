import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { setSlice } from './set-slice.js';

const NEVER = new AbortController().signal;

it('asks systemd to set properties of a slice, or to take them back, and rejects when it does not', async () => {
  await expect(setSlice('pods.slice', ['TasksMax=5'], NEVER, 'true')).resolves.toBeUndefined();
  const set = setSlice('pods.slice', ['TasksMax=5', 'MemoryMax=1'], NEVER, 'false');
  await expect(set).rejects.toThrow('set-property --runtime -- pods.slice TasksMax=5 MemoryMax=1');
  await expect(setSlice('pods.slice', [], NEVER, 'false')).rejects.toThrow(
    'revert --no-reload -- pods.slice',
  );
});

it.skipIf(!existsSync('/usr/bin/systemctl'))(
  'takes back what was set until the next boot, also where nothing was',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-slice-'));
    onTestFinished(async () => rm(folder, { recursive: true }));
    const settings = join(folder, 'run/systemd/system.control/pods.slice.d');
    for (const each of [settings, join(folder, 'etc/systemd/system')]) await mkdir(each, { recursive: true });
    await writeFile(join(settings, '50-TasksMax.conf'), '[Slice]\nTasksMax=5\n');
    // The machine's program, on a folder in the place of its root.
    const program = join(folder, 'systemctl');
    await writeFile(program, `#!/bin/sh\nexec /usr/bin/systemctl --root=${folder} "$@"\n`, { mode: 0o755 });
    await setSlice('pods.slice', [], NEVER, program);
    expect(existsSync(settings)).toBe(false);
    await setSlice('pods.slice', [], NEVER, program);
  },
);
