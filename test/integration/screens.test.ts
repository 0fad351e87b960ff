/**
 * Screens as a person sees them: a program at a terminal, keys that are pressed, and what a terminal makes of its output.
 *
 * @module
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { patiently } from '#support/patience.js';
import { PODLOOP_MAIN } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

/** Clears the screen, sets the title of the window and moves the cursor, where that is let through. */
const HOSTILE = String.raw`\033[2J\033]0;owned\007\033[1;1Hevil\n`;

const MANIFEST = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: { podloop.dev/story: says something in another script }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: podloop.local/host
      command: [sh, -c, 'printf "日本語 line\\n"; printf "${HOSTILE}"; trap "exit 0" TERM; while :; do sleep 1; done']
`;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-screens-test-'));
  await mkdir(join(folder, 'pods'));
  await mkdir(join(folder, 'tmp'));
  await writeFile(join(folder, 'pods/web.yaml'), MANIFEST);
});

afterEach(async () => {
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
});

/** A demo, after whose end the settings of the terminal are printed. */
function demoAtTerminal(env: Readonly<Record<string, string>> = {}): ProgramAtTerminal {
  const words = [process.execPath, PODLOOP_MAIN, 'demo', join(folder, 'pods')].join(' ');
  return new ProgramAtTerminal(`sh -c '${words}; echo "it ended with $?"; stty -a'`, {
    ...{ TMPDIR: join(folder, 'tmp'), TERM: 'xterm' },
    ...env,
  });
}

async function runtimePid(): Promise<number> {
  for (const pid of await readdir('/proc')) {
    const text = await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '');
    if (text.includes('\0runtime\0') && text.includes(folder)) return Number(pid);
  }
  throw new Error('there is no runtime');
}

describe('a screen of pods at a terminal', () => {
  it(
    'leads to details, logs and a shell, fits at every size, and gives the terminal back as it was',
    async () => {
      await using terminal = demoAtTerminal();
      await terminal.showsOnScreen(/default +web-demo +1\/1 +Running/);
      expect(terminal.screen.join('\n')).toContain('web-demo: says something in another script');

      terminal.press('\r');
      await terminal.showsOnScreen(/^Details {3}default\/web-demo\nName: +web-demo/m);
      terminal.press('/Image ID\r');
      await terminal.showsOnScreen(/^Details.*\n +Image ID:/m);
      terminal.press('q');

      terminal.press('l');
      await terminal.showsOnScreen(/^-- main --\n日本語 line\nevil\n/m);
      expect(terminal.text).not.toContain('\x1b]');
      terminal.press('q');

      terminal.press('s');
      await terminal.showsOnScreen(/^Shell in default\/web-demo, container main/m);
      expect(terminal.isOnOtherScreen).toBe(false);
      terminal.press('test -t 0 && echo it is $((40 + 2)); exit 3\r');
      await terminal.shows(/^it is 42\r?$/m);
      await terminal.showsOnScreen(/shell in default\/web-demo: .*exit code 3/);
      expect(terminal.isOnOtherScreen).toBe(true);

      for (const [columns, rows] of [
        [40, 12],
        [120, 40],
        [200, 50],
        [20, 5],
        [80, 24],
      ] as const) {
        terminal.resize({ columns, rows });
        // A row that is too long, or one too many, would move the first one out of sight.
        await terminal.showsOnScreen(/^podloop demo.*\n[^]*web-demo[^]*\n\? help.*$/);
        if (columns >= 40) expect(terminal.screen.join('\n')).toMatch(/web-demo +1\/1 +Running/);
      }

      terminal.press('/nothing\r');
      await terminal.showsOnScreen(/^No pod has "nothing"/m);
      terminal.press('\x1b');
      await terminal.showsOnScreen(/web-demo +1\/1/);

      terminal.press('\x03');
      await terminal.shows(/it ended with 0[^]* icanon/);
      await terminal.ended;
      expect(terminal.text).toMatch(/(?:^|[ ;])isig icanon iexten echo /m);
      expect(terminal.isOnOtherScreen).toBe(false);
      expect(await readdir(join(folder, 'tmp'))).toEqual([]);
    },
    patiently(180_000),
  );

  it(
    'says while the runtime does not answer, and has no colour where NO_COLOR says so',
    async () => {
      await using terminal = demoAtTerminal({ NO_COLOR: '1' });
      await terminal.showsOnScreen(/default +web-demo +1\/1 +Running/);
      const pid = await runtimePid();
      process.kill(pid, 'SIGSTOP');
      try {
        await terminal.showsOnScreen(/^Runtime is away: /m);
        expect(terminal.screen.join('\n')).toMatch(/web-demo +1\/1 +Running/);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await terminal.showsOnScreen(/^podloop demo.*\nSocket /);
      expect(terminal.text).not.toMatch(/\x1b\[(?:\d+;)*3\dm/);
      terminal.press('q');
      await terminal.shows(/it ended with 0/);
      await terminal.ended;
    },
    patiently(180_000),
  );
});

describe('podloop watch at a terminal', () => {
  it('shows the pods of the runtime and what happens to them, and lines where they are asked for', async () => {
    await using runtime = await spawnSyntheticRuntime({ pods: 40, containersPerPod: 2 });
    const [pod] = await runtime.control.pods();
    const [container] = pod!.containers;
    const words = [process.execPath, PODLOOP_MAIN, 'watch', '--runtime-endpoint', runtime.endpoint];
    await using terminal = new ProgramAtTerminal(
      words.join(' '),
      { TERM: 'xterm' },
      { columns: 100, rows: 30 },
    );
    await terminal.showsOnScreen(/^podloop watch.*synthetic[^]*^► team-/m);
    terminal.press(`/${pod!.name}\r`);
    await terminal.showsOnScreen(new RegExp(`${pod!.name} +2/2 +Running`));
    await runtime.control.kill({ containerIds: [container!.id] }, { exitCode: 3 });
    await terminal.showsOnScreen(new RegExp(`${pod!.name} +1/2 +Error`));
    await terminal.showsOnScreen(new RegExp(`ContainerDied {2}${container!.name}: exit code 3, Error`));
    terminal.press('j\r');
    await terminal.showsOnScreen(new RegExp(`^Name: +${pod!.name}[^]*${container!.id}`, 'm'));
    terminal.press('qs');
    await terminal.showsOnScreen(/only reads/);
    terminal.press('q');
    expect(await terminal.ended).toEqual({ code: 0, signal: null });
    expect(terminal.isOnOtherScreen).toBe(false);

    await using lines = new ProgramAtTerminal(`${words.join(' ')} -o text`, { TERM: 'xterm' });
    await lines.shows(/"SyncLoop \(PLEG\): event for pod"/);
    expect(lines.isOnOtherScreen).toBe(false);
    lines.press('\x03');
    expect(await lines.ended).toEqual({ code: 0, signal: null });
  });
});
