import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolKit } from './tool-kit.js';

const run = promisify(execFile);
let folder = '';
let kit: ToolKit;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-tools-'));
  kit = await ToolKit.install(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('ToolKit', () => {
  it('has programs that run from its folder with nothing but what is in it', async () => {
    const [file, ...args] = [...kit.inside('env'), '-i', 'A.B=c', kit.outside('mount'), '--version'];
    const { stdout } = await run(file, args, { cwd: kit.dir, env: {} });
    expect(stdout).toContain('util-linux');
    const [loader, ...rest] = kit.inside('setpriv');
    const listed = await run(loader!, ['--list', ...rest.slice(-1)], {
      cwd: kit.dir,
      env: { LD_LIBRARY_PATH: '.' },
    });
    expect(listed.stdout).not.toMatch(/=> \/(?!.*(vdso|loader))/);
  });

  it('has a loader that reads no file of the root in which it works', async () => {
    const loader = await readFile(join(kit.dir, 'loader'), 'latin1').catch(() => '');
    expect(loader).not.toContain('/etc/ld.so.preload\0');
    expect(loader).not.toContain('/etc/ld.so.cache\0');
  });

  it('has nothing that gives rights to whoever runs it', async () => {
    for (const name of await readdir(kit.dir)) {
      expect((await stat(join(kit.dir, name))).mode & 0o7000, name).toBe(0);
    }
  });

  it('is made once for as long as the originals stay the same', async () => {
    await chmod(kit.dir, 0o700);
    expect((await ToolKit.install(folder)).dir).toBe(kit.dir);
    expect((await stat(kit.dir)).mode & 0o777).toBe(0o700);
    await chmod(kit.dir, 0o755);
    expect(await readdir(folder)).toHaveLength(1);
  });

  it.skipIf(spawnSync('/usr/bin/perl', ['-e', '1']).status !== 0)(
    'has a starter that needs nothing but what is in its folder, where there is perl',
    async () => {
      const [file = '', ...args] = kit.starter ?? [];
      const words = [...args, '/', '1', 'a', 'A.B', '/bin/cat', '/proc/self/environ'];
      const { stdout } = await run(file, words, { cwd: kit.dir, env: { a: 'c' } });
      expect(stdout).toBe('A.B=c\0');
      const pipe = join(folder, 'pipe');
      await run('mkfifo', [pipe]);
      const [opener = '', ...open] = kit.opener ?? [];
      const show = ['/bin/sh', '-c', 'readlink "/proc/self/fd/$1"', 'sh'];
      expect((await run(opener, [...open, pipe, ...show], { cwd: kit.dir, env: {} })).stdout).toBe(
        `${pipe}\n`,
      );
      await rm(pipe);
    },
  );
});
