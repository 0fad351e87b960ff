/**
 * `podloop runtime` as a service of systemd: it says when it listens and that it ends, through the program systemd-notify.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RuntimeProgram } from './embedded-process.js';

const LIMIT = { timeout: 60_000 };

describe('podloop runtime as a service of systemd', LIMIT, () => {
  let folder: string;
  let program: RuntimeProgram;

  beforeAll(async () => {
    program = await RuntimeProgram.build();
  }, 120_000);
  afterAll(() => program[Symbol.asyncDispose]());

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-runtime-service-'));
    const notify = join(folder, 'systemd-notify');
    await writeFile(notify, `#!/bin/sh\necho "$*" >> ${join(folder, 'notified')}\n`);
    await chmod(notify, 0o755);
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const notified = async (): Promise<string[]> =>
    (await readFile(join(folder, 'notified'), 'utf8').catch(() => '')).split('\n').slice(0, -1);

  function serve(listen: string) {
    const [node = '', ...words] = program.commandLine;
    const args = [
      '--listen',
      listen,
      '--root',
      join(folder, 'root'),
      '--isolation',
      'none',
      '--network',
      'host',
    ];
    const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
    const child = spawn(node, [...words, 'runtime', ...args], {
      stdio: 'ignore',
      env: { ...process.env, PATH, NOTIFY_SOCKET: '/run/n' },
    });
    return { child, ended: once(child, 'exit') };
  }

  it('says that it is ready once it listens, and that it ends', async () => {
    const socket = `unix://${join(folder, 'cri.sock')}`;
    const { child, ended } = serve(socket);
    try {
      await expect.poll(notified, LIMIT).toEqual([`READY=1 STATUS=Listens at ${socket}`]);
    } finally {
      child.kill('SIGTERM');
    }
    expect(await ended).toEqual([0, null]);
    expect(await notified()).toEqual([`READY=1 STATUS=Listens at ${socket}`, 'STOPPING=1 STATUS=Ending']);
  });

  it('says nothing when it cannot listen', async () => {
    const { ended } = serve(`unix://${join(folder, 'no'.repeat(100))}`);
    expect(await ended).toEqual([1, null]);
    expect(await notified()).toEqual([]);
  });
});
