import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { AGENT_OPTIONS, FLAG_GROUPS } from '#node';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from './cli-host.js';
import { helpLayout } from './help-layout.js';
import { LineOutput } from './line-output.js';
import { COMMANDS, runProgram } from './program.js';

/** What `podloop … --help` prints on a terminal of that width; without a width, into a pipe. */
async function help(args: readonly string[], columns?: number): Promise<string[]> {
  const stdout = new PassThrough();
  const window = columns === undefined ? undefined : { columns, rows: 24, onResize: () => () => undefined };
  const host: CliHost = {
    ...{
      env: {},
      pid: 1,
      clock: new FakeClock(),
      selfCommand: ['podloop'],
      stdin: new PassThrough(),
      window,
    },
    ...{ stdout: new LineOutput(stdout), stderr: new LineOutput(new PassThrough()) },
    listenForInterrupts: () => new AbortController().signal,
    onUserSignal: () => () => undefined,
  };
  const printed = text(stdout);
  expect(await runProgram([...args, '--help'], host)).toBe(0);
  stdout.end();
  return (await printed).split('\n');
}

const isHeading = (line: string): boolean => /^[A-Z][A-Za-z ]*:$/.test(line);

/** The lines from the first heading to the end of the last group, without the text and examples behind them. */
function listing(lines: readonly string[]): string[] {
  const rest = lines.slice(lines.findIndex(isHeading));
  const end = rest.findIndex((line) => line === 'Examples:' || (/^\S/.test(line) && !isHeading(line)));
  return end === -1 ? rest : rest.slice(0, end);
}

/** All but the commands of examples, which stay on one line each. */
function wrappable(lines: readonly string[]): string[] {
  const examples = lines.indexOf('Examples:');
  return lines.filter((line, index) => examples === -1 || index < examples || !/^ +[^ #]/.test(line));
}

const flagsBelow = (heading: string, lines: readonly string[]): string[] => {
  const rest = lines.slice(lines.indexOf(`${heading}:`) + 1);
  return rest.slice(0, rest.indexOf('')).flatMap((line) => /^ {2}(?:-\w, )?(--[\w-]+)/.exec(line)?.[1] ?? []);
};

/** Long enough to load the code of every command on a slow machine. */
const LOAD_TIMEOUT_MS = 300_000;
beforeAll(async () => {
  for (const { name } of COMMANDS) await help([name]);
}, LOAD_TIMEOUT_MS);

describe('the help of podloop run', () => {
  it('lists its flags below headings, the most used ones first', async () => {
    const lines = await help(['run']);
    const headings = lines.filter(isHeading);
    const groups = FLAG_GROUPS.map((group) => `${group}:`);
    expect(headings).toEqual(['Arguments:', ...groups, 'Options:', 'Examples:']);
    expect(flagsBelow('Common flags', lines).sort()).toEqual([
      ...['--config', '--exit-when-done', '--image-dir', '--kubeconfig', '--node-name'],
      ...['--pod-manifest-path', '--root-dir', '--runtime-endpoint', '--stop-pods', '--verbosity', '--web'],
    ]);
    expect(flagsBelow('Options', lines)).toEqual(['--help']);
  });

  it('has a group for every option with a flag', () => {
    for (const [name, { flag, group }] of Object.entries(AGENT_OPTIONS)) {
      expect([name, group === undefined]).toEqual([name, flag === '']);
    }
  });
});

describe('the layout of help', () => {
  it.each(COMMANDS.map(({ name }) => name))('of podloop %s shows each default once', async (name) => {
    for (const entry of listing(await help([name], 1_000))) {
      expect(entry.match(/\bdefault: /g)?.length ?? 0).toBeLessThan(2);
      expect(entry).not.toMatch(/unless told/i);
    }
  });

  it.each(COMMANDS.map(({ name }) => name))(
    'of podloop %s fits its terminal, or 80 columns',
    async (name) => {
      for (const columns of [60, 80, 132, undefined]) {
        const lines = wrappable(await help([name], columns));
        const tooLong = lines.filter((line) => line.length > (columns ?? 80));
        // Only a single word may be longer, or a flag that has its line to itself.
        expect(tooLong.filter((line) => !/^ *(-(?!.*\S {2,}\S).*|\S+)$/.test(line))).toEqual([]);
      }
    },
  );

  it.each(COMMANDS.map(({ name }) => name))(
    'of podloop %s lists at most 15 flags in a group',
    async (name) => {
      const lines = await help([name]);
      const groups = lines.filter(isHeading).map((heading) => flagsBelow(heading.slice(0, -1), lines).length);
      // The agent's flags are grouped by subject, and resources have more than that.
      if (name !== 'run') expect(groups.filter((count) => count > 15)).toEqual([]);
    },
  );

  it('wraps the text behind flags and the comments of examples, but no command', async () => {
    const narrow = await help(['doctor'], 60);
    const wide = await help(['doctor'], 132);
    const words = (lines: readonly string[]): string => lines.join(' ').replaceAll(/ # | +/g, ' ');
    expect(words(narrow)).toContain('It changes nothing and takes no event from a kubelet');
    expect(Math.max(...wide.map((line) => line.length))).toBeGreaterThan(100);
    const command = '  podloop doctor --host-root /host -r unix:///host/run/containerd/containerd.sock';
    expect([narrow.includes(command), wide.includes(command)]).toEqual([true, true]);
  });

  it('puts the description of a long flag below it, and keeps every word', () => {
    const command = new Command('x')
      .helpOption(false)
      .configureHelp(helpLayout())
      .configureOutput({ getOutHelpWidth: () => 60 })
      .option('--a <b>', 'Short flag')
      .option(
        '--a-flag-that-is-longer-than-its-column <b>',
        'Its description has to be wrapped, as it is long',
      );
    expect(command.helpInformation().split('\n').slice(2)).toEqual([
      'Options:',
      '  --a <b>           Short flag',
      '  --a-flag-that-is-longer-than-its-column <b>',
      '                    Its description has to be wrapped, as it',
      '                    is long',
      '',
    ]);
  });
});
