/**
 * What a newcomer does, on a stock node: install the package, and `npm start` in the sources.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CACHE_IN_MACHINE } from '../payload.js';
import { shell, shellOutput } from './node-shell.js';

it('npm installs the packed package without asking a registry', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-install-'));
  const quiet = '--offline --ignore-scripts --no-audit --no-fund --loglevel=error';
  await shell(`npm install --global --prefix ${folder} ${quiet} /srv/podloop.tgz`);
  expect(await shell(`${folder}/bin/podloop --version`)).toMatch(/^podloop \d+\.\d+\.\d+$/);
  await rm(folder, { recursive: true });
});

const CLONE = '/srv/fresh';
/** The compiler takes a quarter of an hour in an emulated machine; multiplied as every limit is. */
const BUILD_MS = 240_000;

it('npm ci installs the packages of a fresh clone', async () => {
  await shell(`mkdir ${CLONE} && tar -c --exclude=./node_modules --exclude=./dist . | tar -x -C ${CLONE}`);
  await shell(`cd ${CLONE} && npm ci --offline --cache ${CACHE_IN_MACHINE} --no-audit`);
  expect(await shell(`ls ${CLONE}/node_modules | wc -l`)).not.toBe('0');
});

it(
  'npm start builds, runs the demo, ends with 0 at Ctrl-C and leaves no process, mount or group',
  async () => {
    const left = async (): Promise<string> =>
      shellOutput(
        `pgrep -af '[d]ist/program/podloop.js|[s]upervisor'; grep podloop /proc/mounts | grep -v ' /srv '; ` +
          `find /sys/fs/cgroup -maxdepth 3 -name 'podloop*'`,
      );
    const before = await left();
    const files = await readdir(tmpdir());
    const child = spawn('npm', ['start'], { cwd: CLONE, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const running = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          if (/\bRunning\b/.test(text)) resolve();
        });
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await Promise.race([running, ended]);
    expect(text).toMatch(/\bRunning\b/);
    // As a terminal does: to everybody in the foreground.
    process.kill(-child.pid!, 'SIGINT');
    expect(await ended, text.slice(-2_000)).toBe(0);
    expect(await left()).toBe(before);
    expect((await readdir(tmpdir())).filter((name) => !files.includes(name))).toEqual([]);
  },
  BUILD_MS,
);
