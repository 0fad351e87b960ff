import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SystemClock } from '#base/time/clock.js';
import { type ContainerProcess } from '../isolation/container-process.js';
import { PtyResizer, wrapInPty } from './pty.js';
import { spawnProcess } from './spawn-process.js';

const clock = new SystemClock();

function open(...argv: string[]): Promise<ContainerProcess> {
  const streams = { tty: true, stdin: true, stdout: true, stderr: false };
  return spawnProcess({
    argv,
    ...streams,
    environment: { PATH: '/usr/bin:/bin' },
    workingDir: '/',
    pipesFolder: tmpdir(),
    clock,
  });
}

const shell = (words: string): Promise<ContainerProcess> => open('sh', '-c', words);

/** Resolves with what has come as soon as it matches. */
function see(process: ContainerProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let seen = '';
    process.stdout!.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
      if (pattern.test(seen)) resolve(seen);
    });
  });
}

describe('a command at a terminal', () => {
  it('has one for all of its streams, and keeps its exit code', async () => {
    const process = await shell('for fd in 0 1 2; do [ -t $fd ] && echo "$fd"; done; exit 42');
    expect(await text(process.stdout!)).toBe('0\r\n1\r\n2\r\n');
    expect(await process.exit).toBe(42);
    expect(process.stderr).toBeUndefined();
  });

  it('exits with 128 + n when a signal ends it', async () => {
    const process = await shell('kill -TERM $$');
    process.stdout!.resume();
    expect(await process.exit).toBe(143);
  });

  it('gets its words as they are', async () => {
    const words = ["it's", '$HOME `date`', 'a"b\\c', '*', '', 'two\nlines', 'ümläut'];
    const process = await open('printf', '<%s>', ...words);
    expect(await text(process.stdout!)).toBe(words.map((word) => `<${word.replace('\n', '\r\n')}>`).join(''));
  });

  it('loses nothing of much output, however late it is read', async () => {
    const process = await shell('head -c 2000000 /dev/zero | tr "\\0" x');
    await once(process.stdout!, 'readable');
    expect((await text(process.stdout!)).length).toBe(2_000_000);
    expect(await process.exit).toBe(0);
  });

  it('is interrupted by Ctrl-C', async () => {
    const process = await shell(
      'trap "echo interrupted; exit 3" INT; echo ready; while :; do sleep 0.05; done',
    );
    await see(process, /ready/);
    process.stdin!.write('\x03');
    await see(process, /interrupted/);
    expect(await process.exit).toBe(3);
  });

  it('sees the end of its input at Ctrl-D, and when the input ends', async () => {
    for (const end of [
      (each: ContainerProcess) => each.stdin!.write('\x04'),
      (each: ContainerProcess) => each.stdin!.end(),
    ]) {
      const process = await shell('cat; echo over');
      process.stdin!.write('line\n');
      const seen = see(process, /over/);
      await see(process, /line\r\nline\r\n/);
      end(process);
      expect(await seen).toBe('line\r\nline\r\nover\r\n');
      expect(await process.exit).toBe(0);
    }
  });

  it('is told of a new size, the last one of many', async () => {
    const process = await shell('trap "stty size" WINCH; echo ready; while :; do sleep 0.05; done');
    await see(process, /ready/);
    const seen = see(process, /43 132\r\n/);
    for (let columns = 1; columns < 20; columns++) void process.resize!(columns, 7);
    await process.resize!(132, 43);
    await seen;
    process.kill();
    await process.exit;
  });

  it('is killed with what it has started, even what ignores that its terminal is gone', async () => {
    const process = await shell('trap "" HUP; sleep 1000 & echo "$! $$"; wait');
    const [, ...pids] = /(\d+) (\d+)/.exec(await see(process, /\d+ \d+\r\n/))!;
    process.kill();
    await process.exit;
    const isThere = (pid: string): boolean => {
      try {
        return globalThis.process.kill(Number(pid), 0);
      } catch {
        return false;
      }
    };
    while (pids.some(isThere)) await clock.sleep(5);
    process.kill();
  });
});

/** An open terminal, a resizer that finds its process on demand, and a tool that logs its arguments. */
async function openTerminal(toolScript: string) {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-pty-'));
  const stty = join(folder, 'stty');
  await writeFile(stty, `#!/bin/sh\n${toolScript}\n`, { mode: 0o755 });
  const { argv, environment } = wrapInPty(['sh', '-c', 'echo up; sleep 1000'], '/usr/bin/script');
  const [file = '', ...args] = argv;
  const script = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, ...environment },
  });
  await once(script.stdout, 'data');
  const fake = new FakeClock({ settleRounds: 1 });
  const terminal = { opened: false, looks: 0 };
  const findScript = (): number | undefined => {
    terminal.looks++;
    return terminal.opened ? script.pid : process.pid;
  };
  return Object.assign(terminal, {
    fake,
    resizer: new PtyResizer({ clock: fake, stty, findScript }),
    said: () => readFile(`${stty}.said`, 'utf8').catch(() => ''),
    [Symbol.asyncDispose]: async () => {
      script.kill('SIGKILL');
      await rm(folder, { recursive: true });
    },
  });
}

/** Moves the clock on whenever somebody waits for it, and only then: the files that are read are real. */
async function advanceUntil(fake: FakeClock, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    if (fake.pendingTimers > 0) await fake.advance(250);
    else await nextRound();
  }
}

describe('the size of a terminal', () => {
  it('is nobody’s once its process may be gone', async () => {
    const resizer = new PtyResizer({ clock, findScript: () => undefined });
    await resizer.resize({ columns: 80, rows: 24 });
  });

  it('is given up when the tool that sets it hangs', async () => {
    await using terminal = await openTerminal('echo begun >"$0.said"; exec sleep 1000');
    terminal.opened = true;
    let done = false;
    const resized = terminal.resizer.resize({ columns: 80, rows: 24 }).then(() => (done = true));
    while ((await terminal.said()) === '') await nextRound();
    expect(done).toBe(false);
    await terminal.fake.advance(30_000);
    await resized;
  });

  it('is set as soon as there is a terminal, the last one of many', async () => {
    await using terminal = await openTerminal('echo "$4 $6" >>"$0.said"');
    const { fake, resizer } = terminal;
    const resized = [80, 90, 100].map((columns) => resizer.resize({ columns, rows: 24 }));
    const start = fake.monotonicMs();
    await advanceUntil(fake, () => fake.monotonicMs() - start >= 30_000);
    expect(await terminal.said()).toBe('');
    terminal.opened = true;
    // It is asleep until its next look; from then on time stands still, and the tool's deadline with it.
    while (fake.pendingTimers === 0) await nextRound();
    await fake.advance(250);
    await Promise.all(resized);
    expect(await terminal.said()).toBe('100 24\n');
  });

  it('waits for a terminal that never comes a minute at most, and is set with the next one', async () => {
    await using terminal = await openTerminal('echo "$4 $6" >>"$0.said"');
    const { fake, resizer } = terminal;
    let done = false;
    const start = fake.monotonicMs();
    void resizer.resize({ columns: 80, rows: 24 }).then(() => (done = true));
    await advanceUntil(fake, () => done);
    expect(fake.monotonicMs() - start).toBeLessThan(61_000);
    expect(terminal.looks).toBeLessThan(1_000);
    expect(await terminal.said()).toBe('');
    terminal.opened = true;
    await resizer.resize({ columns: 100, rows: 30 });
    expect(await terminal.said()).toBe('100 30\n');
  });
});

it('a command is one word for script, whatever is in it', () => {
  const { argv, environment } = wrapInPty(['echo', "don't"], '/usr/bin/script');
  expect(argv.slice(-3)).toEqual(['--command', `exec 'echo' 'don'\\''t'`, '/dev/null']);
  expect(argv[0]).toBe('/usr/bin/script');
  expect(environment).toEqual({ SHELL: '/bin/sh' });
});
