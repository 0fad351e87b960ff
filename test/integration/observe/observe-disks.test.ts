/**
 * An observer whose root folder lies on a disk that hangs, is full or may not be written: it comes up and goes on in memory,
 * says so, and writes when it can.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { patiently } from '#support/patience.js';
import { fillDisk } from '../fill-disk.js';
import { PodloopProcess, runPodloop } from '../podloop-process.js';

const FUSE_SERVER = fileURLToPath(new URL('../../incidents/harness/fuse-server.mjs', import.meta.url));
const run = promisify(execFile);

let folder: string;
let disk: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-observe-disks-'));
  disk = join(folder, 'disk');
  await mkdir(disk);
});
afterEach(async () => {
  await run('umount', ['-l', disk]).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

/** An observer of no runtime with its root folder on the disk. */
async function observe(...flags: readonly string[]) {
  const port = await findFreePort();
  const observer = new PodloopProcess([
    ...['observe', '--runtime-endpoint', `unix://${folder}/nobody.sock`, '--root-dir', join(disk, 'observe')],
    ...['--kubelet-url', '', '--healthz-url', '', '--metrics-bind-address', `127.0.0.1:${port}`, ...flags],
  ]);
  const health = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/healthz/history`)).text();
  return { observer, health };
}

describe.skipIf(process.getuid?.() !== 0)('an observer', { timeout: patiently(120_000) }, () => {
  it('comes up on a disk that hangs, says so, and ends when it is told to', async () => {
    const server: ChildProcess = spawn(process.execPath, [FUSE_SERVER, disk], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(server.stdout!, 'data');
      server.kill('SIGSTOP');
      const socket = join(folder, 'observe.sock');
      const { observer, health } = await observe('--socket', socket);
      await using _observer = observer;
      await observer.line('stderr', /"Root directory does not answer/);
      await observer.line('stderr', /"Starting to listen" socket/);
      await observer.line('stderr', /"Starting to listen for metrics/);
      await expect.poll(health, { timeout: patiently(30_000) }).toMatch(/its disk has not answered for \d+s/);
      expect(await runPodloop(['get', 'pods', '-A', '--socket', socket])).toMatchObject({ code: 0 });
      await observer.end('SIGTERM');

      // One that answers after all is claimed then, as far as it can be.
      const { observer: next } = await observe();
      await using _next = next;
      await next.line('stderr', /"Root directory does not answer/);
      server.kill('SIGCONT');
      await next.line('stderr', /"Root directory cannot be written/);
      expect(await next.end('SIGTERM')).toEqual({ code: 0, signal: null });
    } finally {
      server.kill('SIGKILL');
    }
  });

  it('keeps an incident in memory while the disk is full, and goes on when there is room', async () => {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'podloop-full', disk]);
    const { observer, health } = await observe();
    await using _observer = observer;
    await observer.line('stderr', /"Starting to listen" socket/);
    await expect.poll(health, { timeout: patiently(30_000) }).toBe('ok');
    await fillDisk(join(disk, 'rest'));
    await observer.line('stderr', /"Incidents cannot be written and stay in memory" err="ENOSPC/);
    const socket = ['--socket', join(disk, 'observe/podloop.sock')];
    const { code, stdout: shown } = await runPodloop(['incidents', ...socket]);
    expect([code, shown]).toEqual([0, expect.stringContaining('RuntimeSocketMissing')]);
    await rm(join(disk, 'rest'));
    expect(await observer.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const { stdout } = await runPodloop([
      'events',
      '-A',
      '--no-headers',
      '--root-dir',
      join(disk, 'observe'),
    ]);
    expect(stdout).toContain('ObserverStarted');
    expect(stdout).toContain('ObserverStopped');
  });

  it('starts on a disk that may not be written, and claims it when it may', async () => {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=8m,ro', 'podloop-read-only', disk]);
    const { observer } = await observe();
    await using _observer = observer;
    await observer.line('stderr', /"Root directory cannot be written: the history stays in memory for now"/);
    await run('mount', ['-o', 'remount,rw', disk]);
    await observer.line('stderr', /"Starting to listen" socket/);
    expect(await observer.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
