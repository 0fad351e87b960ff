/**
 * Read-only paths of a container on volumes whose mounts forbid more than that. Needs root; skipped elsewhere.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseMountinfo } from '#base/proc/mountinfo.js';
import { IsolatedPod } from './isolated-pod.js';

const run = promisify(execFile);

describe.skipIf(process.getuid?.() !== 0)('a read-only path on a volume (needs root)', () => {
  const volumes: string[] = [];
  let pod: IsolatedPod;
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-readonly-paths-'));
    pod = await IsolatedPod.start();
  }, 60_000);
  afterAll(async () => {
    await pod[Symbol.asyncDispose]();
    for (const volume of volumes) await run('umount', ['--lazy', volume]);
    await rm(folder, { recursive: true, force: true });
  });

  async function makeVolume(options: string): Promise<string> {
    const volume = join(folder, options.replaceAll(',', '-'));
    await mkdir(volume);
    await run('mount', ['-t', 'tmpfs', '-o', options, 'podloop-test', volume]);
    volumes.push(volume);
    await mkdir(join(volume, 'a folder/deep'), { recursive: true });
    await symlink('a folder/deep', join(volume, 'link'));
    for (const name of ['program', 'a folder/program']) await copyFile('/bin/true', join(volume, name));
    await run('mkfifo', [join(volume, 'pipe')]);
    return volume;
  }

  it.each([
    ['rw', []],
    ['nosuid', ['nosuid']],
    ['noexec', ['noexec']],
    ['nosuid,noexec', ['nosuid', 'noexec']],
  ])('keeps what the volume does not allow: %s', async (options, kept) => {
    const mounts = [{ hostPath: await makeVolume(options), containerPath: '/v' }];
    const readonlyPaths = ['/v/a folder', '/v/link', '/v/program', '/v/pipe', '/v/no/such'];
    const parts = { mounts, linux: { securityContext: { readonlyPaths } } };
    const script = `cat /proc/self/mountinfo
echo "said $(for each in '/v/a folder/program' /v/program; do "$each" && echo executed; done 2>/dev/null)"
for each in '/v/a folder/x' /v/link/x /v/program; do (echo x >>"$each") 2>/dev/null && echo "said written to $each"; done`;
    const lines = await pod.run(script, parts);
    const table = parseMountinfo(lines.filter((line) => /^\d+ \d+ /.test(line)).join('\n'));
    const found = new Map(table.map((mount) => [mount.mountPoint, mount.restrictions]));
    for (const place of ['/v/a folder', '/v/a folder/deep', '/v/program'])
      expect([place, found.get(place)?.toSorted()]).toEqual([place, ['nodev', 'ro', ...kept].toSorted()]);
    // There is nothing in it that could be executed.
    expect(found.get('/v/pipe')).toEqual(expect.arrayContaining(['nodev', 'ro', ...kept]));
    const isExecuted = !options.includes('noexec');
    expect(lines.filter((line) => /said|^executed/.test(line))).toEqual(
      isExecuted ? ['said executed', 'executed'] : ['said '],
    );
  });
});
