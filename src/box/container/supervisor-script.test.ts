import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { childrenOf } from '../process/children-of.js';
import { findProcess } from '../process/child-identity.js';
import { renderCommand, SUPERVISOR_SCRIPT } from './supervisor-script.js';

const LAST_NUMBER = '/proc/sys/kernel/ns_last_pid';
const TOOLS = { env: '/usr/bin/env', setsid: '/usr/bin/setsid' };

describe('renderCommand', () => {
  it('hands every byte of arguments and variables through a shell', () => {
    const word = fc.string().filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 3 }), word, (args, value) => {
        const command = {
          argv: ['printf', '%s\\0', ...args, 'end'],
          environment: [Buffer.from('PATH=/usr/bin:/bin'), Buffer.from(`a.b=${value}`)],
          workingDir: '/',
        };
        const input = renderCommand(command, TOOLS);
        const output = execFileSync('/bin/sh', ['-s'], { input }).toString();
        expect(output.split('\0').slice(0, -1)).toEqual([...args, 'end']);
        const shown = execFileSync('/bin/sh', ['-s'], {
          input: renderCommand({ ...command, argv: ['env'] }, TOOLS),
        });
        expect(shown.toString()).toBe(`PATH=/usr/bin:/bin\na.b=${value}\n`);
      }),
      { numRuns: 15 },
    );
  });

  it('keeps a value that is no text', () => {
    const environment = [Buffer.from('PATH=/usr/bin:/bin'), Buffer.from([0x41, 0x3d, 0xff, 0x27, 0xfe])];
    const input = renderCommand({ argv: ['env'], environment, workingDir: '/' }, TOOLS);
    expect(execFileSync('/bin/sh', ['-s'], { input }).subarray(-6)).toEqual(
      Buffer.from([0x41, 0x3d, 0xff, 0x27, 0xfe, 0x0a]),
    );
  });
});

describe('SUPERVISOR_SCRIPT', () => {
  it('is understood by the shell', () => {
    execFileSync('/bin/sh', ['-n'], { input: SUPERVISOR_SCRIPT });
    expect(SUPERVISOR_SCRIPT).not.toContain('\t');
  });
});

/** Whether the number of the next process can be set here: root may, where the kernel was built for it. */
function mayChooseNumbers(): boolean {
  try {
    accessSync(LAST_NUMBER, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

describe('the end of a supervisor', () => {
  let folder = '';
  let others: ChildProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-supervisor-'));
    await writeFile(join(folder, 'script'), SUPERVISOR_SCRIPT);
    await writeFile(join(folder, 'exit'), `${' '.repeat(20)}\n`);
    others = [];
  });
  afterEach(async () => {
    for (const other of others) {
      if (other.exitCode !== null || other.signalCode !== null) continue;
      other.kill('SIGKILL');
      await once(other, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  });

  async function startOther(): Promise<ChildProcess & { readonly pid: number }> {
    const other = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    others.push(other);
    await once(other, 'spawn');
    return other as ChildProcess & { readonly pid: number };
  }

  async function startSupervisor(command: string, streams: string): Promise<ChildProcess> {
    await writeFile(join(folder, 'command'), command);
    return spawn('/bin/sh', [join(folder, 'script'), folder, '0', streams], {
      ...{ detached: true, stdio: 'ignore', env: { PATH: process.env['PATH'] } },
    });
  }

  async function runSupervisor(command: string): Promise<void> {
    await once(await startSupervisor(command, ''), 'exit');
    expect((await readFile(join(folder, 'exit'), 'utf8')).split('\n')[0]).toBe('exit 3');
  }

  /** A signal that was sent before would be the one that it ends by. */
  async function expectUntouched(other: ChildProcess): Promise<void> {
    other.kill('SIGTERM');
    expect(await once(other, 'exit')).toEqual([null, 'SIGTERM']);
  }

  const leave = (line: string): string => `printf '%s\\n' '${line}' >pid\nexit 3\n`;

  it('leaves a group alone whose leader has only the number of the first process', async () => {
    const other = await startOther();
    const line = await readFile(`/proc/${other.pid}/stat`, 'utf8');
    const { startTicks } = findProcess(other.pid)!;
    await runSupervisor(leave(line.trim().replace(` ${startTicks} `, ` ${Number(startTicks) - 1} `)));
    await expectUntouched(other);
  });

  it('kills the group of the first process, alive or dead', async () => {
    const alive = await startOther();
    await runSupervisor(leave((await readFile(`/proc/${alive.pid}/stat`, 'utf8')).trim()));
    expect(alive.signalCode ?? (await once(alive, 'exit'))[1]).toBe('SIGKILL');
    await rm(join(folder, 'run.0'));
    await writeFile(join(folder, 'exit'), `${' '.repeat(20)}\n`);
    const inner = `read -r self </proc/self/stat; echo "$self" >pid; sleep 1000 & echo $! >left; exit 3`;
    await runSupervisor(`exec setsid -- sh -c '${inner}'\n`);
    const left = Number(await readFile(join(folder, 'left'), 'utf8'));
    while (findProcess(left)?.state !== undefined && findProcess(left)?.state !== 'Z') {
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  /** The next process gets this number. Nobody else must start one meanwhile, so it may take several attempts. */
  async function startWithNumber(pid: number): Promise<ChildProcess> {
    for (;;) {
      await writeFile(LAST_NUMBER, String(pid - 1));
      const other = await startOther();
      if (other.pid === pid) return other;
      other.kill('SIGKILL');
      await once(other, 'exit');
    }
  }

  it.skipIf(!mayChooseNumbers())(
    'leaves alone whoever has the number of what has fed the input',
    async () => {
      execFileSync('mkfifo', [join(folder, 'stdin.pipe'), join(folder, 'input.pipe'), join(folder, 'go')]);
      const supervisor = await startSupervisor('cat >got\nread -r line <go\nexit 3\n', 'once');
      const ended = once(supervisor, 'exit');
      let feeder: number | undefined;
      // The first one that it starts.
      while (feeder === undefined) {
        await new Promise((resolve) => setImmediate(resolve));
        [feeder] = childrenOf(supervisor.pid!);
      }
      await writeFile(join(folder, 'stdin.pipe'), 'words');
      while (existsSync(`/proc/${feeder}`)) await new Promise((resolve) => setImmediate(resolve));
      const other = await startWithNumber(feeder);
      await writeFile(join(folder, 'go'), '\n');
      await ended;
      expect(await readFile(join(folder, 'got'), 'utf8')).toBe('words');
      await expectUntouched(other);
    },
  );
});
