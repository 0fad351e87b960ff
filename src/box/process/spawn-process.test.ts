import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { spawnProcess } from './spawn-process.js';

const clock = new SystemClock();

function open(script: string, more: Partial<Parameters<typeof spawnProcess>[0]> = {}) {
  return spawnProcess({
    argv: ['sh', '-c', script],
    environment: { PATH: '/usr/bin:/bin', WORD: 'word' },
    workingDir: '/usr',
    pipesFolder: tmpdir(),
    clock,
    ...{ tty: false, stdin: true, stdout: true, stderr: true },
    ...more,
  });
}

it('a command has its environment, its folder, its streams and its exit code', async () => {
  const process = await open('read x; echo "$WORD $x"; pwd >&2; exit 7');
  process.stdin!.write('given\n');
  const answers = await Promise.all([text(process.stdout!), text(process.stderr!), process.exit]);
  expect(answers).toEqual(['word given\n', '/usr\n', 7]);
});

it.each([false, true])('nothing of a command that has ended stays open (terminal: %s)', async (tty) => {
  const run = async (): Promise<void> => {
    const process = await open('exit 0', { tty });
    process.stdout?.resume();
    process.stderr?.resume();
    await process.exit;
  };
  const count = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  await run();
  const before = await count();
  for (let runs = 0; runs < 10; runs++) await run();
  while ((await count()) > before) await clock.sleep(5);
});

it.each([
  ['is gone', '/no/such', 'ENOENT'],
  ['has become a file', '/proc/version', 'ENOTDIR'],
])('a command whose folder %s rejects, and leaves nothing open', async (_what, workingDir, code) => {
  for (const tty of [false, true]) {
    const before = (await readdir('/proc/self/fd')).length;
    await expect(open('', { workingDir, tty })).rejects.toThrow(code);
    while ((await readdir('/proc/self/fd')).length > before) await clock.sleep(5);
  }
});

it('a command can be killed, again and too late', async () => {
  const process = await open('sleep 1000 & sleep 1000');
  process.kill();
  process.kill();
  expect(await process.exit).toBe(137);
  process.kill();
  expect(await text(process.stdout!)).toBe('');
});

it('what leads into a container is given time to end when what it led in was killed', async () => {
  let calls = 0;
  const process = await open('trap "echo by itself; exit 3" TERM; while :; do sleep 0.05; done', {
    killRest: (pid) => {
      calls++;
      return globalThis.process.kill(pid, 'SIGTERM');
    },
  });
  await clock.sleep(100);
  process.kill();
  expect(await process.exit).toBe(3);
  expect(calls).toBe(1);
});
