/**
 * What passes between a person's terminal and a terminal in a container, byte by byte, and in which state the person's
 * terminal is left: on a real agent with the embedded runtime.
 *
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PODLOOP_MAIN, PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

const STAY = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
/** Reads commands from its terminal, as a shell does that somebody attaches to. */
const SHELL = 'trap "exit 0" TERM; while read -r line; do eval "$line"; done';

const kinds = process.geteuid?.() === 0 ? ['none', 'namespaces'] : ['none'];

describe.each(kinds)('with isolation %s', (isolation) => {
  let folder: string;
  let agent: PodloopProcess;
  let sessions = 0;

  const agentSocket = (): string => join(folder, 'node/podloop.sock');
  const podloop = (...args: string[]) => runPodloop(args, { env: { PODLOOP_SOCKET: agentSocket() } });

  function manifest(name: string, script: string, more: object = {}): string {
    const container = { name: 'main', image: 'podloop.local/host', command: ['sh', '-c', script], ...more };
    const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
    return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-terminal-test-'));
    const manifests = join(folder, 'manifests');
    await mkdir(manifests);
    const env = [{ name: 'TERM', value: 'vt100' }];
    await writeFile(join(manifests, 'web.json'), manifest('web', STAY));
    await writeFile(join(manifests, 'own.json'), manifest('own', STAY, { env }));
    await writeFile(join(manifests, 'shell.json'), manifest('shell', SHELL, { stdin: true, tty: true }));
    const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
    const runtime = ['--runtime-endpoint', 'embedded', '--isolation', isolation, '--network', 'host'];
    agent = new PodloopProcess(['run', manifests, ...place, ...runtime, '--node-name', 'n1', '--stop-pods']);
    const limit = { timeout: 60_000, interval: 200 };
    await vi.waitFor(async () => {
      const { stdout } = await podloop('get', 'pods', '--no-headers');
      expect(stdout.match(/Running/g)).toHaveLength(3);
    }, limit);
  }, 90_000);

  afterAll(async () => {
    await agent.end('SIGTERM');
    await untilNobodyNames(folder);
    await rm(folder, { recursive: true });
  }, 60_000);

  /** A command of podloop at a terminal, with the terminal's settings before and after it. */
  async function openSession(args: readonly string[], socket = agentSocket()) {
    const base = join(folder, `session-${sessions++}`);
    const words = [process.execPath, PODLOOP_MAIN, ...args].map(
      (word) => `'${word.replaceAll("'", "'\\''")}'`,
    );
    const script = [
      `tty >${base}.tty`,
      'stty rows 30 cols 90',
      `stty -a >${base}.before`,
      `sh -c 'echo $$ >${base}.pid; exec "$@"' sh ${words.join(' ')}`,
      'echo "code $?"',
      `stty -a >${base}.after`,
      // After a death that podloop does not see, its guard needs a moment.
      `for _ in $(seq 300); do [ "$(stty -a)" = "$(cat ${base}.before)" ] && break; sleep 0.1; done`,
      `stty -a >${base}.last`,
      'echo session over',
    ];
    await writeFile(`${base}.sh`, `${script.join('\n')}\n`);
    const terminal = new ProgramAtTerminal(`sh ${base}.sh`, { PODLOOP_SOCKET: socket });
    const read = async (what: string): Promise<string> => (await readFile(`${base}.${what}`, 'utf8')).trim();
    return {
      terminal,
      pid: async () => Number(await read('pid')),
      /** As the terminal is set now. */
      settings: async () => execFileSync('stty', ['-a', '-F', await read('tty')], { encoding: 'utf8' }),
      expectRestored: async (when = 'after') => expect(await read(when)).toBe(await read('before')),
      [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose](),
    };
  }

  describe('output', () => {
    it('arrives as it was written: LF stays LF once the program has made its terminal raw', async () => {
      const script = 'stty raw -echo; printf "<A\\nB\\nC>"; read -r _';
      await using session = await openSession(['exec', '-it', 'web-n1', '--', 'sh', '-c', script]);
      await session.terminal.shows(/<A\nB\nC>/);
      expect(await session.settings()).toMatch(/-icanon[^]*-opost|-opost[^]*-icanon/);
      session.terminal.press('\n');
      await session.terminal.shows(/code 0\r\nsession over/);
      await session.expectRestored();
    });

    it('has the line ends of the terminal in the container, and no more of them', async () => {
      await using session = await openSession(['exec', '-it', 'web-n1', '--', 'echo', 'one line']);
      await session.terminal.shows(/session over/);
      expect(session.terminal.text).toContain('one line\r\ncode 0');
    });

    it('arrives as it was written whatever it is', async () => {
      const texts = fc.sample(fc.array(fc.integer({ min: 1, max: 126 }), { minLength: 1, maxLength: 60 }), {
        seed: 7,
        numRuns: 12,
      });
      const all = [Array.from({ length: 126 }, (_, at) => at + 1), ...texts].flatMap((bytes) => [
        ...bytes,
        10,
      ]);
      const octal = all.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
      const script = `stty raw -echo; printf 'BEG''IN'; printf '${octal}'; printf 'EN''D'; read -r _`;
      await using session = await openSession(['exec', '-it', 'web-n1', '--', 'sh', '-c', script]);
      await session.terminal.shows(/BEGIN[^]*END/);
      const shown = /BEGIN([^]*)END/.exec(session.terminal.text)![1]!;
      expect(Array.from(shown, (char) => char.charCodeAt(0))).toEqual(all);
      session.terminal.press('\n');
      await session.terminal.shows(/session over/);
    });

    it('of a container that somebody is attached to arrives as it was written', async () => {
      await using session = await openSession(['attach', '-it', 'shell-n1']);
      await session.terminal.shows(/pressing enter/);
      session.terminal.press('stty raw -echo; printf "<A\\nB>"; stty sane; echo "term [$TERM]"\r');
      await session.terminal.shows(/<A\nB>[^]*term \[xterm\]\r\n/);
      expect(await session.settings()).toContain('-opost');
      process.kill(await session.pid(), 'SIGTERM');
      await session.terminal.shows(/session over/);
      await session.expectRestored();
    });
  });

  it('input arrives as it was typed', async () => {
    const bytes = Array.from({ length: 126 }, (_, at) => at + 1);
    const script = `stty raw -echo; printf 'rea''dy'; head -c ${bytes.length} | od -An -v -tu1; read -r _`;
    await using session = await openSession(['exec', '-it', 'web-n1', '--', 'sh', '-c', script]);
    await session.terminal.shows(/ready/);
    session.terminal.press(String.fromCharCode(...bytes));
    await session.terminal.shows(/125\s+126/);
    const shown = /ready([^]*126)/.exec(session.terminal.text)![1]!;
    expect(shown.trim().split(/\s+/).map(Number)).toEqual(bytes);
    session.terminal.press('\n');
    await session.terminal.shows(/session over/);
  });

  describe('TERM', () => {
    const print = ['--', 'sh', '-c', 'echo "term [$TERM]"'];

    it.each(['web-n1', 'own-n1', 'shell-n1'])('is xterm for a command with a terminal in %s', async (pod) => {
      await using session = await openSession(['exec', '-it', pod, ...print]);
      await session.terminal.shows(/term \[xterm\]/);
      await session.terminal.shows(/session over/);
    });

    it.each([
      ['web-n1', ''],
      ['own-n1', 'vt100'],
      ['shell-n1', 'xterm'],
    ])('is the container’s for a command without a terminal in %s', async (pod, term) => {
      expect((await podloop('exec', pod, ...print)).stdout).toBe(`term [${term}]`);
    });

    it('lets a program draw a whole screen', async () => {
      // What ncurses programs do: the alternate screen, the cursor placed, LF for one line down, all put back.
      const draw = 'tput smcup; tput clear; tput cup 2 5; stty raw -echo; printf "here\\nbelow"; tput rmcup';
      await using session = await openSession(['exec', '-it', 'web-n1', '--', 'sh', '-c', draw]);
      await session.terminal.shows(/session over/);
      expect(session.terminal.text).toContain('\u001b[3;6Hhere\nbelow');
      expect(session.terminal.text).toMatch(/\u001b\[\?1049h[^]*\u001b\[\?1049l/);
    });
  });

  describe('a full-screen program of this machine', () => {
    const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
    /** In a folder of its own in the container, without anybody's settings. */
    const inFolder = (script: string): string[] => [
      ...['exec', '-it', 'web-n1', '--', 'sh', '-c'],
      `export HOME="$(mktemp -d)"; cd "$HOME"; ${script}; rm -r "$HOME"`,
    ];
    const LINES = 'for n in $(seq 200); do echo "line $n of many"; done >file';

    it.skipIf(!has('less'))('is less: it fills the screen, moves, finds, and ends', async () => {
      await using session = await openSession(inFolder(`${LINES}; less file; echo "le""ss ended $?"`));
      const { terminal } = session;
      await terminal.shows(/line 29 of many/);
      // The screen has 30 lines, and the last one is its prompt.
      expect(terminal.text).not.toContain('line 30 of many');
      terminal.press('j');
      await terminal.shows(/line 30 of many/);
      terminal.press('G');
      await terminal.shows(/line 200 of many/);
      expect(terminal.text).not.toContain('line 100 of many');
      terminal.press('?line 100 \r');
      await terminal.shows(/line 100 .*of many/);
      terminal.press('q');
      await terminal.shows(/\u001b\[\?1049h[^]*\u001b\[\?1049l[^]*less ended 0\r\ncode 0\r\nsession over/);
      expect(terminal.text).not.toContain('\r\r\n');
      await session.expectRestored();
    });

    it.skipIf(!has('vi'))('is vi: it shows a file, takes text, and writes it', async () => {
      const script = 'echo "first line" >file; vi file; echo "vi ended $?"; sed "s/^/now: /" file';
      await using session = await openSession(inFolder(script));
      const { terminal } = session;
      await terminal.shows(/first line[^]*~[^]*~/);
      terminal.press('O');
      terminal.press('typed here');
      // The last letters may be drawn in pieces; what was taken is in the file.
      await terminal.shows(/typed/);
      terminal.press('\u001b');
      terminal.press(':wq\r');
      await terminal.shows(/vi ended 0\r\nnow: typed here\r\nnow: first line\r\n[^]*session over/);
      expect(terminal.text).toMatch(/\u001b\[\?1049h[^]*\u001b\[\?1049l/);
      await session.expectRestored();
    });

    it.skipIf(!has('top'))('is top: it draws, takes a key, and ends', async () => {
      await using session = await openSession(inFolder('top; echo "top ended $?"'));
      await session.terminal.shows(/PID[^]*COMMAND/);
      session.terminal.press('q');
      await session.terminal.shows(/top ended 0[^]*session over/);
      await session.expectRestored();
    });
  });

  describe('the terminal is as it was', () => {
    const stay = ['exec', '-it', 'web-n1', '--', 'sh', '-c', 'echo ru""ns; sleep 1000'];

    it.each([
      ['SIGTERM', /code 130/],
      ['SIGINT', /code 130/],
      ['SIGHUP', /code 130/],
      ['SIGQUIT', /code 131/, 'last'],
      // Crashes that Node does not see coming.
      ['SIGABRT', /code 134/, 'last'],
      ['SIGKILL', /code 137/, 'last'],
    ] as [NodeJS.Signals, RegExp, string?][])('after %s', async (signal, code, when = 'after') => {
      await using session = await openSession(stay);
      await session.terminal.shows(/runs/);
      expect(await session.settings()).toContain('-opost');
      process.kill(await session.pid(), signal);
      await session.terminal.shows(/session over/);
      await session.expectRestored(when);
      expect(session.terminal.text).toMatch(code);
    });

    it('after the connection is lost', async () => {
      const sockets: Socket[] = [];
      const server = createServer((client) => {
        const onward = connect(agentSocket());
        for (const socket of [client, onward]) socket.on('error', () => undefined);
        sockets.push(client, onward);
        client.pipe(onward).pipe(client);
      });
      const path = join(folder, 'between.sock');
      await new Promise<void>((resolve) => server.listen(path, resolve));
      try {
        await using session = await openSession(stay, path);
        await session.terminal.shows(/runs/);
        for (const socket of sockets) socket.destroy();
        await session.terminal.shows(/connection with the container broke[^]*code 1\r\nsession over/);
        await session.expectRestored();
      } finally {
        server.close();
      }
    });

    it('after the command was killed', async () => {
      const script = 'echo ru""ns; kill -9 $$';
      await using session = await openSession(['exec', '-it', 'web-n1', '--', 'sh', '-c', script]);
      await session.terminal.shows(/code 137\r\nsession over/);
      await session.expectRestored();
    });
  });
});
