import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PODLOOP_MAIN, PodloopProcess, runPodloop } from './podloop-process.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/pods', import.meta.url));

interface EventRecord {
  readonly type: string;
  readonly kind: string;
  readonly pod: { readonly name: string };
  readonly container: string;
  readonly containerId: string;
  readonly exitCode?: number;
  readonly owner: string;
}

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-demo-test-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Processes whose command line or environment names one of these words. */
async function processesNaming(words: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const texts = await Promise.all(
      ['cmdline', 'environ'].map((file) => readFile(join('/proc', pid, file), 'utf8').catch(() => '')),
    );
    if (words.some((word) => texts.join().includes(word)))
      found.push(`${pid} ${texts[0]!.replaceAll('\0', ' ')}`);
  }
  return found;
}

/** Asks until the answer is "none", so that a process that is just ending counts as gone. */
async function expectNothingLeft(events: readonly EventRecord[]): Promise<void> {
  const words = [folder, ...new Set(events.map((event) => event.containerId))];
  await expect.poll(() => processesNaming(words), { timeout: 30_000 }).toEqual([]);
}

function recordsOf(lines: readonly string[]): EventRecord[] {
  return lines.map((line) => JSON.parse(line) as EventRecord);
}

describe('podloop demo', () => {
  it('lives the example pods through, shows what happened to each, and leaves nothing behind', async () => {
    await using podloop = new PodloopProcess(['demo', EXAMPLES, '--once', '-o', 'json'], {
      env: { TMPDIR: folder },
    });
    expect(await podloop.ended, podloop.stderr.join('\n')).toEqual({ code: 0, signal: null });
    const events = recordsOf(podloop.stdout);
    const exitCodes = (pod: string): unknown[] =>
      events
        .filter(
          (event) =>
            event.type === 'ContainerDied' && event.kind === 'container' && event.pod.name === `${pod}-demo`,
        )
        .map((event) => event.exitCode);
    expect(exitCodes('job')).toEqual([0]);
    expect(exitCodes('crash')).toEqual([3, 3, 3]);
    expect(exitCodes('sidecar')).toEqual([139, 143]);
    expect(exitCodes('stubborn')).toEqual([137]);
    expect(exitCodes('web')).toEqual([0]);
    expect(new Set(events.map((event) => event.owner))).toEqual(new Set(['podloop']));
    // Each container and sandbox has died once and was removed once. A start is told of at most once: of a container
    // that fails at once both its ends may fall between two looks.
    const idsOf = (type: string): string[] =>
      events
        .filter((event) => event.type === type)
        .map((event) => event.containerId)
        .sort();
    const died = idsOf('ContainerDied');
    const started = idsOf('ContainerStarted');
    expect(new Set(died).size).toBe(died.length);
    expect(new Set(started).size).toBe(started.length);
    expect(died).toEqual(expect.arrayContaining(started));
    expect(idsOf('ContainerRemoved')).toEqual(died);
    expect(podloop.stderr.at(-1)).toBe('demo: nothing is left: no pods, no runtime, no files');
    expect(await readdir(folder)).toEqual([]);
    await expectNothingLeft(events);
  });

  it('shows one screen on a terminal, draws it again in place, and gives the terminal back', async () => {
    const command = [process.execPath, PODLOOP_MAIN, 'demo', EXAMPLES].map((word) => `'${word}'`).join(' ');
    // The only program of a plain system that gives another one a terminal.
    await using terminal = new ProgramAtTerminal(command, { TMPDIR: folder, TERM: 'xterm' });
    await terminal.shows(/default +sidecar-demo +1\/2 +Error +0/);
    await terminal.shows(/default +crash-demo +0\/1 +CrashLoopBackOff +1 \(\d+s ago\)/);
    await terminal.shows(/sidecar-demo {2}ContainerDied {2}helper: exit code 139/);
    expect(terminal.screen.join('\n')).toMatch(
      /^Socket +\/[^]*^Type +export PODLOOP_SOCKET=[^]*^ +node \S+ get pods/m,
    );
    terminal.press('\x03');
    expect(await terminal.ended).toEqual({ code: 0, signal: null });
    const { text } = terminal;
    expect(text).toContain('NAMESPACE   NAME');
    // The other screen and no cursor at its beginning, this screen and a cursor at its end, each once.
    expect(text.match(/\x1b\[\?(1049|25)[hl]/g)).toEqual(
      ['1049h', '25l', '25h', '1049l'].map((mode) => `\x1b[?${mode}`),
    );
    expect(text.split('\x1b[?1049l')[1]).toContain('demo: nothing is left: no pods, no runtime, no files');
    expect(await readdir(folder)).toEqual([]);
    await expectNothingLeft([]);
  });

  it('goes on until Ctrl-C, and cleans up then', async () => {
    await using podloop = new PodloopProcess(['demo', EXAMPLES, '-o', 'json'], { env: { TMPDIR: folder } });
    await podloop.line('stdout', (line) => line.includes('"ContainerStarted"') && line.includes('"helper"'));
    podloop.child.kill('SIGINT');
    const said = podloop.stderr.join('\n');
    expect(said).toMatch(
      /^demo: Socket +(\/\S+)\ndemo: Type +export PODLOOP_SOCKET=\1\ndemo: +\S+ \S+ get pods/m,
    );
    expect(said).toMatch(/^demo: default\/sidecar-\S+: /m);
    // npm hands the same key press on once more.
    expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
    expect(await readdir(folder)).toEqual([]);
    await expectNothingLeft(recordsOf(podloop.stdout));
  });

  it.each(['while the runtime starts', 'while pods start'])(
    'leaves nothing behind when it is interrupted %s',
    async (when) => {
      await using podloop = new PodloopProcess(['demo', EXAMPLES], { env: { TMPDIR: folder } });
      if (when === 'while the runtime starts') {
        await expect.poll(() => readdir(folder), { timeout: 30_000, interval: 5 }).not.toEqual([]);
      }
      if (when === 'while pods start') await podloop.line('stderr', /starting pod/);
      expect(await podloop.end('SIGINT'), podloop.stderr.join('\n')).toEqual({ code: 0, signal: null });
      expect(await readdir(folder)).toEqual([]);
      await expectNothingLeft([]);
    },
  );

  it('cleans up when nobody reads its events any more', async () => {
    await using podloop = new PodloopProcess(['demo', EXAMPLES], { env: { TMPDIR: folder } });
    await podloop.line('stdout', /ContainerStarted/);
    podloop.child.stdout!.destroy();
    expect(await podloop.ended, podloop.stderr.join('\n')).toEqual({ code: 0, signal: null });
    expect(await readdir(folder)).toEqual([]);
    await expectNothingLeft([]);
  });

  it('leaves no process behind even when it is killed', async () => {
    await using podloop = new PodloopProcess(['demo', EXAMPLES, '-o', 'json'], { env: { TMPDIR: folder } });
    await podloop.line('stdout', (line) => line.includes('"ContainerStarted"') && line.includes('"helper"'));
    expect(await podloop.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    await expectNothingLeft(recordsOf(podloop.stdout));
  });

  it('has shown all in the end although its runtime was killed while containers were made', async () => {
    await using podloop = new PodloopProcess(['demo', EXAMPLES, '--once', '-o', 'json'], {
      env: { TMPDIR: folder },
    });
    await podloop.line('stdout', /ContainerStarted/);
    const runtime = (await processesNaming([folder])).find((line) => line.includes(' runtime --listen '));
    process.kill(Number(runtime!.split(' ')[0]), 'SIGKILL');
    expect(await podloop.ended, podloop.stderr.join('\n')).toEqual({ code: 0, signal: null });
    const events = recordsOf(podloop.stdout);
    const started = events.filter(({ type }) => type === 'ContainerStarted');
    const names = ['job', 'crash', 'sidecar', 'stubborn', 'web'].map((name) => `${name}-demo`);
    expect(new Set(started.map(({ pod }) => pod.name))).toEqual(new Set(names));
    expect(await readdir(folder)).toEqual([]);
    await expectNothingLeft(events);
  }, 180_000);

  it('starts nothing when a manifest is wrong, and says what and where', async () => {
    const manifests = join(folder, 'pods');
    const temporary = join(folder, 'tmp');
    await mkdir(manifests);
    await mkdir(temporary);
    const file = join(manifests, 'web.yaml');
    await writeFile(file, 'apiVersion: v1\nkind: Pod\nmetadata:\n  nme: web\nspec: {}\n');
    const { code, stdout, stderr } = await runPodloop(['demo', manifests], { env: { TMPDIR: temporary } });
    expect(stderr).toBe(`error: ${file}:4:3: metadata.nme: unknown field, did you mean name?`);
    expect(stdout).toBe('');
    expect(code).toBe(1);
    expect(await readdir(temporary)).toEqual([]);
  });

  it('cleans up when the runtime refuses a pod, and says why', async () => {
    const manifests = join(folder, 'pods');
    const temporary = join(folder, 'tmp');
    await mkdir(manifests);
    await mkdir(temporary);
    await writeFile(
      join(manifests, 'web.yaml'),
      'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: a, image: registry.invalid/nginx, command: [sh] }] }\n',
    );
    const { code, stderr } = await runPodloop(['demo', manifests], { env: { TMPDIR: temporary } });
    expect(stderr).toMatch(
      /^error: pod default\/web-demo cannot run: container a: .*nginx.*its address is not found/m,
    );
    expect(code).toBe(1);
    expect(await readdir(temporary)).toEqual([]);
    await expectNothingLeft([]);
  });
});
