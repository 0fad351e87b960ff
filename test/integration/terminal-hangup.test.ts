/**
 * A person closes the window, or a connection breaks, while a command runs: it ends as by Ctrl-C, with its own exit
 * code, and never by an abort.
 *
 * @module
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { PODLOOP_MAIN } from './podloop-process.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-hangup-test-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const LONG_MS = patiently(60_000);

it.each([
  { at: 'all three streams', redirection: '<&3' },
  { at: 'standard error', redirection: '</dev/null >/dev/null' },
])(
  'ends with its own exit code after its terminal has gone, which it had for $at',
  async ({ redirection }) => {
    const base = join(folder, 'session');
    const root = join(folder, 'root');
    const command = `'${process.execPath}' '${PODLOOP_MAIN}' runtime --listen 'unix://${base}.sock' --root '${root}'`;
    // The system sends SIGHUP to this shell alone. It hands it on, and says how the command has ended.
    const script = [
      'exec 3<&0',
      `trap 'kill -HUP "$child"' HUP`,
      `${command} ${redirection} & child=$!`,
      'wait "$child"',
      'wait "$child"',
      'echo "$?" >"$1.new" && mv "$1.new" "$1"',
    ];
    await writeFile(`${base}.sh`, `${script.join('\n')}\n`);
    const terminal = new ProgramAtTerminal(`sh ${base}.sh ${base}.code`, {});
    const limit = { timeout: LONG_MS, interval: 50 };
    await vi.waitFor(() => readFile(join(root, 'root.lock')), limit);
    // script(1) holds the other end of the terminal: this is a window that is closed.
    await terminal[Symbol.asyncDispose]();
    expect(await vi.waitFor(() => readFile(`${base}.code`, 'utf8'), limit)).toBe('0\n');
  },
  2 * LONG_MS,
);
